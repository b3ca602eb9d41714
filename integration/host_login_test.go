package integration

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/formfill"
)

// Codex logs in at `junction up --auth local` with its own command, and then calls tools there with its token. It publishes a
// document about itself on the internet, which there is none of here, so that it has to register.
func TestCodexLogsInAtUp(t *testing.T) {
	junction(t)
	npm(t, "hosts")
	npm(t, "servers")
	if !withoutNetwork(t) {
		return
	}
	home := t.TempDir()
	config, notes, _ := behindHosts(t)
	writeFile(t, filepath.Join(filepath.Dir(config), "junction.json"), encode(t, object{"junction": object{"authorization": object{"registeredOnly": true}}}))
	add := exec.Command(junction(t), "user", "add", "ann")
	add.Env, add.Stdin = homeEnv(home), strings.NewReader(loginPassword+"\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	entry := entryFor(t, home, "http", config, "--auth", "local")
	model := newHostModel(t, hostCall{"notes__keep", given(object{"text": "logged in", "times": 1})})
	codexHost := realHosts[slices.IndexFunc(realHosts, func(h realHost) bool { return h.name == "Codex" })]

	argv, env := codex(t, home, model.url, entry, nil, "") // which writes its configuration
	lines, log := start(t, append(env, homeEnv(home)...), argv[0], "mcp", "login", "junction")
	within := time.After(time.Minute)
	for ended := false; !ended; {
		select {
		case line, ok := <-lines:
			if ended = !ok; strings.HasPrefix(line, "http://127.0.0.1:") {
				browser := formfill.New(map[string]string{"username": "ann", "password": loginPassword, "decision": "allow"}, nil)
				if at, err := browser.Visit(t.Context(), line, nil); err != nil {
					t.Fatalf("the login ended at %s: %v", at, err)
				}
			}
		case <-within:
			t.Fatalf("codex mcp login does not end: %s", log)
		}
	}
	codexHost.ask(t, home, model, entry, []string{"notes__keep"}, "Keep a note.")
	if kept := notes.all(); !slices.Equal(kept, []string{"logged in × 1"}) {
		t.Errorf("the server was called with %q; codex said: %s", kept, log)
	}
}
