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

// A board shows the servers of up: a table at first, then a line for each that
// connects, fails or ends, and on a terminal one line below that sums up.
type board struct {
	screen  *terminal.Screen
	quiet   bool         // only problems are shown
	verbose bool         // errors are shown in full
	log     *slog.Logger // gets a record of each server in place of a line; nil: a person reads
	// Endpoint is where clients connect; empty on standard input and output.
	Endpoint string
	More     func() string // says what else a summary should, such as how few tools clients see; nil: nothing
	live     bool          // a screen shows the servers
	also     func()        // is called where something changed; nil: nothing

	mu      sync.Mutex
	gateway *gateway.Gateway  // nil until it is started
	shown   map[string]string // what was last said of a server
	summed  bool              // the summary of servers that were all tried was printed
	ends    map[string]int    // how many lost connections of a server were seen
	renamed map[string]int    // how many names of a server were said to be changed
}

// NewBoard returns a board for servers that are served at an endpoint, which is empty on
// standard input and output.
func NewBoard(screen *terminal.Screen, quiet, verbose bool, endpoint string) *board {
	return &board{screen: screen, quiet: quiet, verbose: verbose, Endpoint: endpoint, shown: map[string]string{}, ends: map[string]int{}, renamed: map[string]int{}}
}

// Start shows all servers.
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
			b.sayStanding(s)
		}
	case len(all) == 0:
		b.screen.Printf("There is no server to serve.\n")
	case !b.quiet && !b.live:
		b.screen.Printf("%s", StatusTable(all, b.verbose, cli.LineWidth(b.screen)))
		if !b.screen.Terminal() { // where it has a line of its own
			b.screen.Printf("%s\n", Summary(all))
			if b.summed = !slices.ContainsFunc(all, IsUntried); b.summed {
				b.sayMore()
			}
		}
	}
	b.showRenamed(all)
	b.showSummary(all)
	if b.also != nil {
		b.also()
	}
}

// Close takes the summary away.
func (b *board) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gateway = nil
	b.screen.Transient("")
}

// Changed shows what is different from before.
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
			if s.State == gateway.Connected || s.State == gateway.Connecting { // it was started again before this look
				b.shown[s.Name] = ""
				b.sayEnded(s)
			}
		}
		if b.shown[s.Name] == now || !b.noteworthy(s) {
			continue
		}
		b.shown[s.Name] = now
		b.sayStanding(s)
	}
	b.showRenamed(all)
	b.showSummary(all)
	b.SumUp(all)
	if b.also != nil {
		b.also()
	}
}

// say shows a line about a server.
func (b *board) say(level slog.Level, server, state, text string) {
	if b.log != nil {
		b.log.Log(context.Background(), level, "server", "server", server, "state", state, "detail", text)
		return
	}
	b.screen.Printf("%s", terminal.Table([][]string{{time.Now().Format(time.TimeOnly), server, text}}, 2, cli.LineWidth(b.screen)))
}

// sayStanding shows what a server is doing.
func (b *board) sayStanding(s gateway.Status) {
	level := slog.LevelInfo
	if s.State == gateway.Failed {
		level = slog.LevelWarn
	}
	b.say(level, s.Name, stateWord(s), Standing(s, b.verbose))
}

// sayEnded says why the last connection to a server ended that is started again already.
func (b *board) sayEnded(s gateway.Status) {
	if !b.quiet {
		b.say(slog.LevelWarn, s.Name, "ended", "ended: "+plaintext.Line(why.Of(s.Ended, s.Name), cli.MaxReason)+"; it starts again")
	}
}

// restart has a server be restarted, and says who wanted that: the next that it is, such as connected, is shown in any case.
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

// SumUp prints the summary once all servers were tried, where no line at the end of a terminal has it.
func (b *board) SumUp(all []gateway.Status) {
	if b.summed || b.quiet || b.log != nil || b.screen.Terminal() || slices.ContainsFunc(all, IsUntried) {
		return
	}
	b.summed = true
	b.screen.Printf("%s  %s\n", time.Now().Format(time.TimeOnly), Summary(all))
	b.sayMore()
}

func (b *board) sayMore() {
	if b.More == nil {
		return
	}
	if line := b.More(); line != "" {
		b.screen.Printf("%s\n", line)
	}
}

// IsUntried reports whether a server was neither connected nor found wanting yet.
func IsUntried(s gateway.Status) bool {
	return s.Err == nil && (s.State == gateway.Connecting || s.State == gateway.Waiting)
}

// noteworthy reports whether the state of a server is shown.
func (b *board) noteworthy(s gateway.Status) bool {
	switch {
	case s.State == gateway.Failed || s.State == gateway.Unresponsive:
		return true
	case b.quiet:
		return false
	case s.State == gateway.Connecting:
		return s.Note != "" && s.Err == nil // one more attempt says nothing new
	case s.State == gateway.Idle:
		return s.Err != nil
	}
	return s.State == gateway.Connected
}

// showRenamed shows which names are not what they should be: of each server some,
// as junction status shows all.
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

// LastLine is what stays at the end of a terminal, whatever scrolls above it: where
// clients connect, and the summary, as much as fits.
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

// Standing says in one line what a server is doing, or in full.
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
			return "ended" + fault + "; it starts again when it is used"
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

// offers counts what a server offers.
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

// StatusTable is a row for each server.
func StatusTable(all []gateway.Status, full bool, width int) string {
	var rows [][]string
	for _, s := range all {
		rows = append(rows, []string{s.Name, Standing(s, full) + cli.AgeText(rememberedAt(s))})
	}
	return terminal.Table(rows, 2, width)
}

// rememberedAt is when a server was read that is not connected, as what is shown of it was true then; zero for others.
func rememberedAt(s gateway.Status) time.Time {
	if s.State != gateway.Idle {
		return time.Time{}
	}
	return s.Read
}

// Summary sums up, such as "59 servers: 40 not started, 12 connected, 3 starting, 4
// failed · 812 tools".
func Summary(all []gateway.Status) string {
	return summed(all, ": ", "not started", "not connected", "connected", "starting", "waiting to start", "not responding", "failed", "ended")
}

// brief is a summary without the servers of which nothing is to be expected or done.
func brief(all []gateway.Status) string {
	return summed(all, ", ", "starting", "not responding", "failed", "ended")
}

var stateWords = map[gateway.State]string{gateway.Idle: "not started", gateway.Connected: "connected",
	gateway.Connecting: "starting", gateway.Waiting: "waiting to start", gateway.Unresponsive: "not responding", gateway.Failed: "failed"}

// stateWord is the word for what a server is doing.
func stateWord(s gateway.Status) string {
	switch {
	case s.State == gateway.Idle && s.Err != nil:
		return "ended"
	case s.State == gateway.Idle && !s.Program:
		return "not connected"
	}
	return stateWords[s.State]
}

// IsFailing reports whether a server failed and was not connected to since: whatever is remembered of it, it offers nothing.
func IsFailing(s gateway.Status) bool {
	return s.State == gateway.Failed || s.Err != nil && (s.State == gateway.Connecting || s.State == gateway.Waiting)
}

// summed counts the servers, those in some states, and the tools that are offered.
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
