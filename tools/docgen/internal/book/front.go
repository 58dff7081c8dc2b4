package book

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// front is what stands between the two --- lines at an article's head.
type front struct {
	Title    string            `yaml:"title"`
	Summary  string            `yaml:"summary"`
	Category string            `yaml:"category"`
	Level    string            `yaml:"level"`
	Needs    []string          `yaml:"needs"`
	After    []string          `yaml:"after"`
	Know     []string          `yaml:"know"`
	Learn    []string          `yaml:"learn"`
	Concepts []string          `yaml:"concepts"`
	Unshown  map[string]string `yaml:"unshown"`
}

var (
	levels   = []string{"beginner", "intermediate", "advanced"}
	needs    = []string{"postgres", "redis", "etcd", "zookeeper", "docker"}
	yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)`)
)

// summaryLimit keeps a summary whole in a search result and in a table.
const summaryLimit = 160

// cutFront splits an article into its front matter and its body, and counts the
// lines before the body.
func cutFront(text []byte) (head, body []byte, lines int, ok bool) {
	const fence = "---\n"
	rest, found := bytes.CutPrefix(text, []byte(fence))
	if !found {
		return nil, text, 0, false
	}
	head, body, found = bytes.Cut(rest, []byte("\n"+fence))
	if !found {
		return nil, text, 0, false
	}
	return head, body, bytes.Count(head, []byte("\n")) + 3, true
}

// readFront reads the front matter into the article.
func (p *page) readFront(head []byte) {
	var f front
	decoder := yaml.NewDecoder(bytes.NewReader(head))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		p.yamlFindings(err)
		p.broken = true
	}
	p.Title, p.Summary, p.Category, p.Level = f.Title, f.Summary, f.Category, f.Level
	p.Needs, p.Know, p.Learn, p.Concepts = f.Needs, f.Know, f.Learn, f.Concepts
	p.Unshown, p.after = f.Unshown, f.After
	if !p.broken {
		p.checkFront(head, f)
	}
}

func (p *page) yamlFindings(err error) {
	var typed *yaml.TypeError
	faults := []string{err.Error()}
	if errors.As(err, &typed) {
		faults = typed.Errors
	}
	for _, fault := range faults {
		line := 1
		if m := yamlLine.FindStringSubmatch(fault); m != nil {
			line, _ = strconv.Atoi(m[1])
			fault = m[2]
		}
		if key, _, unknown := strings.Cut(fault, " not found in type"); unknown {
			fault = key + " is no key of the front matter; the keys are title, summary, category, level, needs, after, know, learn, concepts and unshown"
		}
		p.report(line+1, 1, "front matter: %s", fault)
	}
}

func (p *page) checkFront(head []byte, f front) {
	at := func(key string) int { return frontLine(head, key) }
	for _, required := range []struct {
		key   string
		empty bool
	}{
		{"title", f.Title == ""}, {"summary", f.Summary == ""}, {"category", f.Category == ""},
		{"learn", len(f.Learn) == 0}, {"concepts", len(f.Concepts) == 0},
	} {
		if required.empty {
			p.report(at(required.key), 1, "front matter: %s is missing or empty; every article has one", required.key)
		}
	}
	if n := len([]rune(f.Summary)); n > summaryLimit {
		p.report(at("summary"), 1, "front matter: the summary has %d characters; say it in %d", n, summaryLimit)
	}
	if !slices.Contains(levels, f.Level) {
		p.report(at("level"), 1, "front matter: level %q; it is one of %s", f.Level, strings.Join(levels, ", "))
	}
	for _, need := range f.Needs {
		if !slices.Contains(needs, need) {
			p.report(at("needs"), 1, "front matter: need %q; needs are of %s, or [] for none", need, strings.Join(needs, ", "))
		}
	}
	for test, reason := range f.Unshown {
		if strings.TrimSpace(reason) == "" {
			p.report(at(test), 1, "front matter: unshown %s has no reason; say why the article does not show it", test)
		}
	}
}

// frontLine is the line of a key, counted in the article's file.
func frontLine(head []byte, key string) int {
	for i, line := range bytes.Split(head, []byte("\n")) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte(key+":")) {
			return i + 2
		}
	}
	return 1
}
