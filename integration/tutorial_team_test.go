package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The last file of docs/tutorial-team.md works with a certified OpenID provider: groups of the provider give roles, and a call waits
// for a lead. Only the addresses differ, which are those of this machine.
func TestTheTeamOfTheTutorialLogsInAtAProvider(t *testing.T) {
	t.Parallel()
	at, gateway, folder := freeAddress(t), freeAddress(t), t.TempDir()
	serving(t, append(nodeEnv(t), "GATEWAY=http://"+gateway+"/oauth/callback"), at, append(nodeScript(t, "oauth", "servers/oidc/provider.mjs"), at)...)
	if err := os.CopyFS(folder, os.DirFS(filepath.Join("..", "docs", "examples", "tutorial-team"))); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(folder, "with-provider.json")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Servers  map[string]struct{ Args []string } `json:"mcpServers"`
		Junction map[string]json.RawMessage         `json:"junction"`
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	servers := object{}
	for name, s := range file.Servers {
		servers[name] = object{"command": junction(t), "args": s.Args, "cwd": folder}
	}
	file.Junction["listen"] = json.RawMessage(`{"http": "` + gateway + `"}`)
	file.Junction["authorization"] = json.RawMessage(strings.Replace(string(file.Junction["authorization"]), "https://login.corp.example", "http://"+at+"/", 1))
	writeFile(t, config, encode(t, object{"mcpServers": servers, "junction": file.Junction}))
	writeFile(t, filepath.Join(folder, "provider.secret"), "the secret of the gateway\n")

	s := user(t, "http://"+gateway+"/mcp", "http://"+gateway, nil)
	s.run(t, "up", "--config", config, "--check")
	serving(t, s.env, gateway, s.program, "up", "--config", config)
	s.fails(t, "junction login "+s.url, "call", s.url, "notes__read_graph")
	s.run(t, "login", s.url)
	if out := s.run(t, "call", s.url, "notes__create_entities", `entities=[{"name":"tea","entityType":"drink","observations":[]}]`); !strings.Contains(out, "tea") {
		t.Errorf("the group eng has no role: %s", out)
	}
	deleted := make(chan string, 1)
	go func() {
		out, log, _ := tryRun(t, s.env, s.program, "call", s.url, "notes__delete_entities", `entityNames=["tea"]`)
		deleted <- out + log
	}()
	waiting := regexp.MustCompile(`(?m)^(\w+)  delete_entities of notes, by ada@corp\.example, until .*\n  waits for role leads: it deletes notes of the team$`)
	var call []string
	for deadline := time.Now().Add(20 * time.Second); call == nil && time.Now().Before(deadline); {
		call = waiting.FindStringSubmatch(s.run(t, "approvals", "list"))
	}
	if call == nil {
		t.Fatalf("no call waits; the call: %s", <-deleted)
	}
	s.run(t, "approvals", "approve", call[1])
	if out := <-deleted; out != "{\"changed\":1}\n" {
		t.Errorf("the approved call: %s", out)
	}
	if out := s.run(t, "audit", "query", filepath.Join(folder, "log"), "--tool", "delete_entities"); !strings.Contains(out, "principal ada@corp.example") || !strings.Contains(out, "role developers") {
		t.Errorf("the log: %s", out)
	}
}
