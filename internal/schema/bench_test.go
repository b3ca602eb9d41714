package schema

import (
	"reflect"
	"testing"
)

func BenchmarkValidateTypedArguments(b *testing.B) {
	v := validatorFor[struct {
		City string `json:"city" min:"1"`
		Days int    `json:"days,omitempty" min:"1" max:"14"`
	}](b)
	raw := []byte(`{"city":"Oslo","days":3}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := v.Validate(raw); err != nil {
			b.Fatal(err)
		}
	}
}

// searchArguments is a typical call of a search tool by a model.
const searchArguments = `{"query":"is:open label:bug panic in \"streamable\" transport","repo":"acme/widgets",` +
	`"labels":["bug","p1","transport"],"limit":25,"score":0.75,"filters":[{"field":"created","op":">=","value":"2026-01-01"},` +
	`{"field":"author","op":"=","value":"octocat"}],"deep":true,"meta":{"trace":"4bf92f3577b34da6a3ce929d0e0e4736","lang":"en"}}`

type searchIn struct {
	Query   string            `json:"query" min:"1"`
	Repo    string            `json:"repo,omitempty"`
	Labels  []string          `json:"labels,omitempty"`
	Limit   int               `json:"limit,omitempty" min:"1" max:"100"`
	Score   float64           `json:"score,omitempty"`
	Filters []filter          `json:"filters,omitempty"`
	Deep    bool              `json:"deep,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`
}

type filter struct {
	Field string `json:"field"`
	Op    string `json:"op" enum:"=,>=,<="`
	Value string `json:"value"`
}

func BenchmarkValidateSearchArguments(b *testing.B) {
	fast := validatorFor[searchIn](b)
	schema, err := For(reflect.TypeFor[searchIn](), Options{})
	if err != nil {
		b.Fatal(err)
	}
	l, err := compileForLibrary(schema, draft2020)
	if err != nil {
		b.Fatal(err)
	}
	for name, v := range map[string]*Validator{"fast": fast, "library": {root: fast.root, library: l}} {
		b.Run(name, func(b *testing.B) {
			raw := []byte(searchArguments)
			b.ReportAllocs()
			for b.Loop() {
				if err := v.Validate(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeSearchArguments(b *testing.B) {
	raw := []byte(searchArguments)
	b.ReportAllocs()
	for b.Loop() {
		var in searchIn
		if err := Decode(raw, &in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	schema, err := For(reflect.TypeFor[searchIn](), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(schema); err != nil {
			b.Fatal(err)
		}
	}
}
