package up_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/up"
)

// An entry wants a token in exchange for that of each user. A Source without Open has only the gateway's own token.
func TestExchangeNeedsASourceThatOpens(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "servers.json")
	os.WriteFile(file, []byte(`{"mcpServers": {"x": {"url": "https://example.invalid/mcp", "oauth": {"grant": "token-exchange", "clientId": "gateway", "clientSecret": "${SECRET}"}}}}`), 0o600)
	at := place.Place{Vars: []string{"SECRET=hush", "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home}, Dir: home}
	l := &launch.Launcher{Place: at, Locks: launch.Locks{Place: at}, Config: []string{file}}
	defer l.Close()
	c, err := l.Read()
	if err != nil || len(c.Entries) != 1 {
		t.Fatal(c.Entries, err, c.Set.Problems())
	}
	if _, err := (up.Source{Launcher: l}).Server(c.Entries[0]).Open(t.Context()); err == nil || !strings.Contains(err.Error(), "token-exchange") {
		t.Errorf("got %v", err)
	}
}
