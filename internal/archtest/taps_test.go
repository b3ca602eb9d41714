package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"testing"
)

// peers maps the types outside packages event and mcp that may embed an mcp.Peer to the reason.
var peers = map[string]string{
	"cmd/junction/internal/cli.boundPeer": "its clock stands while the user is asked, whether an answer comes or not",
	"launch.unmarkedPeer":                 "it takes a mark out of what a subscription sends of tasks",
	"gateway.breakerPeer":                 "it learns that a server is alive on the way of every request, which a step for each message would make slower",
	"gateway/eras.resumedPeer":            "it changes what a subscription that goes on sends",
	"host.attributed":                     "it decides what a server may ask in a call",
}

func TestHandlersAreObservedInOnePlace(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.isTest || !s.inModule() || below(s.path, "event") || below(s.path, "mcp") {
			continue
		}
		for _, name := range embedders(s.file) {
			name = s.dir() + "." + name
			if found[name] = true; peers[name] == "" {
				t.Errorf("%s: %s embeds mcp.Peer: to see what is sent and asked, be an event.Sink", s.path, name)
			}
		}
		if below(s.path, "traffic") {
			continue
		}
		for _, name := range wires(s.file) {
			t.Errorf("%s: %s is an mcp.Wire: to see messages, use a traffic.Log (See, Join or Watch)", s.path, name)
		}
	}
	for name := range peers {
		if !found[name] {
			t.Errorf("%s does not embed mcp.Peer any more: take it off the list", name)
		}
	}
}

// A wrapper of a transport's Peer that does not return it hides its additional methods.
func TestPeersThatAreWrappedAreFound(t *testing.T) {
	methods := map[string]bool{}
	all := slices.DeleteFunc(slices.Clone(sources(t)), func(s *source) bool { return s.isTest || !s.inModule() })
	for _, s := range all {
		for _, d := range s.file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv != nil && f.Name.Name == "Unwrap" {
				methods[s.dir()+"."+receiver(f)] = true
			}
		}
	}
	for _, s := range all {
		for _, name := range embedders(s.file) {
			if !methods[s.dir()+"."+name] {
				t.Errorf("%s: %s embeds a Peer and has no method Unwrap, so that mcp.PeerAs does not find what that can do", s.path, name)
			}
		}
	}
}

// embedders returns the structs of a file that embed an mcp.Peer.
func embedders(file *ast.File) (all []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.TypeSpec)
		if !is {
			return true
		}
		if s, is := spec.Type.(*ast.StructType); is && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool { return len(f.Names) == 0 && isOfMCP(f.Type, "Peer") }) {
			all = append(all, spec.Name.Name)
		}
		return true
	})
	return all
}

// wires returns the types of a file that implement mcp.Wire: those with a method Passes that takes
// an mcp.WireMessage.
func wires(file *ast.File) (all []string) {
	for _, d := range file.Decls {
		f, is := d.(*ast.FuncDecl)
		if is && f.Recv != nil && f.Name.Name == "Passes" && slices.ContainsFunc(f.Type.Params.List, func(p *ast.Field) bool { return isOfMCP(p.Type, "WireMessage") }) {
			all = append(all, receiver(f))
		}
	}
	return all
}

// isOfMCP reports whether an expression is the named type of package mcp.
func isOfMCP(e ast.Expr, name string) bool {
	if x, is := e.(*ast.Ident); is && x.Name == name { // in the package itself
		return true
	}
	s, is := e.(*ast.SelectorExpr)
	if !is || s.Sel.Name != name {
		return false
	}
	x, is := s.X.(*ast.Ident)
	return is && x.Name == "mcp"
}

func TestTapsAreFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package p
type (
	embeds struct { n int; mcp.Peer }
	holds  struct { peer mcp.Peer }
	other  struct { mcp.Conn }
)
func (*wire) Passes(ctx context.Context, m mcp.WireMessage) context.Context { return ctx }
func (none) Passes(err error) bool { return false }
func Passes(m mcp.WireMessage) {}
`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := embedders(file), []string{"embeds"}; !slices.Equal(got, want) {
		t.Errorf("embed a Peer: %q, want %q", got, want)
	}
	if got, want := wires(file), []string{"wire"}; !slices.Equal(got, want) {
		t.Errorf("are a Wire: %q, want %q", got, want)
	}
}
