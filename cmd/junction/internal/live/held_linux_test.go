package live

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/terminal"
	"golang.org/x/sys/unix"
)

// onTerminal runs a screen on a terminal.
func onTerminal(t *testing.T, ctx context.Context, g Gateway) (c *console, ui *UI, ended chan error) {
	t.Helper()
	c = newConsole(t)
	fd, err := unix.Dup(int(c.terminal.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	own := os.NewFile(uintptr(fd), "terminal") // not closed: bubbletea asks for its size, and reads go on, after the end
	ui = New(Options{In: own, Out: own, Place: place.Place{Vars: []string{"TERM=xterm-256color", "NO_COLOR=1"}}, Gateway: g})
	ended = make(chan error, 1)
	go func() { ended <- ui.Run(ctx) }()
	c.sees("withheld")
	return c, ui, ended
}

// A command that is to end does not wait for whoever has the terminal.
func TestTheScreenEndsWhileTheTerminalIsLent(t *testing.T) {
	for name, begin := range map[string]func(c *console, ui *UI){
		"to a question": func(_ *console, ui *UI) { ui.Lend() },
		"to a text": func(c *console, _ *UI) {
			c.types("cp")
			c.sees("Enter goes back")
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c, ui, ended := onTerminal(t, ctx, three())
			begin(c, ui)
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(time.Minute):
				t.Error("it does not end")
			}
		})
	}
}

// A question that is withdrawn reads no keys of the screen that comes back.
func TestKeysAreThoseOfTheScreenAfterAQuestionIsWithdrawn(t *testing.T) {
	c, ui, ended := onTerminal(t, t.Context(), three())
	p := terminal.NewPerson(c.terminal, terminal.NewScreen(c.terminal))
	p.Lends(ui.Lend)
	asking, withdraw := context.WithCancel(t.Context())
	end, err := p.Begin(asking)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		c.sees("May it?")
		withdraw()
	}()
	if _, err := p.Line(asking, "May it? "); err == nil {
		t.Error("it is answered")
	}
	end()
	c.sees("Enter goes back")
	c.types("\n")
	c.seesTimes(2, entersOther)
	for range 3 {
		c.types("m")
		time.Sleep(50 * time.Millisecond)
		c.types("\x1b[D")
		time.Sleep(50 * time.Millisecond)
	}
	c.types("?")
	c.sees("go up a page")
	c.types("qq") // back, and out
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("q does not end it")
	}
}
