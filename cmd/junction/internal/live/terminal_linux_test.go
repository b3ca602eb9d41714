package live

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/place"
	"golang.org/x/sys/unix"
)

// A console is a pseudo-terminal of 80 columns and 24 lines.
type console struct {
	t        *testing.T
	keyboard *os.File
	terminal *os.File
	mu       sync.Mutex
	wrote    strings.Builder
}

func newConsole(t *testing.T) *console {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("skip: there is no pseudo-terminal: ", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	fd := int(keyboard.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 80, Row: 24})
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("skip: there is no pseudo-terminal: ", err)
	}
	t.Cleanup(func() { terminal.Close() })
	c := &console{t: t, keyboard: keyboard, terminal: terminal}
	go func() {
		part := make([]byte, 4096)
		for {
			n, err := keyboard.Read(part)
			c.mu.Lock()
			c.wrote.Write(part[:n])
			c.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return c
}

func (c *console) written() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrote.String()
}

func (c *console) sees(text string) {
	c.t.Helper()
	c.seesTimes(1, text)
}

func (c *console) seesTimes(n int, text string) {
	c.t.Helper()
	for deadline := time.Now().Add(time.Minute); strings.Count(c.written(), text) < n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%q does not come %d times; the terminal got %q", text, n, c.written())
		}
	}
}

func (c *console) types(text string) {
	c.t.Helper()
	if _, err := c.keyboard.WriteString(text); err != nil {
		c.t.Fatal(err)
	}
}

const (
	entersOther = "\x1b[?1049h"
	leavesOther = "\x1b[?1049l"
)

// The screen is drawn when something changes and not otherwise, lends the terminal, and gives it back as it was.
func TestTheScreenOnATerminal(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(c *console, cancel context.CancelFunc)
	}{
		{"q", func(c *console, _ context.CancelFunc) { c.types("qq") }}, // back from help, and out
		{"Ctrl-C", func(c *console, _ context.CancelFunc) { c.types("\x03") }},
		{"the end of ctx", func(_ *console, cancel context.CancelFunc) { cancel() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newConsole(t)
			before, err := unix.IoctlGetTermios(int(c.terminal.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			g := three()
			ui := New(Options{In: c.terminal, Out: c.terminal, Place: place.Place{Vars: []string{"TERM=xterm-256color", "NO_COLOR=1"}}, Gateway: g})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- ui.Run(ctx) }()
			c.sees(entersOther)
			c.sees("withheld")
			ui.Print("read again\n")
			c.sees("read again")
			more := "?"
			for attempt := 0; attempt < 10 && more != ""; attempt++ { // a busy machine draws late, and what is drawn each second is seen
				quiet := c.written()
				time.Sleep(1200 * time.Millisecond)
				more = strings.TrimPrefix(c.written(), quiet)
			}
			if more != "" {
				t.Errorf("where nothing changes, it writes %q", more)
			}
			back := ui.Lend()
			c.sees(leavesOther)
			fmt.Fprint(c.terminal, "a question\r\n")
			back()
			c.seesTimes(2, entersOther) // it reads keys before it draws
			c.types("?")
			c.sees("go up a page")
			tt.end(c, cancel)
			if err := <-ended; err != nil {
				t.Error(err)
			}
			ui.Lend()() // does not wait for a screen that is gone
			fmt.Fprint(c.terminal, "all is read")
			c.sees("all is read")
			if text := c.written(); strings.Count(text, entersOther) != 2 || strings.Count(text, leavesOther) != 2 {
				t.Errorf("it took the terminal %d times and gave it back %d times", strings.Count(text, entersOther), strings.Count(text, leavesOther))
			}
			for _, colour := range []colour{red, green, yellow} {
				if strings.Contains(c.written(), string(colour)) {
					t.Errorf("there are colours: %q", c.written())
				}
			}
			after, err := unix.IoctlGetTermios(int(c.terminal.Fd()), unix.TCGETS)
			if err != nil || *after != *before {
				t.Errorf("the terminal is %+v, %v, and was %+v", after, err, before)
			}
		})
	}
}
