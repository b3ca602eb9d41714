package up_test

import (
	"context"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/servers/everything"
	"github.com/junction-mcp/junction/up"
)

// A typing user gives an answer to each question.
type typing struct {
	answer string
	asked  []string
}

func (u *typing) Absent() string { return "" }

func (u *typing) Choose(context.Context, string, []launch.Choice) (string, error) { return "", nil }

func (u *typing) Text(_ context.Context, q launch.Question) (string, error) {
	u.asked = append(u.asked, q.Text)
	return u.answer, nil
}

func (u *typing) Show(launch.Card) {}

func TestAPlanOfFilesServesAProjectsServersWithConsentOnly(t *testing.T) {
	server := httptest.NewServer(streamable.Handler(everything.New()))
	defer server.Close()
	home, project := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{".git/HEAD": "", ".mcp.json": `{"mcpServers": {"all": {"url": "` + server.URL + `"}}}`} {
		path = filepath.Join(project, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := place.Place{Vars: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home, "APPDATA=" + home, "LOCALAPPDATA=" + home, "USERPROFILE=" + home}, Dir: project}
	for _, step := range []struct {
		name   string
		user   *typing // nil: there is none
		served bool
	}{
		{"without a user", nil, false},
		{"a user who types nothing", &typing{}, false},
		{"a user who agrees", &typing{answer: "y"}, true},
		{"once the user agreed", nil, true},
	} {
		t.Run(step.name, func(t *testing.T) {
			l := &launch.Launcher{Place: at, Locks: launch.Locks{Place: at}}
			defer l.Close()
			if step.user != nil {
				l.Prompter = step.user
			}
			c, err := l.Read()
			if err != nil || len(c.Entries) != 1 {
				t.Fatal(c.Entries, err)
			}
			plan, err := up.Source{Launcher: l}.Plan(c)
			if err != nil {
				t.Fatal(err)
			}
			g, err := up.New(plan, up.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			if d := g.Start(t.Context()); slices.Equal(d.Added, []string{"all"}) != step.served {
				t.Errorf("added are %q", d.Added)
			}
			if step.user != nil && (len(step.user.asked) != 1 || !strings.Contains(step.user.asked[0], server.URL)) {
				t.Errorf("asked was %q", step.user.asked)
			}
			if step.served {
				if result, err := mcp.NewClient(g).CallTool(t.Context(), "all__echo", map[string]string{"message": "hello"}); err != nil || result.Text() != "hello" {
					t.Errorf("got %q, %v", result.Text(), err)
				}
			}
		})
	}
}

func TestServersThatWereChosenKeepTheirOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers": {"a": {"url": "http://127.0.0.1:1"}, "b": {"url": "http://127.0.0.1:1"}, "faulty": {"url": 1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ names, want []string }{
		{nil, []string{"a", "b", "faulty"}},
		{[]string{"b", "a"}, []string{"b", "a"}},
	} {
		l := &launch.Launcher{Config: []string{file}}
		c, err := l.Read()
		if err != nil {
			t.Fatal(err)
		}
		c.Names = test.names
		if plan, err := (up.Source{Launcher: l}).Plan(c); err != nil || !slices.Equal(plan.Order, test.want) {
			t.Errorf("%q: got %+v, %v", test.names, plan, err)
		}
	}
}
