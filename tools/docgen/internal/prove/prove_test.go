package prove_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/book"
	"github.com/relay-samples/relay-go/tools/docgen/internal/prove"
	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/source"
)

func command(script string, output ...string) *book.Command {
	c := &book.Command{Path: "articles/a.md", Line: 7, Col: 1, Script: script}
	for _, text := range output {
		c.Output = &book.Output{Line: 11, Col: 1, Text: text}
	}
	return c
}

func TestCommands_OneThatPrintsWhatTheArticleSaysIsFine(t *testing.T) {
	require.Empty(t, prove.Commands(t.Context(), t.TempDir(), []*book.Command{
		command("echo held", "held\n"),
		command("echo 'took 0.031s'; echo 'and 12ms  '", "took 0.002s\nand 7ms\n"),
		command("true"),
	}))
}

func TestCommands_OtherOutputIsAFindingWhereTheOutputStands(t *testing.T) {
	findings := prove.Commands(t.Context(), t.TempDir(), []*book.Command{command("echo lapsed", "held\n")})
	require.Len(t, findings, 1)
	require.Equal(t, "articles/a.md:11:1: the command prints something else; put into the article what it prints:\n\tlapsed", findings[0].String())
}

func TestCommands_FailureIsAFindingWithWhatWasPrinted(t *testing.T) {
	findings := prove.Commands(t.Context(), t.TempDir(), []*book.Command{command("echo no such thing >&2\nfalse\necho unreached")})
	require.Len(t, findings, 1)
	require.Equal(t, "articles/a.md:7:1: the command failed (exit status 1); mend it, or what it runs. It printed:\n\tno such thing", findings[0].String())
}

func TestCommands_RunInTheRootOfTheRepository(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "here"), nil, 0o600))
	require.Empty(t, prove.Commands(t.Context(), root, []*book.Command{command("ls", "here\n")}))
}

func TestCommands_ThoseThatRunTheTestsAreNotRun(t *testing.T) {
	c := command("false")
	c.RunsTests = true
	require.Empty(t, prove.Commands(t.Context(), t.TempDir(), []*book.Command{c}))
}

// module is one with a guard and the test that needs it.
func module(t *testing.T) (string, *source.Tree) {
	t.Helper()
	root := repotest.New(t, map[string]string{
		"go.mod":                    "module example.com/small\n\ngo 1.26\n",
		"samples/a/guard.go":        "package a\n\n// Admit refuses what is below the highest.\nfunc Admit(highest, token int) bool {\n\treturn token >= highest\n}\n",
		"samples/a/guard_test.go":   "package a\n\nimport \"testing\"\n\nfunc TestAdmit_RefusesTheStaleOne(t *testing.T) {\n\tif Admit(2, 1) {\n\t\tt.Fatal(\"token 1 after 2\")\n\t}\n}\n",
		"samples/a/cmd/x/x.go":      "package main\n\nfunc main() {}\n",
		"samples/a/cmd/x/x_test.go": "package main\n\nimport \"testing\"\n\nfunc TestMain_Runs(t *testing.T) {}\n",
	})
	return root, repotest.Open(t, root)
}

func patch(minus, plus string) book.Break {
	return book.Break{Path: "articles/a.md", Line: 9, Col: 1, Dir: "samples/a", Test: "TestAdmit_RefusesTheStaleOne",
		Patch: "--- a/samples/a/guard.go\n+++ b/samples/a/guard.go\n@@ -3,4 +3,4 @@\n // Admit refuses what is below the highest.\n func Admit(highest, token int) bool {\n-" + minus + "\n+" + plus + "\n }\n"}
}

func TestBreaks_PatchThatMakesItsTestFailIsFineAndLeavesTheFilesAlone(t *testing.T) {
	root, tree := module(t)
	before, err := tree.Read("samples/a/guard.go")
	require.NoError(t, err)
	findings, untried := prove.Breaks(t.Context(), root, tree, []book.Break{patch("\treturn token >= highest", "\treturn true")})
	require.Empty(t, findings)
	require.Empty(t, untried)
	after, err := os.ReadFile(filepath.Join(root, "samples/a/guard.go"))
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func TestBreaks_PatchFindsItsLinesWhereverTheyStandNow(t *testing.T) {
	root, tree := module(t)
	b := patch("\treturn token >= highest", "\treturn true")
	b.Patch = strings.Replace(b.Patch, "@@ -3,4 +3,4 @@", "@@ -93,4 +93,4 @@", 1)
	findings, untried := prove.Breaks(t.Context(), root, tree, []book.Break{b})
	require.Empty(t, findings)
	require.Empty(t, untried)
}

func TestBreaks_PatchThatDoesNotBreakTheTestIsAFinding(t *testing.T) {
	root, tree := module(t)
	for says, b := range map[string]book.Break{
		"still passes":             patch("\treturn token >= highest", "\treturn token > highest"),
		"does not even run":        patch("\treturn token >= highest", "\treturn tokn"),
		"does not fit":             patch("\treturn token > highest", "\treturn true"),
		"can't be read":            {Path: "articles/a.md", Line: 9, Col: 1, Dir: "samples/a", Test: "TestX", Patch: "--- a/samples/a/gone.go\n+++ b/samples/a/gone.go\n@@ -1,1 +1,1 @@\n-a\n+b\n"},
		"hunk 1 (@@ -3,4 +3,4 @@)": patch("\treturn token > highest", "\treturn true"),
		"no unified diff":          {Path: "articles/a.md", Line: 9, Col: 1, Dir: "samples/a", Test: "TestX", Patch: "--- a/x\n+++ b/x\n@@ -1,9 +1,1 @@\n-a\n+b\n"},
		"adds, removes":            {Path: "articles/a.md", Line: 9, Col: 1, Dir: "samples/a", Test: "TestX", Patch: "--- /dev/null\n+++ b/samples/a/new.go\n@@ -0,0 +1,1 @@\n+package a\n"},
		"changes no file":          {Path: "articles/a.md", Line: 9, Col: 1, Dir: "samples/a", Test: "TestX", Patch: "nothing\n"},
	} {
		findings, untried := prove.Breaks(t.Context(), root, tree, []book.Break{b})
		require.Empty(t, untried)
		require.Len(t, findings, 1, says)
		require.Contains(t, findings[0].String(), "articles/a.md:9:1: ")
		require.Contains(t, findings[0].Message, says)
		if runs := says == "still passes" || says == "does not even run"; !runs {
			require.Equal(t, findings, prove.Fit(tree, []book.Break{b}), "it is known without running anything")
		}
	}
}

func TestFit_PatchThatFitsIsFineWhateverItsTestSays(t *testing.T) {
	_, tree := module(t)
	require.Empty(t, prove.Fit(tree, []book.Break{patch("\treturn token >= highest", "\treturn tokn")}))
}

func TestFit_SaysWhichHunkDoesNotFit(t *testing.T) {
	_, tree := module(t)
	b := patch("\treturn token >= highest", "\treturn true")
	b.Patch += "@@ -8,1 +8,1 @@\n-gone\n+here\n"
	findings := prove.Fit(tree, []book.Break{b})
	require.Len(t, findings, 1)
	require.Equal(t, `articles/a.md:9:1: the patch does not fit samples/a/guard.go any more: `+
		`the lines of hunk 2 (@@ -8,1 +8,1 @@), which begin with "gone", stand there 0 times, not once`, findings[0].String())
}

func TestBreaks_ThatAreInterruptedAreNoFinding(t *testing.T) {
	root, tree := module(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	findings, untried := prove.Breaks(ctx, root, tree, []book.Break{patch("\treturn token >= highest", "\treturn token > highest")})
	require.Empty(t, findings)
	require.Empty(t, untried)
}

func TestBreaks_PatchWhoseTestIsSkippedIsUntried(t *testing.T) {
	root, tree := module(t)
	test := filepath.Join(root, "samples/a/guard_test.go")
	text, err := os.ReadFile(test)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(test, []byte(strings.Replace(string(text), "{\n\tif", "{\n\tt.Skip(\"no server\")\n\tif", 1)), 0o600))
	findings, untried := prove.Breaks(t.Context(), root, tree, []book.Break{patch("\treturn token >= highest", "\treturn true")})
	require.Empty(t, findings)
	require.Len(t, untried, 1)
	require.Equal(t, "articles/a.md:9:1: the test is skipped here: nobody knows whether the patch breaks TestAdmit_RefusesTheStaleOne", untried[0].String())
}
