package hostconfig

import (
	"path/filepath"
	"testing"
)

// Users copy a remedy to their shell, and others may have named the folder.
func TestTheRemedyIsOneCommand(t *testing.T) {
	if filepath.Separator == '\\' {
		t.Skip("the shell is another one")
	}
	for path, want := range map[string]string{
		"/home/a/mcp.json":            "junction host disconnect --file /home/a/mcp.json",
		"/home/a b/mcp.json":          "junction host disconnect --file '/home/a b/mcp.json'",
		"/tmp/x; touch it's/mcp.json": `junction host disconnect --file '/tmp/x; touch it'\''s/mcp.json'`,
		`/tmp/a\b/mcp.json`:           `junction host disconnect --file '/tmp/a\b/mcp.json'`,
	} {
		if got := (&Record{Path: path, Connected: true}).Remedy(); got != want {
			t.Errorf("%s: got %s", path, got)
		}
	}
}
