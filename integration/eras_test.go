package integration

import (
	"path/filepath"
	"strings"
	"testing"
)

// Tools of the Python libraries ask in a session only, though their servers know 2026-07-28. They ask through Junction, too.
func TestToolsThatAskInASessionOnly(t *testing.T) {
	t.Parallel()
	binary := junction(t)
	call := func(t *testing.T, revision string, target ...string) string {
		t.Helper()
		stdout, stderr, _ := tryRun(t, isolated(t), append([]string{binary, "call", "--elicit", `{"value":"bob"}`, "--revision", revision}, target...)...)
		return stdout + stderr
	}
	for _, library := range []string{"sdk", "fastmcp"} {
		server := []string{python(t, "python"), absolute(t, filepath.Join("servers", "python", "asks.py")), library}
		for way, to := range ways(t, server) {
			for _, revision := range []string{"2025-06-18", legacyNewest} {
				t.Run(library+" "+way+" "+revision, func(t *testing.T) {
					if got := call(t, revision, append([]string{to.prefix + "ask", "--"}, to.target[1:]...)...); !strings.Contains(got, "you are bob") {
						t.Errorf("got %s", got)
					}
				})
			}
		}
		for _, command := range []string{"up", "proxy"} {
			t.Run(library+" "+command, func(t *testing.T) {
				address, prefix := shared(t, command, server)
				address = "http://" + address + "/mcp"
				first := call(t, legacyNewest, address, prefix+"ask")
				if !strings.Contains(first, "repeat the call") {
					t.Errorf("the first call: %s", first)
				}
				for _, revision := range []string{"2025-06-18", legacyNewest, modern} {
					if got := call(t, revision, address, prefix+"ask"); !strings.Contains(got, "you are bob") {
						t.Errorf("%s: got %s", revision, got)
					}
				}
			})
		}
	}
}
