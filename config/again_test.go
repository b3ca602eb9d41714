package config

import "testing"

// TestCrush3312VariablesAreReadAgainForEachConnection covers charmbracelet/crush#3312: a server got
// a new value of a variable only after a restart of the host. Definitions are resolved again for
// each connection.
func TestCrush3312VariablesAreReadAgainForEachConnection(t *testing.T) {
	value := "first"
	f, err := Parse("/home/ada/app/.mcp.json", []byte(`{"mcpServers":{"s":{"command":"serve","args":["${TOKEN}"]}}}`), Options{
		WorkDir: "/home/ada/app", HomeDir: "/home/ada",
		Getenv: func(name string) (string, bool) { return value, name == "TOKEN" },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"first", "second"} {
		value = want
		if s := resolve(t, f, "s"); len(s.Args) != 1 || s.Args[0] != want {
			t.Errorf("got %q, want %q", s.Args, want)
		}
	}
}

func resolve(t *testing.T, f *File, name string) *Server {
	t.Helper()
	d, ok := f.Server(name)
	if !ok {
		t.Fatalf("no server %q; problems: %v", name, f.Problems)
	}
	s, err := d.Resolve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.definition, s.hash = nil, ""
	return s
}
