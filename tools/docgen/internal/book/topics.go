package book

import (
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/relay-samples/relay-go/tools/docgen/internal/finding"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

const topicsFile = articlesDir + "/topics.tsv"

var numbersLike = regexp.MustCompile(`^\d{3}\.\d{3}(-\d{3}\.\d{3})?(, ?\d{3}\.\d{3}(-\d{3}\.\d{3})?)*$`)

// readTopics reads the index of the book.
func (l *loading) readTopics() {
	text, err := l.tree.Read(topicsFile)
	if err != nil {
		l.report(finding.Finding{File: topicsFile, Message: "there is no index; list the topics, each with its article and heading, its test or -, and the numbers it covers"})
		return
	}
	groups, seen := map[*Article]*TopicGroup{}, map[string]bool{}
	astray := false // a topic of an article that is not there, which may be one that has none
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		report := func(message string) {
			l.report(finding.Finding{File: topicsFile, Line: i + 1, Message: message})
		}
		columns := strings.Split(line, "\t")
		if i == 0 && columns[0] == "topic" {
			continue
		}
		if len(columns) != 4 || columns[0] == "" {
			report("a line has four columns with a tab between them: topic, article#heading or -, test or -, numbers")
			continue
		}
		if seen[columns[0]] {
			report("the topic stands here twice; write one line for it")
		}
		seen[columns[0]] = true
		if columns[3] == "-" {
			columns[3] = ""
		} else if !numbersLike.MatchString(columns[3]) {
			report("the fourth column has numbers such as 000.004 and ranges such as 000.004-000.009, with commas between them, or - for none")
			columns[3] = ""
		}
		for part := range strings.SplitSeq(columns[3], ",") {
			if from, to, ok := strings.Cut(strings.TrimSpace(part), "-"); ok && from >= to {
				report("the range " + part + " ends before it begins")
			}
		}
		topic := Topic{Text: columns[0]}
		article := l.topicHeading(&topic, columns[1], report)
		astray = astray || article == nil && columns[1] != "-"
		l.topicTest(&topic, columns[2], report)
		if groups[article] == nil {
			groups[article] = &TopicGroup{Article: article}
		}
		groups[article].Topics = append(groups[article].Topics, topic)
	}
	for _, p := range l.ordered() {
		if group := groups[p.Article]; group != nil {
			l.book.Topics = append(l.book.Topics, *group)
		} else if !p.broken && !astray {
			p.report(1, 1, "%s lists no topic of this article; write a line for each thing that it teaches", topicsFile)
		}
	}
	if left := groups[nil]; left != nil {
		l.book.Topics = append(l.book.Topics, *left)
	}
}

// topicHeading finds the place of a topic.
func (l *loading) topicHeading(topic *Topic, where string, report func(string)) *Article {
	if where == "-" {
		return nil
	}
	file, fragment, _ := strings.Cut(where, "#")
	p := l.article(path.Join(articlesDir, file))
	if p == nil {
		report(file + " is no article; the second column is article.md#heading, or - for what is left out")
		return nil
	}
	heading, ok := p.headings[fragment]
	if !ok && !p.broken {
		report(p.Path + " has no heading #" + fragment + known(p, fragment))
	}
	topic.Heading = heading
	return p.Article
}

// topicTest finds the test that shows a topic.
func (l *loading) topicTest(topic *Topic, where string, report func(string)) {
	if where == "-" {
		return
	}
	file, name, _ := strings.Cut(where, "#")
	snippet, err := l.cut(file, name, source.Modifiers{})
	switch {
	case errors.Is(err, errReported):
	case err != nil:
		report(err.Error())
	case snippet.Test == "":
		report(where + " is no test; the third column is path_test.go#TestX, or -")
	default:
		topic.Test = name
		topic.TestURL = l.lines(file, snippet.StartLine, snippet.EndLine)
	}
}
