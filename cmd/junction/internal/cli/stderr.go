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

// MaxStderrKept is the largest size in bytes of the stored standard error of a server.
const MaxStderrKept = 64 << 10

// A StderrTail stores the last lines that the programs of a server wrote to standard error. It is
// safe for concurrent use.
type StderrTail struct {
	changed func() // called after a line is added; may be nil

	mu    sync.Mutex
	kept  []string
	bytes int
	stray string // first line of standard output that is not a message
	// refused describes the first refusal of the server's sandbox. A loss of data counts too, and
	// replaces an earlier refusal, because the program itself does not notice it. refusals is the
	// number of both.
	refused  string
	refusals int
	loses    bool
	omitted  []string // operations of an API that have no tool, with reasons
}

// Add adds a line. It drops the oldest lines beyond [MaxStderrKept].
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

// MarkServerLine returns a line of a server for output. It adds a prefix if the line looks like one
// of Junction's lines, because these may contain commands to paste.
func MarkServerLine(line string) string {
	if strings.HasPrefix(strings.TrimSpace(line), "junction: ") {
		return "server: " + line
	}
	return line
}

// addStray stores the first line of standard output that is not a message.
func (t *StderrTail) addStray(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stray == "" {
		t.stray = plaintext.Line(line, MaxStderrLine)
	}
}

// AddRefused adds a line about a refusal of the sandbox. lost means that data is lost;
// [StderrTail.Refusals] describes a loss rather than a refusal.
func (t *StderrTail) AddRefused(line string, lost bool) {
	t.Add("junction: " + line)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusals++
	switch {
	case lost && !t.loses:
		t.refused, t.loses = "its output is deleted when it ends: "+line, true
	case t.refused == "":
		t.refused = line
	}
}

// MaxOmitted is the largest number of stored operations without a tool.
const MaxOmitted = 100

// AddOmitted stores the operation in a log line about an operation without a tool. A Junction that
// serves an API writes such lines. AddOmitted ignores all other lines.
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
		t.omitted = append(t.omitted, plaintext.Line(why, MaxStderrLine))
	}
}

// OmittedOperations returns the operations that have no tool, with reasons.
func (t *StderrTail) OmittedOperations() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.omitted)
}

// Refusals describes the refusals of the sandbox, or returns "" if there are none.
func (t *StderrTail) Refusals() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refusals > 1 {
		return fmt.Sprintf("%s (and %d more in its log)", t.refused, t.refusals-1)
	}
	return t.refused
}

// StrayLine describes a line of standard output that is not a message, or returns "" if there is
// none.
func (t *StderrTail) StrayLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stray == "" {
		return ""
	}
	return fmt.Sprintf("standard output has a line that is not JSON-RPC, which other clients reject: %q", t.stray)
}

// stderrSize returns the memory that a line takes. An empty line also takes some.
func stderrSize(line string) int { return len(line) + 16 }

// Lines returns the stored lines.
func (t *StderrTail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.kept...)
}

// StderrTails holds the StderrTail of each server, by name.
type StderrTails struct {
	mu      sync.Mutex
	all     map[string]*StderrTail
	Changed func() // called after a line is added to any tail; may be nil; set it before the first line
}

// StderrOf returns the StderrTail of a configured server. A restarted server has the same one.
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

// Attach returns a copy of a program's transport that adds the program's standard error to the
// tail. It returns all other transports unchanged. api is set if the program is a Junction that
// serves an API.
func (t *StderrTail) Attach(transport mcp.Transport, api bool) mcp.Transport {
	c, program := transport.(*command.Command)
	if !program {
		return transport
	}
	heard, before := *c, c.Stderr
	heard.Skipped = t.addStray
	t.mu.Lock()
	t.stray, t.refused, t.refusals, t.loses, t.omitted = "", "", 0, false, nil // these belong to the previous program
	t.mu.Unlock()
	heard.Stderr = func(line string) {
		t.Add(MarkServerLine(line))
		if api {
			t.AddOmitted(line)
		}
		if before != nil {
			before(line)
		}
	}
	return &heard
}
