package cli

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/servers/openapi"
)

// MaxStderrKept is how many bytes of a server's standard error are kept for its log.
const MaxStderrKept = 64 << 10

// A StderrTail keeps the last lines that a server wrote to its standard error, of all the
// programs that were started for it.
type StderrTail struct {
	changed func() // called when a line was added; may be nil

	mu    sync.Mutex
	kept  []string
	bytes int
	stray string // the first line of its standard output that was no message
	// refused is the first thing that its sandbox refused to the program that runs, or that it loses, which it does not notice itself, and how
	// many there were.
	refused  string
	refusals int
	loses    bool
	omitted  []string // operations of an API that are no tools, and why
}

func (t *StderrTail) Add(line string) {
	line = plaintext.Line(line, MaxLog)
	if t.changed != nil {
		defer t.changed()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, line)
	t.bytes += stderrSize(line)
	for t.bytes > MaxStderrKept {
		t.bytes -= stderrSize(t.kept[0])
		t.kept = t.kept[1:]
	}
}

// AsServers is a line of a server's own. One that looks like a line of Junction's, which may have a command to paste, says whose it is.
func AsServers(line string) string {
	if strings.HasPrefix(strings.TrimSpace(line), "junction: ") {
		return "server: " + line
	}
	return line
}

// addStray keeps the first line of standard output that was no message.
func (t *StderrTail) addStray(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stray == "" {
		t.stray = plaintext.Line(line, MaxSaid)
	}
}

// AddRefused keeps a line about what the sandbox refused, which is no line of the server's own. What is lost is said before anything else.
func (t *StderrTail) AddRefused(line string, lost bool) {
	t.Add("junction: " + line)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusals++
	switch {
	case lost && !t.loses:
		t.refused, t.loses = "what it writes is thrown away when it ends: "+line, true
	case t.refused == "":
		t.refused = line
	}
}

// MaxOmitted is how many operations that are no tools are kept of one server.
const MaxOmitted = 100

// AddOmitted keeps the operation of a line that says of one that it is no tool, as Junction says it that serves an API.
func (t *StderrTail) AddOmitted(line string) {
	attributes, is := strings.CutPrefix(line, LevelPrefix(slog.LevelWarn)+openapi.NoTool+" ")
	_, why, found := strings.Cut(attributes, "error=")
	if !is || !found {
		return
	}
	if text, err := strconv.Unquote(why); err == nil {
		why = text
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.omitted) < MaxOmitted {
		t.omitted = append(t.omitted, plaintext.Line(why, MaxSaid))
	}
}

// Omits are the operations that are no tools, and why.
func (t *StderrTail) Omits() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.omitted)
}

// WasRefused says what the sandbox refused; empty if it was nothing.
func (t *StderrTail) WasRefused() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refusals > 1 {
		return fmt.Sprintf("%s (and %d more: its log has them)", t.refused, t.refusals-1)
	}
	return t.refused
}

// Strayed says, in words, that standard output had what is no message; empty if it had not.
func (t *StderrTail) Strayed() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stray == "" {
		return ""
	}
	return fmt.Sprintf("standard output has a line that is not JSON-RPC, on which other clients fail: %q", t.stray)
}

func stderrSize(line string) int { return len(line) + 16 } // an empty line takes memory, too

func (t *StderrTail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.kept...)
}

// StderrTails are those of several servers.
type StderrTails struct {
	mu      sync.Mutex
	all     map[string]*StderrTail
	Changed func() // called when a line was added to one; set before the first; may be nil
}

// StderrOf is the tail of a configured server, which stays when it starts again.
func (a *App) StderrOf(server string) *StderrTail {
	a.Tails.mu.Lock()
	defer a.Tails.mu.Unlock()
	if a.Tails.all == nil {
		a.Tails.all = map[string]*StderrTail{}
	}
	t := a.Tails.all[server]
	if t == nil {
		t = &StderrTail{changed: a.Tails.Changed}
		a.Tails.all[server] = t
	}
	return t
}

// Of has the tail hear what the program of a transport writes, if it is one; api says that it is Junction, which serves an API.
func (t *StderrTail) Of(transport mcp.Transport, api bool) mcp.Transport {
	c, program := transport.(*command.Command)
	if !program {
		return transport
	}
	heard, before := *c, c.Stderr
	heard.Skipped = t.addStray
	t.mu.Lock()
	t.stray, t.refused, t.refusals, t.loses, t.omitted = "", "", 0, false, nil // of the program before this one
	t.mu.Unlock()
	heard.Stderr = func(line string) {
		t.Add(AsServers(line))
		if api {
			t.AddOmitted(line)
		}
		if before != nil {
			before(line)
		}
	}
	return &heard
}
