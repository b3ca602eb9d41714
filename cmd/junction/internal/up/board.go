package up

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/internal/why"
)

// A board prints the states of the gateway's servers: first a table, and then a line for each
// server that connects, fails or ends. On a terminal the last line is a summary.
type board struct {
	screen  *terminal.Screen
	quiet   bool         // print problems only
	verbose bool         // print errors in full
	log     *slog.Logger // logs a record for each server; nil if lines are printed
	// Endpoint is the URL for clients; empty on standard input and output.
	Endpoint string
	More     func() string // returns further lines for the summary, for example about hidden tools; may be nil
	live     bool          // whether a live screen shows the servers
	also     func()        // called after each change; may be nil

	mu      sync.Mutex
	gateway *gateway.Gateway  // nil before Start and after Close
	shown   map[string]string // last printed state of each server
	summed  bool              // set when the summary of all tried servers has been printed
	ends    map[string]int    // number of printed lost connections of each server
	renamed map[string]int    // number of printed renamed names of each server
}

// NewBoard returns a board. endpoint is the URL for clients, or "" on standard input and output.
func NewBoard(screen *terminal.Screen, quiet, verbose bool, endpoint string) *board {
	return &board{screen: screen, quiet: quiet, verbose: verbose, Endpoint: endpoint, shown: map[string]string{}, ends: map[string]int{}, renamed: map[string]int{}}
}

// Start prints all servers of a gateway.
func (b *board) Start(g *gateway.Gateway) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gateway = g
	all := g.Status()
	for _, s := range all {
		b.shown[s.Name] = Standing(s, b.verbose)
	}
	switch {
	case b.log != nil:
		for _, s := range all {
			b.printState(s)
		}
	case len(all) == 0:
		b.screen.Printf("There is no server to serve.\n")
	case !b.quiet && !b.live:
		b.screen.Printf("%s", StatusTable(all, b.verbose, cli.LineWidth(b.screen)))
		if !b.screen.Terminal() { // on a terminal, the last line shows the summary
			b.screen.Printf("%s\n", Summary(all))
			if b.summed = !slices.ContainsFunc(all, IsUntried); b.summed {
				b.printMore()
			}
		}
	}
	b.showRenamed(all)
	b.showSummary(all)
	if b.also != nil {
		b.also()
	}
}

// Close removes the summary from the terminal.
func (b *board) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gateway = nil
	b.screen.Transient("")
}

// Changed prints the servers whose state differs from the last printed one.
func (b *board) Changed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gateway == nil {
		return
	}
	all := b.gateway.Status()
	for _, s := range all {
		now := Standing(s, b.verbose)
		if s.Ends > b.ends[s.Name] {
			b.ends[s.Name] = s.Ends
			if s.State == gateway.Connected || s.State == gateway.Connecting { // the server has already reconnected
				b.shown[s.Name] = ""
				b.printEnded(s)
			}
		}
		if b.shown[s.Name] == now || !b.noteworthy(s) {
			continue
		}
		b.shown[s.Name] = now
		b.printState(s)
	}
	b.showRenamed(all)
	b.showSummary(all)
	b.SumUp(all)
	if b.also != nil {
		b.also()
	}
}

// say prints or logs a line about a server.
func (b *board) say(level slog.Level, server, state, text string) {
	if b.log != nil {
		b.log.Log(context.Background(), level, "server", "server", server, "state", state, "detail", text)
		return
	}
	b.screen.Printf("%s", terminal.Table([][]string{{time.Now().Format(time.TimeOnly), server, text}}, 2, cli.LineWidth(b.screen)))
}

// printState prints the state of a server.
func (b *board) printState(s gateway.Status) {
	level := slog.LevelInfo
	if s.State == gateway.Failed {
		level = slog.LevelWarn
	}
	b.say(level, s.Name, stateWord(s), Standing(s, b.verbose))
}

// printEnded prints the reason why the last connection to a server ended, although the server is
// starting again.
func (b *board) printEnded(s gateway.Status) {
	if !b.quiet {
		b.say(slog.LevelWarn, s.Name, "ended", "ended: "+plaintext.Line(why.Of(s.Ended, s.Name), cli.MaxReason)+"; it starts again")
	}
}

// restart restarts a server for by, and prints a line about that. The board then prints the
// server's next state even if it equals the last printed one.
func (b *board) restart(name, by string, restart func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := restart(); err != nil {
		return err
	}
	b.shown[name] = ""
	if !b.quiet {
		b.say(slog.LevelInfo, name, "restarted", "restarted "+by)
	}
	return nil
}

// SumUp prints the summary when all servers have been tried, unless the last line of a terminal
// shows it.
func (b *board) SumUp(all []gateway.Status) {
	if b.summed || b.quiet || b.log != nil || b.screen.Terminal() || slices.ContainsFunc(all, IsUntried) {
		return
	}
	b.summed = true
	b.screen.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), Summary(all))
	b.printMore()
}

func (b *board) printMore() {
	if b.More == nil {
		return
	}
	if line := b.More(); line != "" {
		b.screen.Printf("%s\n", line)
	}
}

// IsUntried reports whether a server has neither connected nor failed yet.
func IsUntried(s gateway.Status) bool {
	return s.Err == nil && (s.State == gateway.Connecting || s.State == gateway.Waiting)
}

// noteworthy reports whether to print the state of a server.
func (b *board) noteworthy(s gateway.Status) bool {
	switch {
	case s.State == gateway.Failed || s.State == gateway.Unresponsive:
		return true
	case b.quiet:
		return false
	case s.State == gateway.Connecting:
		return s.Note != "" && s.Err == nil // another attempt alone needs no line
	case s.State == gateway.Idle:
		return s.Err != nil
	}
	return s.State == gateway.Connected
}

// showRenamed prints names for clients that differ from the server's own names, at most
// [cli.MaxRenamed] for each server. junction status prints all of them.
func (b *board) showRenamed(all []gateway.Status) {
	for _, s := range all {
		before := b.renamed[s.Name]
		if b.renamed[s.Name] = max(before, len(s.Renamed)); before >= len(s.Renamed) || b.quiet {
			continue
		}
		some := s.Renamed[before:]
		for _, line := range some[:min(len(some), cli.MaxRenamed)] {
			b.screen.Printf("  %s: %s\n", s.Name, plaintext.Line(line, cli.MaxReason))
		}
		if len(some) > cli.MaxRenamed {
			b.screen.Printf("  %s: and %d more; junction status --json shows all\n", s.Name, len(some)-cli.MaxRenamed)
		}
	}
}

func (b *board) showSummary(all []gateway.Status) {
	if !b.quiet && !b.live {
		b.screen.Transient(b.LastLine(all, b.screen.TransientWidth()))
	}
}

// LastLine returns the last line of a terminal: the endpoint and the summary, shortened to width.
func (b *board) LastLine(all []gateway.Status, width int) string {
	at := ""
	if b.Endpoint != "" {
		at = b.Endpoint + "  "
	}
	for _, line := range []string{at + Summary(all), at + brief(all), Summary(all)} {
		if terminal.Width(line) <= width {
			return line
		}
	}
	return brief(all)
}

// Standing describes the state of a server in one line. full prevents the shortening of errors.
func Standing(s gateway.Status, full bool) string {
	fault := ""
	if s.Err != nil {
		if fault = ": " + plaintext.Line(why.Of(s.Err, s.Name), cli.MaxReason); full {
			fault = fmt.Sprintf(": %v", s.Err)
		}
	}
	switch s.State {
	case gateway.Connected:
		spoken := ""
		if s.Revision != "" {
			spoken = ", revision " + s.Revision
		}
		if fault != "" {
			fault = "; careful" + fault
		}
		return fmt.Sprintf("connected%s: %s%s", spoken, offers(s), fault)
	case gateway.Idle:
		if fault != "" {
			return "ended" + fault + "; it starts again at its next use"
		}
		return stateWord(s) + ": " + offers(s)
	case gateway.Connecting:
		if s.Note != "" && fault != "" {
			return "still starting: " + s.Note + "; it failed before" + fault
		}
		if s.Note != "" {
			return "still starting: " + s.Note
		}
		if s.Program {
			return "starting" + fault
		}
	}
	return s.State.String() + fault
}

// offers returns the numbers of a server's tools, resources, templates and prompts as text.
func offers(s gateway.Status) string {
	tools := plaintext.Count(s.Tools, "tool")
	if s.Omitted > 0 {
		tools = fmt.Sprintf("%d of %s", s.Tools-s.Omitted, tools)
	}
	parts := []string{tools, plaintext.Count(s.Resources, "resource")}
	if s.Templates > 0 {
		parts = append(parts, plaintext.Count(s.Templates, "template"))
	}
	return strings.Join(append(parts, plaintext.Count(s.Prompts, "prompt")), ", ")
}

// StatusTable returns a table with a row for each server.
func StatusTable(all []gateway.Status, full bool, width int) string {
	var rows [][]string
	for _, s := range all {
		rows = append(rows, []string{s.Name, Standing(s, full) + cli.AgeText(rememberedAt(s))})
	}
	return terminal.Table(rows, 2, width)
}

// rememberedAt returns the time when the definitions of an idle server were read. For any other
// server, it returns the zero time.
func rememberedAt(s gateway.Status) time.Time {
	if s.State != gateway.Idle {
		return time.Time{}
	}
	return s.Read
}

// Summary returns a line such as "59 servers: 40 not started, 12 connected, 3 starting, 4 failed ·
// 812 tools".
func Summary(all []gateway.Status) string {
	return summed(all, ": ", "not started", "not connected", "connected", "starting", "waiting to start", "not responding", "failed", "ended")
}

// brief returns a summary with only the states that will change or that need an action.
func brief(all []gateway.Status) string {
	return summed(all, ", ", "starting", "not responding", "failed", "ended")
}

var stateWords = map[gateway.State]string{gateway.Idle: "not started", gateway.Connected: "connected",
	gateway.Connecting: "starting", gateway.Waiting: "waiting to start", gateway.Unresponsive: "not responding", gateway.Failed: "failed"}

// stateWord returns the word for the state of a server in a summary.
func stateWord(s gateway.Status) string {
	switch {
	case s.State == gateway.Idle && s.Err != nil:
		return "ended"
	case s.State == gateway.Idle && !s.Program:
		return "not connected"
	}
	return stateWords[s.State]
}

// IsFailing reports whether a server failed and has not connected since. Clients cannot use the
// tools of such a server, even if its definitions are known.
func IsFailing(s gateway.Status) bool {
	return s.State == gateway.Failed || s.Err != nil && (s.State == gateway.Connecting || s.State == gateway.Waiting)
}

// summed returns the number of servers, the number of them in each given state, and the number of
// tools that clients can use.
func summed(all []gateway.Status, separator string, words ...string) string {
	tools, in := 0, map[string]int{}
	for _, s := range all {
		if !IsFailing(s) {
			tools += s.Tools - s.Omitted
		}
		in[stateWord(s)]++
	}
	var parts []string
	for _, word := range words {
		if in[word] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", in[word], word))
		}
	}
	text := plaintext.Count(len(all), "server")
	if len(parts) > 0 {
		text += separator + strings.Join(parts, ", ")
	}
	return text + " · " + plaintext.Count(tools, "tool")
}
