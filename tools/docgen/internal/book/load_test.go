package book_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/goldmark/ast"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

// all are the nodes of one type in an article.
func all[T ast.Node](a *book.Article) (found []T) {
	_ = ast.Walk(a.Doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if wanted, ok := n.(T); ok && entering {
			found = append(found, wanted)
		}
		return ast.WalkContinue, nil
	})
	return found
}

func alpha(t *testing.T, changes ...change) *book.Article {
	t.Helper()
	return loadClean(t, apply(t, repository(), changes...)).Articles[0]
}

func TestLoad_ReadsTheFrontMatter(t *testing.T) {
	a := alpha(t)
	require.Equal(t, "101-alpha", a.Slug)
	require.Equal(t, "101", a.Number)
	require.Equal(t, "Alpha", a.Title)
	require.Equal(t, "samples/101-alpha", a.Sample)
	require.Equal(t, []string{"say what holds"}, a.Learn)
	require.Equal(t, "https://example.com/small/edit/main/articles/101-alpha.md", a.EditURL)
	require.Equal(t, results.Tally{NotRun: 3}, a.Tests, "nothing was recorded, so nothing is green")
	require.Equal(t, 1, a.Minutes)
}

func TestLoad_NeedsNoneIsTheSameAsNoNeeds(t *testing.T) {
	require.Empty(t, alpha(t, in("needs: []", "needs: [none]")).Needs)
}

func TestLoad_EmbedBecomesCodeWithItsClaimItsCommandAndItsLines(t *testing.T) {
	embeds := all[*book.Embed](alpha(t))
	require.Len(t, embeds, 2)

	whole := embeds[0]
	require.Equal(t, "It holds", whole.Claim)
	require.Equal(t, "go test -run '^TestAlpha_Holds$' ./samples/101-alpha", whole.Command)
	require.Equal(t, "https://example.com/small/blob/abc123/samples/101-alpha/alpha_test.go#L5-L10", whole.SourceURL)
	require.True(t, strings.HasPrefix(string(whole.Snippet.Code), "// TestAlpha_Holds says"), "doc brings the comment along")
	require.Equal(t, results.NotRun, whole.Result.Status)

	region := embeds[1]
	require.Equal(t, "t.Log(\"lapsed\")\n", string(region.Snippet.Code), "outdented, and without its markers")
	require.Equal(t, "go test -run '^TestAlpha_Lapses$' ./samples/101-alpha", region.Command, "a region is run by the test that it is a part of")
}

func TestLoad_EmbedOfASubtestIsRunByItself(t *testing.T) {
	a := alpha(t, in("[It holds](../samples/101-alpha/alpha_test.go#TestAlpha_Holds \"embed doc\")",
		"[It holds](../samples/101-alpha/alpha_test.go#TestAlpha_Holds/the_first_time \"embed\")"))
	require.Equal(t, "go test -run '^TestAlpha_Holds$/^the_first_time$' ./samples/101-alpha", all[*book.Embed](a)[0].Command)
}

// What stands around a piece of code is not what is shown.
func TestLoad_ContextThatReachesATestDoesNotShowIt(t *testing.T) {
	files := apply(t, repository(), change{sampleFile, "func TestAlpha_Boring", "// Helper helps.\nfunc Helper() {}\n\nfunc TestAlpha_Boring"},
		in("## Running the example", "[It helps](../samples/101-alpha/alpha_test.go#Helper \"embed doc context=4\")\n\n## Running the example"))
	b := loadClean(t, files)
	helper := all[*book.Embed](b.Articles[0])[2]
	require.Contains(t, string(helper.Snippet.Code), "func TestAlpha_Boring", "it reaches the next test")
	require.Empty(t, helper.Command)
	require.Nil(t, helper.Result)
	require.Len(t, b.Articles[0].Claims, 2, "and is no claim of it")
}

func TestLoad_EmbedOfAnotherSamplesTestIsNoClaimOfThisOne(t *testing.T) {
	files := apply(t, repository(), in("## Running the example", "[Elsewhere](../samples/102-beta/b_test.go#TestB_Holds \"embed\")\n\n## Running the example"))
	files["samples/102-beta/b_test.go"] = "package b_test\n\nimport \"testing\"\n\nfunc TestB_Holds(t *testing.T) { t.Log() }\n"
	files["articles/topics.tsv"] += "Beta\t102-beta.md#overview\t-\t000.005\n"
	files["articles/102-beta.md"] = "---\ntitle: B\nsummary: S.\ncategory: Operations\nlevel: beginner\nlearn: [b]\nconcepts: [b]\n---\n\n# B\n\n## Overview\n\nB.\n"
	b := load(t, files)
	require.Len(t, b.Articles[0].Claims, 2)
	require.Len(t, b.Findings, 1)
	require.Contains(t, b.Findings[0].String(), "samples/102-beta/b_test.go:5:1: TestB_Holds is not shown", "its own article has to show it")
}

func TestLoad_LinksInTheMarkdownLeadToMarkdownAndToTheSource(t *testing.T) {
	md := string(alpha(t, in("[the package](../relay)", "[the package](../relay) of [this](101-alpha.md#step-one)")).Markdown)
	require.Contains(t, md, "[this](101-alpha.md#step-one)")
	require.NotContains(t, md, ".html")
}

func TestLoad_MinutesAreRoundedUp(t *testing.T) {
	require.Equal(t, 2, alpha(t, in("The problem is", strings.Repeat("word ", 200)+"The problem is")).Minutes)
}

func TestLoad_WholeFileIsFoldedAndShowsNoTest(t *testing.T) {
	files := apply(t, repository(), in("[It lapses](../samples/101-alpha/alpha_test.go#region:lapse \"embed\")",
		"[All of it](../samples/101-alpha/alpha_test.go \"embed\")"), change{sampleFile, "\t//docgen:begin lapse\n", ""}, change{sampleFile, "\t//docgen:end lapse\n", ""})
	b := load(t, files)
	require.True(t, all[*book.Embed](b.Articles[0])[1].Folded)
	require.Len(t, b.Findings, 1)
	require.Contains(t, b.Findings[0].Message, "TestAlpha_Lapses is not shown", "a file that is only listed explains nothing")
}

func TestLoad_EveryPieceOfCodeHasAnIDOfItsOwn(t *testing.T) {
	again := "[It holds again](../samples/101-alpha/alpha_test.go#TestAlpha_Holds \"embed\")\n\n[It lapses]("
	a := alpha(t, in("[It lapses](", again))
	seen := map[string]bool{}
	for _, embed := range all[*book.Embed](a) {
		require.False(t, seen[embed.ID], "%s is used twice", embed.ID)
		seen[embed.ID] = true
	}
}

// Lesson D5: a directive in a fence is text.
func TestLoad_DirectiveInAFenceStaysLiteral(t *testing.T) {
	literal := "[It holds](../samples/none_test.go#TestNone \"embed\")\n//docgen:begin x\n> [!NOTE]\n"
	a := alpha(t, in("```go sketch\nhold()\n", "```text\n"+literal))
	code := all[*book.Code](a)
	require.Equal(t, literal, code[len(code)-1].Body)
	require.Len(t, all[*book.Embed](a), 2)
}

// Lesson D7: a link to an article becomes its page, and one to a file the
// source at the revision.
func TestLoad_LinksLeadToPagesOrToTheSourceAtTheRevision(t *testing.T) {
	var destinations []string
	a := alpha(t, in("[the package](../relay)", "[the package](../relay), [the token](../relay/relay.go#Token), [line](../relay/relay.go#L1), [the README](../README.md#the-samples), [this](101-alpha.md#step-one), [it](101-alpha.md), [lapse](../samples/101-alpha/alpha_test.go#TestAlpha_Lapses), [Go](https://go.dev)"))
	for _, link := range all[*ast.Link](a) {
		destinations = append(destinations, string(link.Destination))
	}
	require.Equal(t, []string{
		"#step-one",
		"#TestAlpha_Holds", // which is embedded on this page
		"https://example.com/small/tree/abc123/relay",
		"https://example.com/small/blob/abc123/relay/relay.go#L4-L4",
		"https://example.com/small/blob/abc123/relay/relay.go#L1",
		"https://example.com/small/blob/abc123/README.md#the-samples",
		"101-alpha.html#step-one",
		"101-alpha.html",
		"https://example.com/small/blob/abc123/samples/101-alpha/alpha_test.go#L12-L16",
		"https://go.dev",
	}, destinations)
}

// Lesson D6: one fragment works on GitHub and on the site.
func TestLoad_HeadingsHaveGitHubsSlugs(t *testing.T) {
	a := alpha(t, in("## Running the example", `## Überblick: was & wie?

Text.

## Step one

### `+"`snake_case`"+` and [a link](#step-one-1)

Text.

## 注文を処理する ![A picture](picture.svg)

Text.

## Running the example`))
	var ids []string
	for _, h := range a.Headings {
		ids = append(ids, h.ID)
	}
	require.Equal(t, []string{"overview", "step-one", "überblick-was--wie", "step-one-1", "snake_case-and-a-link", "注文を処理する-", "running-the-example"}, ids)
}

func TestLoad_AlertKeepsWhatItSaysAndLosesItsMark(t *testing.T) {
	a := alpha(t)
	alerts := all[*book.Alert](a)
	require.Len(t, alerts, 1)
	require.Equal(t, "note", alerts[0].Label)
	var said strings.Builder
	_ = ast.Walk(alerts[0], func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if text, ok := n.(*ast.Text); ok && entering {
			said.Write(text.Segment.Value(a.Source))
		}
		return ast.WalkContinue, nil
	})
	require.Equal(t, "Holding is not having.", said.String())
}

func TestLoad_DiagramIsDrawn(t *testing.T) {
	diagrams := all[*book.Diagram](alpha(t))
	require.Len(t, diagrams, 1)
	require.Equal(t, "Holding", diagrams[0].Title)
	require.Equal(t, "A holds B.", diagrams[0].Description)
	require.Contains(t, diagrams[0].SVG, "<svg")
}

func TestLoad_QuoteInASubtestsNameDoesNotEndTheCommand(t *testing.T) {
	a := alpha(t, change{sampleFile, `t.Run("the first time"`, `t.Run("it's first"`},
		in("alpha_test.go#TestAlpha_Holds \"embed doc\"", "alpha_test.go#TestAlpha_Holds/it's_first \"embed\""))
	require.Equal(t, `go test -run '^TestAlpha_Holds$/^it'\''s_first$' ./samples/101-alpha`, all[*book.Embed](a)[0].Command)
}

func TestLoad_ImageKeepsItsBytesAndIsLinkedFromTheMarkdown(t *testing.T) {
	files := apply(t, repository(), in("![A picture](picture.svg)", "![A picture](../docs/a/p.png) ![Another](../docs/a-p.png)"))
	files["docs/a/p.png"], files["docs/a-p.png"] = "\x89PNG\r\n\x1a\n\x00", "\x89PNG\r\n\x1a\n"
	b := loadClean(t, files)
	require.Equal(t, files["docs/a/p.png"], string(b.Images["images/docs/a/p.png"]))
	require.Equal(t, files["docs/a-p.png"], string(b.Images["images/docs/a-p.png"]))
	require.Contains(t, string(b.Articles[0].Markdown), "![A picture](images/docs/a/p.png)")
}

func TestLoad_ImageGoesAlongToTheSite(t *testing.T) {
	b := loadClean(t, repository())
	require.Equal(t, "images/articles/picture.svg", string(all[*ast.Image](b.Articles[0])[0].Destination))
	require.Contains(t, b.Images, "images/articles/picture.svg")
}

func TestLoad_MarkdownOfAPageHasTheCodeAndLinksThatLeadSomewhere(t *testing.T) {
	md := string(alpha(t).Markdown)
	require.True(t, strings.HasPrefix(md, "# Alpha\n\nWhat holds, and for how long.\n"), md)
	require.Contains(t, md, "```go\nt.Log(\"lapsed\")\n```")
	require.Contains(t, md, "(https://example.com/small/blob/abc123/samples/101-alpha/alpha_test.go#L5-L10)", "the test, where the page has its own code")
	require.Contains(t, md, "[the package](https://example.com/small/tree/abc123/relay)")
	require.NotContains(t, md, "\"embed")
	require.NotContains(t, md, "](../")
	require.Contains(t, md, "accTitle: Holding", "a diagram stays Mermaid")
}

// Lesson D3: code that contains a fence breaks nothing.
func TestLoad_CodeWithAFenceInItIsFencedByALongerOne(t *testing.T) {
	a := alpha(t, change{sampleFile, "t.Log(\"lapsed\")", "t.Log(\"```go\")"})
	require.Contains(t, string(a.Markdown), "````go\nt.Log(\"```go\")\n````")
}

func TestLoad_IsIdempotent(t *testing.T) {
	loader := book.NewLoader(openTree(t, repository()))
	first, err := loader.Load(options)
	require.NoError(t, err)
	second, err := loader.Load(options)
	require.NoError(t, err)
	require.Same(t, first.Articles[0], second.Articles[0], "an article that has not changed is kept, and so is its page")
	require.Same(t, second.Articles[0], second.Topics[0].Article)
}

func TestLoad_ArticleIsReadAnewWhenTheCodeThatItEmbedsChanges(t *testing.T) {
	files := repository()
	before, after := alpha(t), alpha(t, change{sampleFile, "t.Log(\"lapsed\")", "t.Log(\"gone\")"})
	require.NotEqual(t, string(before.Markdown), string(after.Markdown))

	// Through one loader, as docgen serve does it.
	tree, rewrite := openTreeToChange(t, files)
	loader := book.NewLoader(tree)
	first, err := loader.Load(options)
	require.NoError(t, err)
	rewrite(sampleFile, strings.Replace(files[sampleFile], "t.Log(\"lapsed\")", "t.Log(\"gone\")", 1))
	second, err := loader.Load(options)
	require.NoError(t, err)
	require.NotSame(t, first.Articles[0], second.Articles[0])
}

func TestLoad_ArticleIsReadAnewWhenItsMarksOrItsPrerequisitesTitleChange(t *testing.T) {
	files := apply(t, repository(), in("after: []", "after: [102-beta]"), in("#region:lapse \"embed\"", "#region:lapse \"embed hl=Log\""))
	const beta = "articles/102-beta.md"
	files["samples/102-beta/doc.go"] = "package beta\n"
	files["articles/topics.tsv"] += "Beta\t102-beta.md#overview\t-\t000.005\n"
	files[beta] = "---\ntitle: Beta\nsummary: S.\ncategory: Operations\nlevel: beginner\nlearn: [b]\nconcepts: [b]\n---\n\n# Beta\n\n## Overview\n\nB.\n"
	tree, rewrite := openTreeToChange(t, files)
	loader := book.NewLoader(tree)
	next := func() *book.Book {
		b, err := loader.Load(options)
		require.NoError(t, err)
		require.Empty(t, b.Findings)
		return b
	}
	first := next()
	second := next()
	require.Same(t, first.Articles[1], second.Articles[0].After[0], "what is kept refers to what is kept")

	rewrite(alphaArticle, strings.Replace(files[alphaArticle], "hl=Log", "hl=lapsed", 1))
	third := next()
	require.NotSame(t, second.Articles[0], third.Articles[0])
	rewrite(alphaArticle, files[alphaArticle])
	fourth := next()
	rewrite(beta, strings.ReplaceAll(files[beta], "Beta", "Better"))
	require.NotSame(t, fourth.Articles[0], next().Articles[0], "its page names the other one")
}

func TestLoad_PrerequisitesInACircleAreFindings(t *testing.T) {
	files := apply(t, repository(), in("after: []", "after: [102-beta]"))
	files["samples/102-beta/doc.go"] = "package beta\n"
	files["articles/topics.tsv"] += "Beta\t102-beta.md#overview\t-\t000.005\n"
	files["articles/102-beta.md"] = "---\ntitle: Beta\nsummary: S.\ncategory: C\nlevel: beginner\nneeds: []\nafter: [101-alpha]\nlearn: [b]\nconcepts: [b]\n---\n\n# Beta\n\n## Overview\n\nB.\n"
	findings := load(t, files).Findings
	require.Len(t, findings, 2, "one at each end of the circle")
	for _, f := range findings {
		require.Contains(t, f.Message, "neither could be read first")
	}
	files["articles/102-beta.md"] = strings.Replace(files["articles/102-beta.md"], "[101-alpha]", "[]", 1)
	require.Equal(t, "Beta", loadClean(t, files).Articles[0].After[0].Title, "and without the circle it is a prerequisite")
}

// recorded are results of the alpha sample, from these sources.
func recorded(t *testing.T, hash string) *results.Set {
	t.Helper()
	set, err := results.Load(strings.NewReader(`{"docgen":1,"go":"go1.26.0","packages":[{"package":"example.com/small/samples/101-alpha","dir":"samples/101-alpha","tests":["TestAlpha_Holds","TestAlpha_Lapses","TestAlpha_Boring"],"sources":{"samples/101-alpha":"` + hash + `"}}]}
{"Action":"output","Package":"example.com/small/samples/101-alpha","Test":"TestAlpha_Holds","Output":"    alpha_test.go:8: held\n"}
{"Action":"pass","Package":"example.com/small/samples/101-alpha","Test":"TestAlpha_Holds"}
{"Action":"fail","Package":"example.com/small/samples/101-alpha","Test":"TestAlpha_Lapses"}
{"Action":"fail","Package":"example.com/small/samples/101-alpha"}
`))
	require.NoError(t, err)
	return set
}

func TestLoad_ResultsOfOtherSourcesAreAFindingOrForASiteInTheMakingNoResults(t *testing.T) {
	o := options
	o.Results = recorded(t, "of other sources")
	loader := book.NewLoader(openTree(t, repository()))
	b, err := loader.Load(o)
	require.NoError(t, err)
	require.NotEmpty(t, b.Findings)
	require.Equal(t, "results.jsonl", b.Findings[len(b.Findings)-1].File)
	require.Contains(t, b.Findings[len(b.Findings)-1].Message, "record them again")

	o.DropStale = true
	b, err = loader.Load(o)
	require.NoError(t, err)
	require.Empty(t, b.Findings)
	require.Equal(t, results.Tally{NotRun: 3}, b.Articles[0].Tests)
	require.Equal(t, results.NotRun, all[*book.Embed](b.Articles[0])[0].Result.Status)
}

func TestLoad_WhatIsSaidToPassAndFailedIsAFinding(t *testing.T) {
	o := options
	o.Results = recorded(t, "")
	files := apply(t, repository(), in("ok  \texample.com/small/samples/101-alpha\t0.002s", "--- PASS: TestAlpha_Lapses (0.00s)\nok  \texample.com/small/samples/101-alpha\t0.002s"),
		in("```go sketch\nhold()\n```", "```text output=TestAlpha_Holds\nlapsed\n```\n\n```text output=TestAlpha_Holds\nheld\n```"))
	b, err := book.NewLoader(openTree(t, files)).Load(o)
	require.NoError(t, err)
	var said []string
	for _, f := range b.Findings {
		if f.File == alphaArticle {
			said = append(said, f.Message)
		}
	}
	require.Equal(t, []string{
		"TestAlpha_Lapses is said to pass, and failed when it was recorded",
		"example.com/small/samples/101-alpha is said to be ok, and had a test that failed when it was recorded",
		"TestAlpha_Holds printed something else when it was recorded; mend the text, or the test:\n\t    alpha_test.go:8: held",
	}, said)
}

func TestLoad_CommandsThatRunTheTestsAreLeftToCI(t *testing.T) {
	commands := loadClean(t, repository()).Commands
	require.Len(t, commands, 2)
	require.True(t, commands[0].RunsTests)
	require.False(t, commands[1].RunsTests)
	require.Equal(t, "make demo\n", commands[1].Script)
}

func TestLoad_SectionsAndClaimsAreThereForTheReadme(t *testing.T) {
	a := alpha(t)
	require.Equal(t, []book.Claim{{"It holds", "TestAlpha_Holds", sampleFile}, {"It lapses", "TestAlpha_Lapses", sampleFile}}, a.Claims)
	require.Equal(t, "go test -run '^TestAlpha_Holds$' ./samples/101-alpha\n", a.Section("running-the-example").Command)
	require.Equal(t, "ok  \texample.com/small/samples/101-alpha\t0.002s\n", a.Section("running-the-example").Output)
	require.True(t, strings.HasPrefix(a.Section("overview").Paragraph, "The problem is"))
}
