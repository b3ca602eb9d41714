package clitest

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
)

// A plainChat is a running junction chat --plain, with a test as its user.
type plainChat struct {
	t     *testing.T
	Setup *chat.Setup
	talk  tui.Session
	keys  *io.PipeWriter
	out   *SafeBuffer
	ended chan error
	read  int // number of bytes of shown that Await has passed
}

// StartPlain starts junction chat --plain with a configuration.
func StartPlain(t *testing.T, configuration string, f *chat.Flags, args ...string) *plainChat {
	t.Helper()
	setup, _ := SetUp(t, configuration, f, args...)
	r, w := io.Pipe()
	p := &plainChat{t: t, Setup: setup, keys: w, out: new(SafeBuffer), ended: make(chan error, 1)}
	ui, err := tui.New(tui.Options{In: r, Out: p.out, Plain: true, Theme: "mono", Greeting: "Welcome.", Permissions: setup.Permissions})
	if err != nil {
		t.Fatal(err)
	}
	if err := setup.Open(ui, ui.Event); err != nil {
		t.Fatal(err)
	}
	if err := setup.Host.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p.talk, err = tui.Attach(t.Context(), setup.Host, nil, ""); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- ui.Run(t.Context(), p.talk) }()
	t.Cleanup(func() { w.Close() })
	p.Await("Welcome.")
	return p
}

// shown returns the output, with all white space collapsed to single spaces.
func (p *plainChat) shown() string { return strings.Join(strings.Fields(p.out.String()), " ") }

// Say types a line. Then it waits for want in the output, after the text of the last wait.
func (p *plainChat) Say(line, want string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
	p.Await(want)
}

func (p *plainChat) Await(want string) {
	p.t.Helper()
	for range 1_000 {
		shown := p.shown()
		if i := strings.Index(shown[min(p.read, len(shown)):], want); i >= 0 {
			p.read += i + len(want)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("%q does not come; there is\n%s", want, p.shown()[p.read:])
}

// Server waits until the state of a server satisfies the function is.
func (p *plainChat) Server(name string, is func(host.ServerTools) bool) {
	p.t.Helper()
	var now host.ServerTools
	for range 1_000 {
		all := p.talk.Talk().Servers()
		if now = all[slices.IndexFunc(all, func(s host.ServerTools) bool { return s.Server == name })]; is(now) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("server %q is %+v", name, now)
}

// List returns the lines of the list of permissions, each with its number.
func (p *plainChat) List() []string {
	p.t.Helper()
	from := len(p.out.String())
	p.Say("/permissions", "── permissions ──")
	p.Say("/permissions undo 0", "there is no number 0 in the list")
	var rows []string
	for line := range strings.SplitSeq(p.out.String()[from:], "\n") {
		switch {
		case numbered.MatchString(line):
			rows = append(rows, strings.TrimSpace(line))
		case strings.HasPrefix(line, "    ") && len(rows) > 0:
			rows[len(rows)-1] += " " + strings.TrimSpace(line)
		}
	}
	return rows
}

var numbered = regexp.MustCompile(`^ {0,2}\d+ \S`)

// Undo takes back the permission whose line in the list contains words.
func (p *plainChat) Undo(words, want string) {
	p.t.Helper()
	list := p.List()
	i := slices.IndexFunc(list, func(row string) bool { return strings.Contains(row, words) })
	if i < 0 {
		p.t.Fatalf("there is no %q in\n%s", words, strings.Join(list, "\n"))
	}
	p.Say(fmt.Sprintf("/permissions undo %d", i+1), want)
}

func (p *plainChat) Quit() {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, "/quit\n"); err != nil {
		p.t.Fatal(err)
	}
	if err := <-p.ended; err != nil {
		p.t.Error(err)
	}
}
