package book_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// in is a change of the article.
func in(old, with string) change { return change{alphaArticle, old, with} }

const sampleFile = "samples/101-alpha/alpha_test.go"

// Each fault is one finding, at its place, with what is wrong and the mend.
func TestLoad_EachFaultIsOneFindingWithItsPlaceAndItsMend(t *testing.T) {
	for name, c := range map[string]struct {
		change change
		where  string // file:line:col
		says   string
	}{
		"a test was renamed":                        {in("alpha_test.go#TestAlpha_Holds \"embed", "alpha_test.go#TestAlpha_Hold \"embed"), alphaArticle + ":26:1", "TestAlpha_Holds"},
		"a typo in a selector":                      {in("region:lapse", "region:laps"), alphaArticle + ":28:1", "lapse"},
		"a file that does not exist":                {in("[the package](../relay)", "[the package](../relais)"), alphaArticle + ":22:1", "does not exist"},
		"a path that leaves the repository":         {in("[the package](../relay)", "[the package](../../secret)"), alphaArticle + ":22:1", "leaves the repository"},
		"an escaped path that leaves it":            {in("[the package](../relay)", "[the package](..%2f..%2fsecret)"), alphaArticle + ":22:1", "leaves the repository"},
		"an embed that leaves it":                   {in("../samples/101-alpha/alpha_test.go#region", "../../alpha_test.go#region"), alphaArticle + ":28:1", "leaves the repository"},
		"a link from the root":                      {in("(../relay)", "(/relay)"), alphaArticle + ":22:1", "relative to the article"},
		"a link to a script":                        {in("(../relay)", "(javascript:alert)"), alphaArticle + ":22:1", "https://"},
		"a broken fragment":                         {in("(#step-one)", "(#step-two)"), alphaArticle + ":21:45", "step-one"},
		"a fragment of another file":                {in("(../relay)", "(../README.md#the-simples)"), alphaArticle + ":22:1", "no such heading"},
		"lines that are not there":                  {in("(../relay)", "(../relay/relay.go#L90-L95)"), alphaArticle + ":22:1", "lines 1 to"},
		"a symbol that is not there":                {in("(../relay)", "(../relay/relay.go#Tokken)"), alphaArticle + ":22:1", "Token"},
		"a link without a text":                     {in("[the package]", "[]"), alphaArticle + ":22:1", "no text"},
		"an unknown key of the front matter":        {in("level: beginner", "level: beginner\nauthor: me"), alphaArticle + ":6:1", "author is no key"},
		"a front matter that is no YAML":            {in("needs: []", "needs: ["), alphaArticle + ":6:1", "front matter"},
		"no summary":                                {in("summary: What holds, and for how long.\n", ""), alphaArticle + ":1:1", "summary is missing"},
		"an unknown level":                          {in("level: beginner", "level: easy"), alphaArticle + ":5:1", "beginner"},
		"an unknown need":                           {in("needs: []", "needs: [oracle]"), alphaArticle + ":6:1", "postgres"},
		"a prerequisite that does not exist":        {in("after: []", "after: [100-nothing]"), alphaArticle + ":7:1", "no such article"},
		"an article that comes after itself":        {in("after: []", "after: [101-alpha]"), alphaArticle + ":7:1", "does not come after itself"},
		"a title that differs from the heading":     {in("# Alpha\n", "# Alfa\n"), alphaArticle + ":17:1", "make them the same"},
		"a heading that skips a level":              {in("## Step one", "#### Step one"), alphaArticle + ":24:1", "one level at a time"},
		"an embed within a sentence":                {in("[It lapses](", "As follows: [It lapses]("), alphaArticle + ":28:13", "alone in its paragraph"},
		"an embed within a list":                    {in("[It lapses](", "- [It lapses]("), alphaArticle + ":28:3", "alone in its paragraph"},
		"an unknown modifier":                       {in("\"embed doc\"", "\"embed docs\""), alphaArticle + ":26:1", "docs"},
		"hl= of a word that is not there":           {in("\"embed doc\"", "\"embed hl=fence\""), alphaArticle + ":26:1", "fence"},
		"bare Go":                                   {in("```go sketch", "```go"), alphaArticle + ":54:1", "embedded"},
		"a fence without a language":                {in("```go sketch", "```"), alphaArticle + ":54:1", "language"},
		"an unknown word after a fence":             {in("```sh run\nmake", "```sh runs\nmake"), alphaArticle + ":50:1", "means nothing"},
		"indented code":                             {in("![A picture]", "    hold()\n\n![A picture]"), alphaArticle + ":58:5", "```text"},
		"output without a command":                  {in("```go sketch\nhold()\n```\n", "```go sketch\nhold()\n```\n\n```text output=run\nheld\n```\n"), alphaArticle + ":58:1", "right before it"},
		"output of a test that does not exist":      {in("```go sketch", "```text output=TestAlpha_Nothing"), alphaArticle + ":54:1", "no such test"},
		"a diagram outside the subset":              {in("A[Holder] --> B[(Store)]", "A[Holder] --> B[(Store)]\n    classDef red fill:#f00"), alphaArticle + ":35:1", "classDef"},
		"a diagram without a text alternative":      {in("    accDescr: A holds B.\n", ""), "", "accDescr"},
		"an image without a text alternative":       {in("![A picture]", "![]"), alphaArticle + ":58:1", "text alternative"},
		"an image that does not exist":              {in("(picture.svg)", "(pikture.svg)"), alphaArticle + ":58:1", "does not exist"},
		"an image from elsewhere":                   {in("(picture.svg)", "(https://example.com/picture.svg)"), alphaArticle + ":58:1", "foreign request"},
		"a backticked name that is not exported":    {in("`relay.Token`", "`relay.Tokens`"), alphaArticle + ":22:29", "relay.Tokens is no exported name"},
		"raw HTML":                                  {in("![A picture]", "<script>alert(1)</script>\n\n![A picture]"), alphaArticle + ":58:1", "raw HTML"},
		"raw HTML within a sentence":                {in("The problem is", "The <b>problem</b> is"), alphaArticle + ":21:5", "raw HTML"},
		"<details> that are never closed":           {in("![A picture]", "<details>\n<summary>More</summary>\n\n![A picture]"), alphaArticle + ":58:1", "never closed"},
		"an alert that does not exist":              {in("[!NOTE]", "[!HINT]"), alphaArticle + ":37:1", "NOTE"},
		"a prompt before a command":                 {in("make demo", "$ make demo"), alphaArticle + ":51:1", "prompt"},
		"a target that does not exist":              {in("make demo", "make damo"), alphaArticle + ":51:1", "no target damo"},
		"a package that does not exist":             {in("$' ./samples/101-alpha", "$' ./samples/101-alfa"), alphaArticle + ":43:1", "does not exist"},
		"-run that matches no test":                 {in("-run '^TestAlpha_Holds$'", "-run '^TestAlpha_Hold$'"), alphaArticle + ":43:1", "matches no test"},
		"a package that go test is said to test":    {in("small/samples/101-alpha\t", "small/samples/101-alfa\t"), alphaArticle + ":47:1", "no package"},
		"an unshown test without a reason":          {in("TestAlpha_Boring: shows nothing", "TestAlpha_Boring: \"\""), alphaArticle + ":14:1", "no reason"},
		"an unshown test that does not exist":       {in("  TestAlpha_Boring: shows nothing", "  TestAlpha_Boring: shows nothing\n  TestAlpha_Gone: was"), alphaArticle + ":15:1", "no such test"},
		"an unshown test that is shown":             {in("  TestAlpha_Boring: shows nothing", "  TestAlpha_Boring: shows nothing\n  TestAlpha_Holds: was"), alphaArticle + ":15:1", "yet embedded"},
		"a test that no article shows":              {change{sampleFile, "func TestAlpha_Boring", "func TestAlpha_New(t *testing.T) {}\n\nfunc TestAlpha_Boring"}, sampleFile + ":18:1", "TestAlpha_New is not shown"},
		"a region that is never closed":             {change{sampleFile, "\t//docgen:end lapse\n", ""}, sampleFile + ":13:2", "lapse"},
		"a region that no article embeds":           {change{sampleFile, "func TestAlpha_Boring(t *testing.T) {}", "func TestAlpha_Boring(t *testing.T) {\n\t//docgen:begin idle\n\tt.Log()\n\t//docgen:end idle\n}"}, sampleFile + ":19:1", "no article embeds region idle"},
		"a topic under a heading that is gone":      {change{"articles/topics.tsv", "#step-one", "#step-two"}, "articles/topics.tsv:2:1", "no heading #step-two"},
		"a topic shown by a test that is gone":      {change{"articles/topics.tsv", "TestAlpha_Holds", "TestAlpha_Held"}, "articles/topics.tsv:2:1", "TestAlpha_Held"},
		"a topic shown by what is no test":          {change{"articles/topics.tsv", "samples/101-alpha/alpha_test.go#TestAlpha_Holds", "relay/relay.go#Token"}, "articles/topics.tsv:2:1", "no test"},
		"a topic in an article that is gone":        {change{"articles/topics.tsv", "101-alpha.md", "102-beta.md"}, "articles/topics.tsv:2:1", "no article"},
		"a topic without numbers":                   {change{"articles/topics.tsv", "000.004", "some"}, "articles/topics.tsv:3:1", "000.004"},
		"a topic with a column too few":             {change{"articles/topics.tsv", "Not here\t-\t-\t", "Not here\t-\t"}, "articles/topics.tsv:3:1", "four columns"},
		"a link in the front matter":                {in("- say what holds", "- say [what](nope.md) holds"), alphaArticle + ":11:1", "link"},
		"an image in the front matter":              {in("concepts: [holding]", "concepts: [\"![i](https://e.org/x.png)\"]"), alphaArticle, "image"},
		"HTML in the front matter":                  {in("- say what holds", "- <b>say</b>"), alphaArticle + ":11:1", "rawhtml"},
		"a need that stands there twice":            {in("needs: []", "needs: [redis, redis]"), alphaArticle + ":6:1", "twice"},
		"a blank summary":                           {in("summary: What holds, and for how long.", "summary: \"  \""), alphaArticle + ":3:1", "summary"},
		"a blank thing to learn":                    {in("- say what holds", "- \"\""), alphaArticle + ":10:1", "learn"},
		"an empty section":                          {in("## Step one\n", "## Step none\n\n## Step one\n"), alphaArticle + ":24:1", "nothing stands below"},
		"a heading without words":                   {in("## Step one\n", "## 😀\n\nHi.\n\n## Step one\n"), alphaArticle + ":24:1", "no letter"},
		"a title that is underlined":                {in("# Alpha\n", "Alpha\n=====\n"), alphaArticle + ":17:1", "underlined"},
		"a link in the title":                       {in("# Alpha\n", "# [Alpha](https://go.dev)\n"), alphaArticle + ":17:3", "words alone"},
		"Go by another name":                        {in("```go sketch", "```golang"), alphaArticle + ":54:1", "no language"},
		"Go with a comma":                           {in("```go sketch", "```go,sketch"), alphaArticle + ":54:1", "no language"},
		"Mermaid with a capital":                    {in("```mermaid", "```Mermaid"), alphaArticle + ":30:1", "no language"},
		"a shell by another name":                   {in("```sh run\nmake", "```bash\nmake"), alphaArticle + ":50:1", "no language"},
		"a tab after sh, and a target that is gone": {in("```sh run\nmake demo", "```sh\trun\nmake damo"), alphaArticle + ":51:1", "no target"},
		"a fence that is never closed":              {in("![A picture](picture.svg)\n", "![A picture](picture.svg)\n\n```text\nopen\n"), alphaArticle + ":60:1", "never closed"},
		"a title that is nearly an embed's":         {in("\"embed doc\"", "\"Embed doc\""), alphaArticle + ":26:1", "nearly"},
		"a tab after embed":                         {in("\"embed doc\"", "\"embedded\""), alphaArticle + ":26:1", "nearly"},
		"details that hold a directive":             {in("![A picture]", "<details>\n<summary>S</summary>\n[x](../relay)\n</details>\n\n![A picture]"), alphaArticle + ":58:1", "empty line"},
		"details with an attribute":                 {in("![A picture]", "<details open>\n<summary>S</summary>\n\nx\n\n</details>\n\n![A picture]"), alphaArticle + ":58:1", "without attributes"},
		"a summary outside of details":              {in("![A picture]", "<summary>S</summary>\n\n![A picture]"), alphaArticle + ":58:1", "raw HTML"},
		"details within a quotation":                {in("![A picture]", "> <details><summary>S</summary>\n\n</details>\n\n![A picture]"), alphaArticle + ":58:3", "raw HTML"},
		"a reference to nothing":                    {in("The problem is", "The [problem][undefined] is"), alphaArticle + ":21:1", "refers to nothing"},
		"a footnote that nobody has written":        {in("The problem is", "The problem[^zz] is"), alphaArticle + ":21:1", "refers to nothing"},
		"a footnote that nobody refers to":          {in("![A picture]", "[^zz]: [gone](nope.md)\n\n![A picture]"), alphaArticle + ":58:1", "nothing refers"},
		"an autolink to a script":                   {in("The problem is", "The <javascript:alert(1)> is"), alphaArticle + ":21:5", "https://"},
		"a link without a host":                     {in("(../relay)", "(https://)"), alphaArticle + ":22:1", "https://"},
		"a link to nowhere":                         {in("(../relay)", "()"), alphaArticle + ":22:1", "nowhere"},
		"a link by reference":                       {in("[the package](../relay)", "[the package][p]\n\n[p]: ../relay\n\nIt"), alphaArticle + ":22:1", "into the link itself"},
		"an alert with words behind its mark":       {in("> [!NOTE]\n> Holding", "> [!NOTE] Holding"), alphaArticle + ":37:1", "line of its own"},
		"an alert in a list":                        {in("> [!NOTE]\n> Holding", "- > [!NOTE]\n  > Holding"), alphaArticle + ":37:3", "top level"},
		"a topic's range that goes back":            {change{"articles/topics.tsv", "000.001-000.003", "000.003-000.001"}, "articles/topics.tsv:2:1", "ends before"},
		"-run with an alternative that is gone":     {in("'^TestAlpha_Holds$'", "'^(TestAlpha_Holds|TestAlpha_Gone)$'"), alphaArticle + ":43:1", "matches no test"},
		"-run of a subtest that is gone":            {in("'^TestAlpha_Holds$'", "'^TestAlpha_Holds$/^the_last_time$'"), alphaArticle + ":43:1", "matches no test"},
		"a second -run that matches no test":        {in("$' ./samples/101-alpha\n", "$' ./samples/101-alpha && go test -run TestGone ./samples/101-alpha\n"), alphaArticle + ":43:1", "TestGone"},
		"-run in a line that goes on":               {in("go test -run '^TestAlpha_Holds$' ./samples/101-alpha", "go test \\\n  -run TestGone \\\n  ./samples/101-alpha"), alphaArticle + ":45:1", "TestGone"},
		"output of a subtest that is gone":          {in("```go sketch", "```text output=TestAlpha_Holds/gone"), alphaArticle + ":54:1", "no such test"},
		"a line that go test does not print":        {in("ok  \texample.com/small/samples/101-alpha\t0.002s", "utter nonsense"), alphaArticle + ":47:1", "no line that go test prints"},
		"a key that stands there twice":             {in("level: beginner", "level: beginner\nlevel: beginner"), alphaArticle + ":6:1", "already defined"},
		"a list that is a text":                     {in("learn:\n  - say what holds", "learn: say what holds"), alphaArticle + ":10:1", "a list is wanted"},
		"a summary that is too long":                {in("What holds, and for how long.", strings.Repeat("ü", 161)), alphaArticle + ":3:1", "161 characters"},
		"a misspelt embed":                          {in("\"embed doc\"", "\"embd doc\""), alphaArticle + ":26:1", "nearly"},
		"an image that is none":                     {in("(picture.svg)", "(../relay/none.png)"), alphaArticle + ":58:1", "no image inside"},
		"an image of another type":                  {in("(picture.svg)", "(../relay/relay.go)"), alphaArticle + ":58:1", "no image that a page shows"},
		"an image from elsewhere without https":     {in("(picture.svg)", "(//example.com/picture.svg)"), alphaArticle + ":58:1", "foreign request"},
		"an alert that says nothing":                {in("> Holding is *not* having.", ">"), alphaArticle + ":37:1", "says nothing"},
		"an empty fence that is never closed":       {in("![A picture](picture.svg)\n", "![A picture](picture.svg)\n\n```text\n"), alphaArticle + ":60:1", "never closed"},
		"-run in a folder that a line went to":      {in("go test -run '^TestAlpha_Holds$' ./samples/101-alpha", "cd samples/101-alpha\ngo test -run TestGone"), alphaArticle + ":44:1", "TestGone"},
		"a range of one":                            {change{"articles/topics.tsv", "000.001-000.003", "000.001-000.001"}, "articles/topics.tsv:2:1", "ends before"},
		"a line behind the last":                    {in("(../relay)", "(../relay/relay.go#L8)"), alphaArticle + ":22:1", "lines 1 to 7"},
		"a topic that stands there twice":           {change{"articles/topics.tsv", "Not here", "Holding on"}, "articles/topics.tsv:3:1", "twice"},
	} {
		t.Run(name, func(t *testing.T) {
			files := repository()
			files["relay/none.png"] = "no picture\n"
			findings := load(t, apply(t, files, c.change)).Findings
			require.Len(t, findings, 1, "one fault, one finding: %v", findings)
			require.True(t, strings.HasPrefix(findings[0].String(), c.where), "%s, not at %s", findings[0], c.where)
			require.Contains(t, findings[0].Message, c.says)
		})
	}
}

func TestLoad_SampleWithoutAnArticleIsAFinding(t *testing.T) {
	files := repository()
	files["samples/102-beta/beta.go"] = "package beta\n"
	findings := load(t, files).Findings
	require.Len(t, findings, 1)
	require.Contains(t, findings[0].String(), "samples/102-beta:1:1: no article shows this sample")
}

func TestLoad_ArticleWithoutASampleIsAFinding(t *testing.T) {
	files := repository()
	files["articles/topics.tsv"] += "Beta\t102-beta.md#overview\t-\t000.005\n"
	files["articles/102-beta.md"] = "---\ntitle: B\nsummary: S.\ncategory: C\nlevel: beginner\nlearn: [b]\nconcepts: [b]\n---\n\n# B\n\n## Overview\n\nB.\n"
	findings := load(t, files).Findings
	require.Len(t, findings, 1)
	require.Contains(t, findings[0].String(), "articles/102-beta.md:1:1: there is no sample samples/102-beta")
}

func TestLoad_DeletedSampleFileIsAFindingWhereverItWasNamed(t *testing.T) {
	files := repository()
	files["samples/101-alpha/other_test.go"] = strings.ReplaceAll(files[sampleFile], "TestAlpha", "TestOther")
	files = apply(t, files, in("## Running the example", "[Other](../samples/101-alpha/other_test.go#TestOther_Holds \"embed\")\n\n[More](../samples/101-alpha/other_test.go#region:lapse \"embed\")\n\n## Running the example"),
		in("  TestAlpha_Boring: shows nothing", "  TestAlpha_Boring: shows nothing\n  TestOther_Boring: shows nothing"))
	loadClean(t, files)

	gone := maps.Clone(files)
	delete(gone, "samples/101-alpha/other_test.go")
	findings := load(t, gone).Findings
	require.Len(t, findings, 2, "the two embeds; what follows from them is no finding of its own")
	for _, f := range findings {
		require.Equal(t, alphaArticle, f.File)
	}
}

func TestLoad_NoIndexIsAFinding(t *testing.T) {
	files := repository()
	delete(files, "articles/topics.tsv")
	findings := load(t, files).Findings
	require.Len(t, findings, 1)
	require.Equal(t, "articles/topics.tsv", findings[0].File)
}

func TestLoad_TwoTestsOfOneNameInASampleAreAFinding(t *testing.T) {
	files := repository()
	files["samples/101-alpha/cmd/x/x_test.go"] = "package main\n\nimport \"testing\"\n\nfunc TestAlpha_Holds(t *testing.T) {}\n"
	findings := load(t, files).Findings
	require.Len(t, findings, 1)
	require.Equal(t, "samples/101-alpha/cmd/x/x_test.go:5:1: the sample has another TestAlpha_Holds; give one of them another name", findings[0].String())
}

func TestLoad_GoThatCanNotBeParsedIsOneFindingAtItsPlace(t *testing.T) {
	for _, file := range []string{"relay/relay.go", sampleFile} {
		files := repository()
		files[file] += "\nfunc {\n"
		findings := load(t, files).Findings
		require.Len(t, findings, 1, "%v", findings)
		require.Equal(t, file, findings[0].File)
		require.Greater(t, findings[0].Line, 1)
	}
}

func TestLoad_ArticleThatCanNotBeReadIsOneFinding(t *testing.T) {
	for says, text := range map[string]string{
		"no front matter": "# Alpha\n\nText with a [broken link](nope.md).\n",
		"is not UTF-8":    "---\ntitle: \xfc\n---\n",
	} {
		files := repository()
		files[alphaArticle] = text
		findings := load(t, files).Findings
		require.NotEmpty(t, findings)
		require.Equal(t, alphaArticle, findings[0].File)
		require.Contains(t, findings[0].Message, says)
	}
	for _, name := range []string{"articles/README.md", "articles/more/103-c.md", "articles/104-d.markdown"} {
		files := repository()
		files[name] = "# Anything\n"
		findings := load(t, files).Findings
		require.Len(t, findings, 1, "%v", findings)
		require.Equal(t, name, findings[0].File)
	}
}

func TestLoad_RegionsOfTheCoreAreCheckedToo(t *testing.T) {
	findings := load(t, apply(t, repository(), change{"relay/relay.go", "func (t Token) Next", "//docgen:begin next\nfunc (t Token) Next"})).Findings
	require.Len(t, findings, 1)
	require.Equal(t, "relay/relay.go", findings[0].File)
}

func TestLoad_CategoryWrittenInTwoWaysIsAFinding(t *testing.T) {
	files := repository()
	files["samples/102-beta/doc.go"] = "package beta\n"
	files["articles/topics.tsv"] += "Beta\t102-beta.md#overview\t-\t000.005\n"
	files["articles/102-beta.md"] = "---\ntitle: B\nsummary: S.\ncategory: operations\nlevel: beginner\nlearn: [b]\nconcepts: [b]\n---\n\n# B\n\n## Overview\n\nB.\n"
	findings := load(t, files).Findings
	require.Len(t, findings, 1)
	require.Equal(t, "articles/102-beta.md:4:1: front matter: category \"operations\" is \"Operations\" elsewhere; write it in one way", findings[0].String())
}

// What is right must not be a finding.
func TestLoad_ValidMarkdownIsNoFinding(t *testing.T) {
	for name, c := range map[string]change{
		"an address in angle brackets": in("(../relay)", "(<../relay>)"),
		"a link to the title":          in("(#step-one)", "(#alpha)"),
		"a break with a space":         in("The problem is", "The problem<br />is"),
		"a name within a longer one":   in("`relay.Token`", "`my.relay.Nope`"),
		"a path":                       in("`relay.Token`", "`relay/relay.Nope`"),
		"-run in double quotes":        in("'^TestAlpha_Holds$'", "\"^TestAlpha_Holds$\""),
		"-run in every package":        in("-run '^TestAlpha_Holds$' ./samples/101-alpha", "-run TestAlpha_Holds ./..."),
		"-run after cd":                in("go test -run '^TestAlpha_Holds$' ./samples/101-alpha", "cd samples/101-alpha\ngo test -run TestAlpha_Holds"),
		"-run of a subtest":            in("'^TestAlpha_Holds$'", "'^TestAlpha_Holds$/^the_first_time$'"),
		"make within words":            in("make demo", "echo \"make sure it works\""),
		"the last line of a file":      in("(../relay)", "(../relay/relay.go#L7)"),
		"brackets in code":             in("The problem is", "The `a[0][1]` is"),
		"a summary of just so many":    in("What holds, and for how long.", strings.Repeat("ü", 160)),
		"a topic without a number":     {"articles/topics.tsv", "000.004", "-"},
		"an empty fence":               in("```go sketch\nhold()\n```", "```text\n```"),
		"an image that is a link":      in("![A picture](picture.svg)", "[![A picture](picture.svg)](#step-one)"),
		"another article's title":      in("(#step-one)", "(101-alpha.md#alpha)"),
		"an embed with another title":  in("[the package](../relay)", "[the package](../relay \"its folder\")"),
		"a footnote in a fence":        in("```go sketch\nhold()", "```text\n[^zz]: text"),
		"a footnote":                   in("The problem is that", "The problem[^a] is\n\n[^a]: This.\n\nAnd"),
		"nested details":               in("![A picture]", "<details>\n<summary>S</summary>\n\n<details><summary>T</summary>\n\nx\n\n</details>\n\n</details>\n\n![A picture]"),
	} {
		t.Run(name, func(t *testing.T) { loadClean(t, apply(t, repository(), c)) })
	}
}

func TestLoad_LinesThatADiagramsFaultNamesAreTheArticles(t *testing.T) {
	findings := load(t, apply(t, repository(), in("A[Holder] --> B[(Store)]", "subgraph S\n    A --> B"))).Findings
	require.NotEmpty(t, findings)
	for _, f := range findings {
		require.NotRegexp(t, `line [1-9]\b`, f.Message, "a line of the fence would be taken for one of the article")
	}
}
