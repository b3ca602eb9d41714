package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// transportTables may choose by the transport of a server.
var transportTables = []string{"config", "launch/transports.go"}

// isServerKind reports whether an expression is one of the constants of config.Kind.
func isServerKind(e ast.Expr) bool {
	selector, is := e.(*ast.SelectorExpr)
	return is && name(selector.X) == "config" && slices.Contains([]string{"Stdio", "HTTP", "SSE", "Auto"}, selector.Sel.Name)
}

func TestOnlyTheTableChoosesByTransport(t *testing.T) {
	for _, s := range sources(t) {
		if s.isTest || !s.inModule() || slices.ContainsFunc(transportTables, func(table string) bool { return below(s.path, table) }) {
			continue
		}
		for _, at := range choices(s.file, isServerKind) {
			t.Errorf("%s: a choice by how a server is reached: give launch.Transport a field that tells the difference", files.Position(at))
		}
	}
}

func TestChoicesByTransportAreFound(t *testing.T) {
	for text, want := range map[string]int{
		`package p; var _ = s.Kind != config.Stdio`:                          1,
		`package p; func f() { switch k { case config.SSE, config.HTTP: } }`: 1,
		`package p; var _ = map[config.Kind]int{config.Auto: 1}`:             1,
		`package p; var _ = config.Server{Kind: config.HTTP}`:                0,
		`package p; var _ = s.Kind != other.Stdio`:                           0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := choices(file, isServerKind); len(got) != want {
			t.Errorf("%s: found %d, want %d", text, len(got), want)
		}
	}
}
