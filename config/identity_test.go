//go:build unix

package config

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestHashesOfUnstatedVariables(t *testing.T) {
	o := Options{WorkDir: t.TempDir(), HomeDir: t.TempDir(), Getenv: variables(map[string]string{"TOKEN": "x"})}
	for server, plain := range map[string]bool{
		`{"command":"npx","args":["-y","a b","${TOKEN}"]}`:            true,
		`{"command":"/bin/run"}`:                                      true,
		`{"url":"https://example.com/mcp"}`:                           true,
		`{"command":"npx","args":["${TOKEN:-a}"]}`:                    false,
		`{"command":"npx","args":["(hash","0)"]}`:                     false,
		`{"command":"npx","args":["--token","sesame"]}`:               false,
		`{"command":"npx","env":{}}`:                                  true,
		`{"command":"npx","env":{"A":"${TOKEN}"}}`:                    false,
		`{"command":"npx","cwd":"/a"}`:                                false,
		`{"command":"bin/run"}`:                                       false,
		`{"command":"npx","url":"https://example.com","type":"http"}`: false,
		`{"url":"https://a:b@example.com/mcp"}`:                       false,
	} {
		d := parse(t, "servers.json", `{"mcpServers":{"a":`+server+`}}`, o).Servers[0]
		if hash := d.Hash(); (hash == "") != plain || hash != d.Hash() {
			t.Errorf("%s: the hash is %q", server, hash)
		}
		s, err := d.Resolve(t.Context())
		if err != nil || s.Hash() != d.Hash() {
			t.Errorf("%s: resolved it is %q, %v", server, s.Hash(), err)
		}
	}
}

// TestAHashAsksForNothing checks that a hash asks for no inputs, but uses known ones.
func TestAHashAsksForNothing(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "a.env"), []byte("A=1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := 0
	o := Options{WorkDir: t.TempDir(), HomeDir: home, Input: func(context.Context, Input) (string, error) {
		asked++
		return "a.env", nil
	}}
	d := parse(t, "servers.json", `{"mcpServers":{"a":{"command":"npx","envFile":"${input:file}"}},"inputs":[{"id":"file","type":"promptString"}]}`, o).Servers[0]
	unanswered := d.Hash()
	if asked != 0 {
		t.Fatal("the person was asked")
	}
	s, err := d.Resolve(t.Context())
	if err != nil || s.Hash() == unanswered || d.Hash() != s.Hash() || asked != 1 {
		t.Errorf("%q, answered %q, resolved %q, %v; asked %d times", unanswered, d.Hash(), s.Hash(), err, asked)
	}
}
