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

// MaxStderrKept limits the bytes of a server's standard error that its log keeps.
const MaxStderrKept = 64 << 10

// A StderrTail holds the last lines of standard error of a server's programs. It is safe for
// concurrent use.
type StderrTail struct {
	changed func() // called after a line was added; may be nil

	mu    sync.Mutex
	kept  []string
	bytes int
	stray string // the first line of standard output that is not a message
	// refused is the first refusal of its sandbox, or the first loss of data, which the program
	// itself does not notice. refusals counts them.
	refused  string
	refusals int
	loses    bool
	omitted  []string // operations of an API without a tool, and why
}

// Add adds a line and drops the oldest ones beyond [MaxStderrKept].
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

// MarkServerLine returns a line of a server. It adds a prefix if the line resembles one of Junction,
// which may hold a command to paste.
func MarkServerLine(line string) string {
	if strings.HasPrefix(strings.TrimSpace(line), "junction: ") {
		return "server: " + line
	}
	return line
}

// addStray keeps the first line of standard output that is not a message.
func (t *StderrTail) addStray(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stray == "" {
		t.stray = plaintext.Line(line, MaxStderrLine)
	}
}

// AddRefused adds a line about a refusal of the sandbox. lost reports that data is lost, which
// [StderrTail.Refusals] reports before refusals.
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

// MaxOmitted limits the operations without a tool that are kept of one server.
const MaxOmitted = 100

// AddOmitted keeps the operation of a log line about one without a tool, as a Junction that serves
// an API writes it. It ignores other lines.
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

// OmittedOperations returns the operations without a tool, and why.
func (t *StderrTail) OmittedOperations() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.omitted)
}

// Refusals describes the refusals of the sandbox; empty without any.
func (t *StderrTail) Refusals() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.refusals > 1 {
		return fmt.Sprintf("%s (and %d more in its log)", t.refused, t.refusals-1)
	}
	return t.refused
}

// StrayLine describes a line of standard output that is not a message; empty without one.
func (t *StderrTail) StrayLine() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stray == "" {
		return ""
	}
	return fmt.Sprintf("standard output has a line that is not JSON-RPC, which other clients reject: %q", t.stray)
}

// stderrSize returns the memory that a line takes; an empty one takes some, too.
func stderrSize(line string) int { return len(line) + 16 }

// Lines returns the lines kept.
func (t *StderrTail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.kept...)
}

// StderrTails holds the tails of several servers.
type StderrTails struct {
	mu      sync.Mutex
	all     map[string]*StderrTail
	Changed func() // called after a line was added to a tail; set it before the first; may be nil
}

// StderrOf returns the tail of a configured server. It stays the same when the server restarts.
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

// Attach returns the transport with the standard error of its program added to the tail; other
// transports are returned as they are. api reports that the program is Junction serving an API.
func (t *StderrTail) Attach(transport mcp.Transport, api bool) mcp.Transport {
	c, program := transport.(*command.Command)
	if !program {
		return transport
	}
	heard, before := *c, c.Stderr
	heard.Skipped = t.addStray
	t.mu.Lock()
	t.stray, t.refused, t.refusals, t.loses, t.omitted = "", "", 0, false, nil // from the program before
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
