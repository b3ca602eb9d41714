package reach_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
)

func TestTheMembersOfAnEntryAreThoseThatAreRead(t *testing.T) {
	for _, name := range config.EntryMembers() {
		member := fmt.Sprintf("%q:null", name)
		if of, inner, is := strings.Cut(name, "."); is {
			member = fmt.Sprintf("%q:{%q:null}", of, inner)
		}
		file, err := config.Parse("mcp.json", []byte(`{"mcpServers":{"x":{"command":"a",`+member+`}}}`), config.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range file.Warnings {
			t.Errorf("%v", w)
		}
	}
	for field, want := range map[string]string{"comand": "command", "cmd": "command", "evn": "env", "agrs": "args", "environment": "env", "Environment": "env", "arguments": "args", "workingDirectory": "cwd", "endpoint": "url", "oauth.environment": "", "start_timeout": "startTimeout", "uri": "url", "oauth.ClientID": "clientId", "oauth.client_id": "clientId", "tls.CA": "ca", "oauth.command": "", "autoApprove": "", "description": "", "name": "", "args": ""} {
		if got := reach.SuggestMember(&config.Problem{Field: field}); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}
