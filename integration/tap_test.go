package integration

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Real hosts, whose model is scripted, are tapped while they run: they call tools of a real server and of one at an address
// that wants a header, what they say is recorded, and their configuration is put back.
func TestTappedHostsAreRecordedAndPutBack(t *testing.T) {
	t.Parallel()
	junction(t)
	npm(t, "hosts")
	npm(t, "servers")
	if !withoutNetwork(t) {
		return
	}
	for _, host := range realHosts {
		t.Run(host.name, func(t *testing.T) {
			home, work := t.TempDir(), t.TempDir()
			notes, file := newNotes(t), filepath.Join(t.TempDir(), "memory.jsonl")
			memory := npmServer("@modelcontextprotocol/server-memory/dist/index.js")(t)
			model := newHostModel(t,
				hostCall{"notes__keep", given(object{"text": "tapped", "times": 2})},
				hostCall{"memory__create_entities", given(object{"entities": []object{{"name": "Ada", "entityType": "person", "observations": []string{"met " + host.name}}}})},
			)
			argv, env := host.command(t, home, model.url, object{}, nil, "Keep a note, and remember Ada.")
			path, content := tapConfiguration(t, host.name, home, work, notes.url, memory, file)
			if host.name == "Claude Code" { // its servers are those of the project, which the person allowed
				argv = append(slices.Clone(argv[:3]), "--mcp-config", path, "--strict-mcp-config", "--allowedTools", "mcp__notes__keep,mcp__memory__create_entities", "--output-format", "json")
			}
			said := filepath.Join(t.TempDir(), "said")
			command := append([]string{program(t, "env"), "-C", work, junction(t), "tap", map[string]string{"Claude Code": "claude-code", "Codex": "codex"}[host.name], "--record", said, "--"}, argv...)
			stdout, stderr, err := tryRun(t, append(env, homeEnv(home)...), command...)
			if err != nil {
				t.Errorf("%v\nstdout: %.3000s\nstderr: %.3000s", err, stdout, stderr)
			}
			model.seen(t) // or says what was not as it should be
			if answer := host.answer(t, stdout); !strings.Contains(answer, "Ada") {
				t.Errorf("the host answered %q", answer)
			}
			if kept := notes.all(); !slices.Equal(kept, []string{"tapped × 2"}) {
				t.Errorf("the server was called with %q", kept)
			}
			if entities, err := os.ReadFile(file); err != nil || !strings.Contains(string(entities), "met "+host.name) {
				t.Errorf("the real server keeps %q, %v", entities, err)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != content {
				t.Errorf("the configuration is now %q, %v; it was %q", now, err, content)
			}
			recordedCall(t, said, "notes", "keep", `"tapped"`, "note 1 is kept")
			recordedCall(t, said, "memory", "create_entities", "met "+host.name, "Ada")
		})
	}
}

// tapConfiguration is a host's own file with two servers.
func tapConfiguration(t *testing.T, host, home, work, url string, memory []string, file string) (path, content string) {
	if host == "Codex" {
		path = filepath.Join(home, ".codex", "config.toml")
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		general, _, _ := strings.Cut(string(before), "[mcp_servers.junction]")
		content = general + "# what I use\n[mcp_servers.memory]\nargs = " + encode(t, memory[1:]) + " # of npm\ncommand = " + encode(t, memory[0]) +
			"\ntools.create_entities.approval_mode = \"approve\"\n[mcp_servers.memory.env]\nMEMORY_FILE_PATH = " + encode(t, file) +
			"\n\n[mcp_servers.notes]\nurl = " + encode(t, url) + "\nhttp_headers = { \"X-Whose\" = \"mine\" }\ntools.keep.approval_mode = \"approve\"\n"
	} else {
		path = filepath.Join(work, ".mcp.json")
		content = `{"mcpServers": {
	"notes" : {"type": "http", "url": ` + encode(t, url) + `, "headers": {"X-Whose": "mine"}},
	"memory": {"env": {"MEMORY_FILE_PATH": ` + encode(t, file) + `}, "command": ` + encode(t, memory[0]) + `, "args": ` + encode(t, memory[1:]) + `}
}}`
	}
	writeFile(t, path, content)
	return path, content
}

// recordedCall expects a call of a tool and its result in the recording of a server.
func recordedCall(t *testing.T, folder, server, tool string, words ...string) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(folder, server+"-*.jsonl"))
	if len(found) == 0 {
		t.Errorf("%s is not recorded", server)
		return
	}
	all := ""
	for _, path := range found { // hosts may start a server more than once
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all += string(data)
	}
	called := false
	for line := range strings.Lines(all) {
		var event struct {
			Event, Method, Server string
			Params                struct{ Name string }
		}
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatal(err)
		}
		called = called || event.Event == "request" && event.Method == "tools/call" && event.Server == server && event.Params.Name == tool
	}
	if !called {
		t.Errorf("the call is not in the recording:\n%.3000s", all)
	}
	for _, word := range words {
		if !strings.Contains(all, word) {
			t.Errorf("%q is not in the recording:\n%.3000s", word, all)
		}
	}
}
