package launch

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/place"
)

// An entry may name another folder or PATH, whose program of the same name is not this one.
func TestOnlyThisProgramStartsUp(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, base := filepath.Split(self)
	p := place.Place{Dir: dir, Vars: []string{"PATH=" + dir}}
	for _, test := range []struct {
		why    string
		server config.Server
		want   bool
	}{
		{"an absolute path", config.Server{Command: self, Args: []string{"up"}}, true},
		{"an absolute path with a PATH", config.Server{Command: self, Args: []string{"up"}, Env: map[string]string{"PATH": "/elsewhere"}}, true},
		{"a name", config.Server{Command: base, Args: []string{"up"}}, true},
		{"another command", config.Server{Command: self, Args: []string{"proxy", "up"}}, false},
		{"a name in the PATH of the entry", config.Server{Command: base, Args: []string{"up"}, Env: map[string]string{"PATH": "/elsewhere"}}, false},
		{"a path in the folder of the entry", config.Server{Command: "./" + base, Args: []string{"up"}, Dir: "/elsewhere"}, false},
	} {
		target := &Target{Server: &test.server, By: &Transport{IsProgram: true}}
		if got := target.StartsUp(p); got != test.want {
			t.Errorf("%s: got %t", test.why, got)
		}
	}
}
