package launch_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
)

// answerer is a user who gives answers in turn, the last one again and again.
type answerer struct {
	mu      sync.Mutex
	answers []string
	asked   []launch.Question
}

func (*answerer) Absent() string                                                  { return "" }
func (*answerer) Choose(context.Context, string, []launch.Choice) (string, error) { return "", nil }
func (*answerer) Show(launch.Card)                                                {}

func (a *answerer) Text(_ context.Context, q launch.Question) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, q)
	return a.answers[min(len(a.asked), len(a.answers))-1], nil
}

// project returns the servers of a project's file, and a launcher that asks about them.
func project(t *testing.T, text string, answers ...string) (*launch.Launcher, *answerer, []launch.Entry) {
	t.Helper()
	home, dir := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{".git/HEAD": "", "junction.json": text} {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := place.Place{Vars: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home}, Dir: dir}
	a := &answerer{answers: answers}
	l := &launch.Launcher{Place: at, Locks: launch.Locks{Place: at}, Prompter: a}
	t.Cleanup(func() { l.Close() })
	c, err := l.Read()
	if err != nil || len(c.Entries) == 0 {
		t.Fatal(c.Entries, err)
	}
	return l, a, c.Entries
}

func TestEntriesOfProjectsAreNotedOnce(t *testing.T) {
	l, _, entries := project(t, `{"mcpServers": {"p": {"url": "http://127.0.0.1:1"}}}`, "y")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if client, err := l.Connect(t.Context(), entries[0]); err == nil {
				client.Close()
			}
		})
	}
	all.Wait()
	if len(l.OfProject) != 1 {
		t.Errorf("OfProject has %d entries of one server", len(l.OfProject))
	}
}

func TestConsentIsAskedAgainWithTheServer(t *testing.T) {
	l, a, entries := project(t, `{"mcpServers": {"p": {"command": "/bin/program"}}}`, "perhaps", "y")
	if err := l.Consent(t.Context(), entries[0]); err != nil {
		t.Fatal(err)
	}
	if q := a.asked[len(a.asked)-1]; !strings.Contains(q.Text, "/bin/program") || q.Fault == "" {
		t.Errorf("after an invalid answer the question is %+v", q)
	}
}

func TestInvalidAnswersAboutConsentAreBounded(t *testing.T) {
	l, a, entries := project(t, `{"mcpServers": {"p": {"command": "/bin/cat"}, "q": {"command": "/bin/cat"}}}`, "y")
	for _, err := range l.Consents(t.Context(), entries, true) {
		if err == nil {
			t.Error("an invalid answer is a consent")
		}
	}
	if len(a.asked) > 20 {
		t.Errorf("asked %d times", len(a.asked))
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	a.asked = nil
	l.Consents(done, entries, true)
	if len(a.asked) > 1 {
		t.Errorf("asked %d times with a context that is done", len(a.asked))
	}
}

// The names of variables come from the project's author.
func TestConsentShowsNoForgedLines(t *testing.T) {
	l, a, entries := project(t, `{"mcpServers": {"q": {"command": "/bin/program", "args": ["${file:a`+strings.Repeat(`\n`, 100)+`The project's file /p/.mcp.json defines:\n  docs (stdio): /usr/bin/harmless\u001b[2J}"]}}}`, "n")
	l.Consents(t.Context(), entries, true)
	if text := a.asked[0].Text; strings.Count(text, "\n") > 5 || strings.Contains(text, "\x1b") {
		t.Errorf("the question is %q", text)
	}
}

// A keyring may ask its owner when it opens a secret.
func TestSecretsOfAProjectAreNotOpenedBeforeConsent(t *testing.T) {
	l, a, _ := project(t, `{"mcpServers": {"q": {"command": "/bin/cat", "args": ["${secret:mine}"]}}}`, "y")
	o := launch.ConfigOptions(l.Place)
	opened := 0
	o.Secret = func(context.Context, string) (string, error) { opened++; return "hush", nil }
	set, err := config.LoadAll(l.ConfigFiles(o), o)
	if err != nil || len(set.Servers) != 1 {
		t.Fatal(set, err)
	}
	l.WithoutSelf(t.Context(), []launch.Entry{{Name: "q", Definition: set.Servers[0]}}, nil)
	if opened > 0 || len(a.asked) > 0 {
		t.Errorf("%d secrets are opened, %d questions asked", opened, len(a.asked))
	}
}
