package results_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/results"
)

// module is a small repository: a sample with a command below it, a package
// that both use, and one that nobody uses.
var module = map[string]string{
	"go.mod":           "module example.com/m\n\ngo 1.26\n\nrequire example.com/near v1.0.0\n\nreplace example.com/near => ./near\n",
	"near/go.mod":      "module example.com/near\n\ngo 1.26\n",
	"near/near.go":     "package near\n\nconst Two = 2\n",
	"relay/relay.go":   "package relay\n\nimport \"example.com/near\"\n\nfunc Two() int { return near.Two }\n",
	"relay/a_test.go":  "package relay\n",
	"unused/unused.go": "package unused\n",
	"s/x/doc.go":       "// Package x has an embedded file.\npackage x\n\nimport \"embed\"\n\n//go:embed \"schema.sql\" data\nvar files embed.FS\n",
	"s/x/schema.sql":   "SELECT 1;\n",
	"s/x/data/a.txt":   "a\n",
	"s/x/README.md":    "# x\n",
	"s/x/testdata/in":  "in\n",
	"s/x/x_test.go": `package x_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/m/relay"
)

func TestPasses(t *testing.T) {
	fmt.Print("no line end")
	t.Log("two is", relay.Two())
}

func TestFails(t *testing.T) {
	fmt.Println("--- PASS: TestOther (0.00s)")
	fmt.Println("PASS")
	t.Error("bad\nworse")
}

func TestSkips(t *testing.T) {
	t.Run("too", func(t *testing.T) { t.Log("not the reason"); t.SkipNow() })
	t.Skip("needs a server:\nset URL")
}

func TestSkipsSilently(t *testing.T) { t.SkipNow() }

func TestSubtests(t *testing.T) {
	t.Log("before")
	t.Run("one of two", func(t *testing.T) { t.Log("inside") })
	t.Run("a/b", func(t *testing.T) { t.Skip("not here") })
	t.Log("after")
}

func TestLong(t *testing.T) {
	fmt.Println("first")
	for i := range 3000 {
		fmt.Println("line", i, "é")
	}
	fmt.Println("last")
}

func TestOneLongLine(t *testing.T) { fmt.Println("x" + strings.Repeat("é", 20000)) }

func TestParallel1(t *testing.T) { parallel(t, "one") }
func TestParallel2(t *testing.T) { parallel(t, "two") }

var turns = map[string]chan bool{"one": make(chan bool, 1), "two": make(chan bool, 1)}

// parallel logs in turn with the other test, so that their events interleave.
func parallel(t *testing.T, name string) {
	t.Parallel()
	other := map[string]string{"one": "two", "two": "one"}[name]
	for i := range 3 {
		t.Log(name, i)
		turns[other] <- true
		<-turns[name]
	}
}

func Example() {
	fmt.Println("hello")
	// Output: hello
}
`,
	"s/x/cmd/tool/main.go": "package main\n\nfunc main() {}\n",
	"s/x/cmd/tool/main_test.go": `package main

import "testing"

func TestBegins(t *testing.T) { t.Parallel() }

func TestPanics(t *testing.T) { panic("boom") }

func TestComesAfter(t *testing.T) {}
`,
}

// recording is a results file of module, and what Record said meanwhile.
type recording struct{ file, progress, dir string }

// recordOnce runs the tests of module once for all tests here.
var recordOnce = sync.OnceValues(func() (recording, error) {
	dir, err := os.MkdirTemp("", "docgen-results-")
	if err != nil {
		return recording{}, err
	}
	defer os.RemoveAll(dir)
	for name, content := range module {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return recording{}, err
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			return recording{}, err
		}
	}
	var file, progress bytes.Buffer
	err = results.Record(background, dir, []string{"./s/..."}, &file, &progress)
	return recording{file.String(), progress.String(), dir}, err
})

func record(t *testing.T) recording {
	t.Helper()
	r, err := recordOnce()
	require.NoError(t, err)
	return r
}

func load(t *testing.T, file string) *results.Set {
	t.Helper()
	set, err := results.Load(strings.NewReader(file))
	require.NoError(t, err)
	return set
}
