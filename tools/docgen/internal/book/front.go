package book

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
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
	yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)`)
)

// needs are what a sample's tests may need beside Go, with their names.
var needs = map[string]string{
	"postgres": "PostgreSQL", "redis": "Redis", "etcd": "etcd", "zookeeper": "ZooKeeper", "docker": "Docker",
}

// NeedName is the name of what the front matter calls need.
func NeedName(need string) string { return needs[need] }

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
		p.broken = !onlyUnknownKeys(err)
	}
	p.Title, p.Summary, p.Category, p.Level = oneLine(f.Title), oneLine(f.Summary), oneLine(f.Category), f.Level
	p.Needs, p.Know, p.Learn, p.Concepts = f.Needs, f.Know, f.Learn, f.Concepts
	p.Unshown, p.after = f.Unshown, f.After
	if slices.Equal(f.Needs, []string{"none"}) {
		p.Needs, f.Needs = nil, nil
	}
	if !p.broken {
		p.checkFront(head, f)
	}
}

func (p *page) yamlFindings(err error) {
	var typed *yaml.TypeError
	faults, off := []string{err.Error()}, 2 // the parser counts lines from 0
	if errors.As(err, &typed) {
		faults, off = typed.Errors, 1
	}
	for _, fault := range faults {
		line := 1
		if m := yamlLine.FindStringSubmatch(fault); m != nil {
			line, _ = strconv.Atoi(m[1])
			fault = m[2]
		}
		if key, _, unknown := strings.Cut(fault, unknownKey); unknown {
			fault = key + " is no key of the front matter; the keys are title, summary, category, level, needs, after, know, learn, concepts and unshown"
		}
		if value, kind, misfit := strings.Cut(fault, " into "); misfit && wanted[kind] != "" {
			fault = strings.TrimPrefix(value, "cannot unmarshal ") + " does not fit; " + wanted[kind]
		}
		p.report(line+off, 1, "front matter: %s", fault)
	}
}

// onlyUnknownKeys tells whether what was read is good, but for keys that nobody
// asked for.
func onlyUnknownKeys(err error) bool {
	var typed *yaml.TypeError
	return errors.As(err, &typed) && !slices.ContainsFunc(typed.Errors, func(fault string) bool {
		return !strings.Contains(fault, unknownKey)
	})
}

const unknownKey = " not found in type"

// wanted are what a value has to be, by the type that it did not fit.
var wanted = map[string]string{
	"string":            "a text is wanted here",
	"[]string":          "a list is wanted here: - and a text in each line, or [a, b]",
	"map[string]string": "names and reasons are wanted here: TestX: why, in each line",
}

// oneLine is a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (p *page) checkFront(head []byte, f front) {
	at := func(key string) int { return frontLine(head, key) }
	for _, required := range []struct {
		key   string
		empty bool
	}{
		{"title", p.Title == ""}, {"summary", p.Summary == ""}, {"category", p.Category == ""},
		{"learn", blank(f.Learn)}, {"concepts", blank(f.Concepts)},
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
	for i, need := range f.Needs {
		if slices.Contains(f.Needs[:i], need) {
			p.report(at("needs"), 1, "front matter: need %q stands there twice", need)
		}
		if needs[need] == "" {
			p.report(at("needs"), 1, "front matter: need %q; needs are of %s, or none", need, strings.Join(slices.Sorted(maps.Keys(needs)), ", "))
		}
	}
	for _, list := range [][]string{f.Know, f.Learn, f.Concepts} {
		for _, item := range list {
			p.checkInline(item)
		}
	}
	for test, reason := range f.Unshown {
		if strings.TrimSpace(reason) == "" {
			p.report(at(test), 1, "front matter: unshown %s has no reason; say why the article does not show it", test)
		}
	}
}

// blank tells whether a list has nothing to say.
func blank(list []string) bool {
	return !slices.ContainsFunc(list, func(item string) bool { return strings.TrimSpace(item) != "" })
}

// checkInline wants a line of the front matter to be words, with emphasis and
// code at most: it stands in more places than one, each with other addresses.
func (p *page) checkInline(item string) {
	source := []byte(item)
	line := 1
	if i := bytes.Index(p.head, []byte(firstLine(item))); i >= 0 {
		line = bytes.Count(p.head[:i], []byte("\n")) + 2
	}
	for n := range nodes[ast.Node](parse(source)) {
		switch n.(type) {
		case *ast.Document, *ast.Paragraph, *ast.TextBlock, *ast.Text, *ast.String, *ast.CodeSpan, *ast.Emphasis:
		default:
			p.report(line, 1, "front matter: %q has a %s; words, emphasis and code spans are what it may have", item, strings.ToLower(n.Kind().String()))
			return
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
