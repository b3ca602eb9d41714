package integration

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// hostLogins are how the hosts log in at junction, in a home, by name: each has a command for that. It reads the host's own
// configuration.
var hostLogins = map[string]func(t *testing.T, home, model string, entry object){
	"Claude Code": func(t *testing.T, home, model string, entry object) {
		argv, env := claudeCode(t, home, model, entry, nil, "")
		env = append(env, homeEnv(home)...)
		run(t, env, argv[0], "mcp", "add", "--scope", "user", "--transport", "http", "junction", entry["url"].(string))
		// It says nothing without a terminal.
		s := newScreen(t, env, home, argv[0], "mcp", "login", "junction", "--no-browser")
		annLogsIn(t, pageIn(t, func() string { return s.do("capture-pane", "-p", "-J") })) // lines as they are, not as they are wrapped
		if code := s.ended(); code != 0 {
			t.Fatalf("claude mcp login: exit code %d: %s", code, s.shown())
		}
	},
	"Codex": func(t *testing.T, home, model string, entry object) {
		argv, env := codex(t, home, model, entry, nil, "") // which writes its configuration
		lines, log := start(t, append(env, homeEnv(home)...), argv[0], "mcp", "login", "junction")
		within := time.After(time.Minute)
		for {
			select {
			case line, ok := <-lines:
				if !ok {
					return
				}
				if strings.HasPrefix(line, "http://127.0.0.1:") {
					annLogsIn(t, line)
				}
			case <-within:
				t.Fatalf("codex mcp login does not end: %s", log)
			}
		}
	},
}

// Hosts log in at `junction up --auth local` with their own command, and then call tools there. Their access token ends while
// they run, and again before they are started once more: nobody logs in a second time. They publish documents about themselves on
// the internet, which there is none of here, so that they have to register.
func TestRealHostsLogInAtUp(t *testing.T) {
	t.Parallel()
	junction(t)
	npm(t, "hosts")
	npm(t, "servers")
	program(t, "tmux")
	if !withoutNetwork(t) {
		return
	}
	for _, host := range realHosts {
		t.Run(host.name, func(t *testing.T) {
			home := t.TempDir()
			config, notes, _ := behindHosts(t)
			setAuthorization(t, config, object{"registeredOnly": true, "tokenTime": shortTime.String()})
			addAnn(t, homeEnv(home))
			entry := entryFor(t, home, "http", config, "--auth", "local")
			model := newHostModel(t,
				hostCall{"notes__keep", given(object{"text": "logged in", "times": 1})},
				hostCall{"notes__keep", func([]string) any {
					time.Sleep(shortEnd)
					return object{"text": "still in", "times": 2}
				}},
			)
			hostLogins[host.name](t, home, model.url, entry)
			for range 2 {
				time.Sleep(shortEnd)
				host.ask(t, home, model, entry, []string{"notes__keep"}, "Keep two notes.")
			}
			model.seen(t) // or says what was not as it should be
			if kept := notes.all(); !slices.Equal(kept, []string{"logged in × 1", "still in × 2", "logged in × 1", "still in × 2"}) {
				t.Errorf("the server was called with %q", kept)
			}
		})
	}
}
