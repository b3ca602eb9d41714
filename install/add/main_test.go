package add

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
)

// asServer, in the environment, makes the test binary a server with these tools, or one that does
// not start.
const asServer = "ADD_TEST_TOOLS"

// TestMain puts Junction's state into a folder of the tests.
func TestMain(m *testing.M) {
	if names, is := os.LookupEnv(asServer); is {
		if names == "" {
			os.Exit(1)
		}
		s := mcp.NewServer("test", "1")
		for name := range strings.FieldsSeq(names) {
			mcp.AddTool(s, name, func(context.Context, struct{}) (string, error) { return "", nil })
		}
		if err := stdio.Serve(context.Background(), s); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	state, err := os.MkdirTemp("", "state")
	if err != nil {
		panic(err)
	}
	os.Setenv("JUNCTION_STATE", state)
	code := m.Run()
	_ = os.RemoveAll(state)
	os.Exit(code)
}

// alone gives the test a home of its own as the current folder.
func alone(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "APPDATA", "LOCALAPPDATA"} {
		t.Setenv(name, home)
	}
	t.Chdir(home)
}

// scripted is a Prompter with prepared answers; without any it cannot ask. text holds what it
// showed.
type scripted struct {
	answers []string
	strings.Builder
}

func (s *scripted) Absent() string {
	if len(s.answers) == 0 {
		return launch.Nobody
	}
	return ""
}

func (s *scripted) answer(question string) (answer string, err error) {
	fmt.Fprintf(s, "%s?\n", question)
	if len(s.answers) == 0 {
		return "", errors.New("asked once more: " + question)
	}
	answer, s.answers = s.answers[0], s.answers[1:]
	return answer, nil
}

func (s *scripted) Choose(_ context.Context, question string, choices []launch.Choice) (string, error) {
	return s.answer(fmt.Sprint(question, choices))
}

func (s *scripted) Text(_ context.Context, q launch.Question) (string, error) {
	return s.answer(fmt.Sprint(q))
}

func (s *scripted) Show(c launch.Card) { s.WriteString(c.Text(1 << 16)) }

// adder returns an Adder with packages and a file of the test, and a user with these answers.
func adder(t *testing.T, answers ...string) *Adder {
	t.Helper()
	dir := t.TempDir()
	l := &launch.Launcher{Screen: terminal.NewScreen(t.Output()), Prompter: &scripted{answers: answers}}
	l.Locks.Packages = &packages{dir: dir}
	t.Cleanup(func() { _ = l.Close() })
	return &Adder{File: dir + "/mcp.json", Launcher: l}
}

// shown returns the texts and questions that a user saw.
func shown(a *Adder) string { return a.Launcher.Prompter.(*scripted).String() }

// packages has every version of each package. The tools of a version have its name.
type packages struct {
	dir    string
	newest string
	tools  map[string]string // by version
	known  []install.Vulnerability
	fault  error
}

func (p *packages) Resolve(_ context.Context, one install.Package) (*install.Locked, error) {
	if one.Version == "" {
		one.Version = p.newest
	}
	return &install.Locked{Package: one, Integrity: "sha512-" + one.Version, Program: []string{"node", "./index.js"}}, nil
}

func (p *packages) Install(_ context.Context, l *install.Locked) (*install.Program, error) {
	return p.Open(l)
}

func (p *packages) Open(l *install.Locked) (*install.Program, error) {
	return &install.Program{Dir: p.dir, Argv: []string{os.Args[0]}, Env: map[string]string{asServer: p.tools[l.Version]}}, p.fault
}

func (p *packages) Advice(context.Context, *install.Locked) (install.Advice, error) {
	return install.Advice{Newest: p.newest}, p.fault
}

func (p *packages) Audit(context.Context, *install.Locked) ([]install.Vulnerability, error) {
	return p.known, p.fault
}

func (p *packages) Prune(context.Context, []*install.Locked, time.Duration) (int64, error) {
	return 0, nil
}
