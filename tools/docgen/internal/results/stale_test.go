package results_test

import (
	"bytes"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/repotest"
	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

func TestStale_ResultsBelongToTheSourcesTheyRanWith(t *testing.T) {
	set := load(t, record(t).file)
	x := func(why string) results.Stale { return results.Stale{Dir: "s/x", Why: why, Line: 1} }
	tool := func(why string) results.Stale { return results.Stale{Dir: "s/x/cmd/tool", Why: why, Line: 1} }
	for name, test := range map[string]struct {
		file, content string
		want          []results.Stale
	}{
		"nothing":                            {},
		"a file of a package that it uses":   {"relay/relay.go", "package relay\n\nfunc Two() int { return 3 }\n", []results.Stale{x("relay has changed")}},
		"a module in the repository":         {"near/near.go", "package near\n\nconst Two = 3\n", []results.Stale{x("near has changed")}},
		"a file added there":                 {"relay/new.go", "package relay\n", []results.Stale{x("relay has changed")}},
		"a file removed there":               {"relay/a_test.go", "", []results.Stale{x("relay has changed")}},
		"its own test":                       {"s/x/x_test.go", "package x_test\n", []results.Stale{x("s/x has changed")}},
		"its test data":                      {"s/x/testdata/in", "other\n", []results.Stale{x("s/x has changed")}},
		"an embedded file":                   {"s/x/schema.sql", "SELECT 2;\n", []results.Stale{x("s/x has changed")}},
		"a file added to an embedded folder": {"s/x/data/b.txt", "b\n", []results.Stale{x("s/x has changed")}},
		"the module":                         {"go.sum", "x\n", []results.Stale{x("go.mod has changed"), tool("go.mod has changed")}},
		"a package that only its child has":  {"s/x/cmd/tool/main.go", "package main\n\nfunc main() { println() }\n", []results.Stale{tool("s/x/cmd/tool has changed")}},
		"a package that nobody uses":         {"unused/unused.go", "package unused // changed\n", nil},
		"a README":                           {"s/x/README.md", "# changed\n", nil},
		"line ends":                          {"relay/relay.go", strings.ReplaceAll(module["relay/relay.go"], "\n", "\r\n"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(module)
			delete(files, test.file)
			if test.content != "" {
				files[test.file] = test.content
			}
			require.Equal(t, test.want, set.Stale(repotest.Open(t, repotest.New(t, files))))
		})
	}

	t.Run("a folder that is gone", func(t *testing.T) {
		dir := repotest.New(t, module)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "relay")))
		require.Equal(t, []results.Stale{x("relay is gone")}, set.Stale(repotest.Open(t, dir)))
	})
}

func TestStale_ByteThatMovesBetweenFilesOrAFileThatIsRenamedIsAChange(t *testing.T) {
	with := func(data map[string]string) string {
		files := map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "p/p.go": "package p\n"}
		maps.Copy(files, data)
		return repotest.New(t, files)
	}
	// The content goes on as the next file would: its name, then its content.
	recorded := with(map[string]string{"p/testdata/a": "1p/testdata/b2"})
	var file bytes.Buffer
	require.NoError(t, results.Record(t.Context(), recorded, []string{"./p"}, &file, io.Discard))
	set := load(t, file.String())

	require.Empty(t, set.Stale(repotest.Open(t, recorded)))
	changed := []results.Stale{{Dir: "p", Why: "p has changed", Line: 1}}
	require.Equal(t, changed, set.Stale(repotest.Open(t, with(map[string]string{"p/testdata/a": "1", "p/testdata/b": "2"}))))
	require.Equal(t, changed, set.Stale(repotest.Open(t, with(map[string]string{"p/testdata/c": "1p/testdata/b2"}))))
}
