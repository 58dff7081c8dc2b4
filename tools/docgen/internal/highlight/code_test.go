package highlight_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/highlight"
)

func TestCode_LanguagesOfTheArticles(t *testing.T) {
	for code, want := range map[[2]string]string{
		{"sh", "# run\nfor i in 1; do echo \"$i\" > x; done\n"}: "<span class=\"c\"># run</span>\n<span class=\"k\">for</span> i in 1; <span class=\"k\">do</span> <span class=\"t\">echo</span> <span class=\"s\">\"</span>$i<span class=\"s\">\"</span> &gt; x; <span class=\"k\">done</span>\n",
		{"sql", "SELECT 'a', 42 -- b"}:                          `<span class="k">SELECT</span> <span class="s">'a'</span>, <span class="n">42</span> <span class="c">-- b</span>`,
		{"sql", "RETURNING x::timestamptz, $$a$$"}:              `<span class="k">RETURNING</span> x::<span class="t">timestamptz</span>, <span class="s">$$a$$</span>`,
		{"json", `{"a": [1, true, "s"]}`}:                       `{<span class="k">"a"</span>: [<span class="n">1</span>, <span class="t">true</span>, <span class="s">"s"</span>]}`,
		{"jsonl", `{"a": 1}`}:                                   `{<span class="k">"a"</span>: <span class="n">1</span>}`,
		{"yaml", "a: 1 # b\n"}:                                  "<span class=\"k\">a</span>: <span class=\"n\">1</span> <span class=\"c\"># b</span>\n",
		{"make", "test: dep\n\tgo test\n"}:                      "<span class=\"f\">test</span>: dep\n\tgo <span class=\"t\">test</span>\n",
		{"diff", "-old\n+new\n same\n"}:                         "<span class=\"d\">-old\n</span><span class=\"i\">+new\n</span> same\n",
		{"go", "return nil"}:                                    `<span class="k">return</span> <span class="t">nil</span>`,
		{"GoLang", "return nil"}:                                `<span class="k">return</span> <span class="t">nil</span>`,
		{"text", "for i in <a> & \"b\"\n"}:                      "for i in &lt;a&gt; &amp; \"b\"\n",
		{"", "for"}:                                             "for",
		{"go.mod", "module x"}:                                  "module x",
		{"no such language", "a < b"}:                           "a &lt; b",
	} {
		require.Equal(t, want, string(highlight.Code(code[0], code[1])), code)
	}
}

func TestCode_WhatALexerChangesIsNotColoured(t *testing.T) {
	for _, code := range []string{"if true; then\r\nexit 1; fi\n", "# \xff\nexit 1\n"} {
		require.Equal(t, code, string(highlight.Code("sh", code)))
	}
}

func TestCode_MarksLinesToo(t *testing.T) {
	const code = "SELECT 1; -- one\nSELECT 2;\n"
	checkHTML(t, code, highlight.Code("sql", code, 1), []int{1})
	checkHTML(t, code, highlight.Code("text", code, 2), []int{2})
}

func TestCode_MayBeCalledAtTheSameTime(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for _, lang := range []string{"toml", "lua", "proto", "nothing"} {
				if got := highlight.Code(lang, "a = 1\n"); !bytes.Contains(got, []byte("a")) {
					t.Errorf("%s: %s", lang, got)
				}
			}
		})
	}
	wg.Wait()
}

func TestClasses_AreThoseThatAreUsed(t *testing.T) {
	var html []byte
	html = append(html, highlight.Go([]byte("func f() { f(nil, \"s\", 1) } // c"), nil)...)
	html = append(html, highlight.Code("diff", "-a\n+b\n")...)
	used := map[string]bool{}
	for _, tag := range tags.FindAllString(string(html), -1) {
		if len(tag) == len(`<span class="k">`) {
			used[tag[len(`<span class="`):len(tag)-2]] = true
		}
	}
	listed := map[string]bool{}
	for _, class := range highlight.Classes {
		listed[class] = true
	}
	require.Equal(t, listed, used)
}

func FuzzCode_TheTextIsTheCode(f *testing.F) {
	for _, lang := range []string{"sh", "sql", "json", "yaml", "make", "diff", "toml", "lua", "docker", "html", "console", "markdown", "text"} {
		f.Add(lang, "a: \"b $(c\nd' -- # x\r\n\t<&>\xff`{", 1)
	}
	f.Fuzz(func(t *testing.T, lang, code string, marked int) {
		checkHTML(t, code, highlight.Code(lang, code, marked), []int{marked})
	})
}
