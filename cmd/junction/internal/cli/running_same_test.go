package cli_test

import (
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/launch"
)

func definedEntry(t *testing.T, text string) launch.Entry {
	t.Helper()
	f, err := config.Parse("/home/me/junction.json", []byte(text), config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range f.Servers {
		d := f.Servers[i]
		return launch.Entry{Name: d.Name, Definition: d}
	}
	t.Fatal("no server")
	return launch.Entry{}
}

// Where nothing is proved, what variables stand for may be another thing there.
func TestServerWithVariablesIsNotSharedUnproved(t *testing.T) {
	for args, want := range map[string]bool{`"--token","${TOKEN}"`: false, `"${TOKEN:-x}"`: false, `"${input:token}"`: false, `"plain"`: true} {
		e := definedEntry(t, `{"mcpServers":{"db":{"command":"dbserver","args":[`+args+`]}}}`)
		set := cli.RunningSet{{In: &cli.Instance{Shares: true}, Status: cli.ServerStatus{Name: "db", Source: e.Source(), Origin: e.CommandText(), State: "connected"}}}
		if r := set.Find(e); r == nil || r.IsShared(e) != want {
			t.Errorf("%s: it is there: %t, and shared: %t", args, r != nil, !want)
		}
	}
}

// A command must not use a server that runs with another account or program environment than its file has now.
func TestServerDefinedInAnotherWayIsNotShared(t *testing.T) {
	for _, pair := range [][2]string{
		{`{"mcpServers":{"db":{"command":"dbserver","env":{"DATABASE_URL":"postgres://production"}}}}`, `{"mcpServers":{"db":{"command":"dbserver","env":{"DATABASE_URL":"postgres://test"}}}}`},
		{`{"mcpServers":{"db":{"url":"https://db.example/mcp","headers":{"Authorization":"Bearer production"}}}}`, `{"mcpServers":{"db":{"url":"https://db.example/mcp","headers":{"Authorization":"Bearer test"}}}}`},
		{`{"mcpServers":{"db":{"command":"dbserver","args":["--token","production"]}}}`, `{"mcpServers":{"db":{"command":"dbserver","args":["--token","test"]}}}`},
	} {
		runs, now := definedEntry(t, pair[0]), definedEntry(t, pair[1])
		set := cli.RunningSet{{In: &cli.Instance{Shares: true}, Status: cli.ServerStatus{Name: "db", Source: runs.Source(), Origin: runs.CommandText(), State: "connected"}}}
		if runs.Definition.Hash() == now.Definition.Hash() {
			t.Fatal("the hashes are the same")
		}
		if r := set.Find(now); r != nil && r.IsShared(now) {
			t.Errorf("defined as %s; the one that runs as %s is used (both are shown as %q)", pair[1], pair[0], now.CommandText())
		}
	}
}
