package site_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/relay-samples/relay-go/tools/docgen/internal/site"
)

func BenchmarkBuild_FiftyArticles(b *testing.B) {
	bk := longBook(b, ourShape(50), newVocabulary(12000))
	for b.Loop() {
		_, err := site.New(options(b, address)).Build(bk)
		require.NoError(b, err)
	}
}

func BenchmarkBuild_AgainAfterOneEditInServe(b *testing.B) {
	bk := longBook(b, ourShape(50), newVocabulary(12000))
	o := options(b, address)
	o.Live = true
	builder := site.New(o)
	for b.Loop() {
		edited := *bk.Articles[20]
		bk.Articles[20] = &edited
		_, err := builder.Build(bk)
		require.NoError(b, err)
	}
}
