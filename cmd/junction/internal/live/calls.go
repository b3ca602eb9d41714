package live

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/traffic"
)

// An Event is an event of a process.
type Event struct {
	PID int
	// Shown has the screen list the event's call.
	Shown bool
	traffic.Event
}

// The limits of the calls that are kept. The oldest are forgotten.
const (
	maxCalls      = 2_000
	maxCallBytes  = 32 << 20
	maxCallEvents = 200 // of one call; later ones are left out
)

const methodCall = "tools/call"

// A calls holds the calls of which events came, the newest last.
type calls struct {
	now     func() time.Time
	mu      sync.Mutex
	all     []*call
	by      map[string]*call
	size    int
	servers map[string]tally
	missed  int  // events
	every   bool // rows has lists and handshakes too
	// Of calls that were shown and are forgotten:
	past, pastFailed int
}

// A tally counts calls of a server's tools.
type tally struct {
	calls, failed int
	last          time.Time
}

// A call is one request of a client with its messages.
type call struct {
	key           string
	pid           int
	id            string // of the last request, as JSON
	began         time.Time
	hop           string // the hop of its first message, where its response arrives too
	client        string
	method, name  string
	server, named string // the server and the server's name for the tool
	running       int
	took          time.Duration
	failed        bool
	asks          bool   // the response asks the client for input; the call goes on with the next request
	arguments     string // or other parameters
	progress      string // the last progress notification of a running call
	result        string // its texts, or why it failed
	shown         bool
	events        []Event
	size          int
	laid          row // the line for laidFor cells; laidFor is 0 after a change
	laidFor       int
}

// isHousekeeping reports whether a client sent the request without an act of its user: a handshake, a
// ping or a list. A failed one is of interest.
func (c *call) isHousekeeping() bool {
	switch c.method {
	case "server/discover", "initialize", "ping", "subscriptions/listen", "logging/setLevel":
		return !c.failed
	}
	return !c.failed && strings.HasSuffix(c.method, "/list")
}

func (c *calls) add(e Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tally(&e)
	if e.Kind == traffic.Dropped {
		c.missed += e.Count
		return
	}
	if e.Call == 0 {
		if e.Method == "notifications/cancelled" && e.ToServer && e.Hop == traffic.Client {
			c.cancel(&e)
		}
		return
	}
	key := fmt.Sprintf("%d/%d", e.PID, e.Call)
	one := c.by[key]
	if one == nil {
		if e.Kind != traffic.Request || !e.ToServer { // its beginning was not seen
			return
		}
		one = &call{key: key, pid: e.PID, began: e.Time, hop: e.Hop, client: e.Client, method: e.Method, name: e.Name}
		if c.by == nil {
			c.by = map[string]*call{}
		}
		c.by[key], c.all = one, append(c.all, one)
	}
	held := one.held()
	one.add(&e)
	one.size, c.size = one.size+one.held()-held, c.size+one.held()-held
	one.shown = one.shown || e.Shown
	if len(one.events) < maxCallEvents {
		size := len(e.Message) + 500
		one.events, one.size, c.size = append(one.events, e), one.size+size, c.size+size
	}
	for len(c.all) > maxCalls || c.size > maxCallBytes && len(c.all) > 1 {
		c.forget()
	}
}

// cancel ends the running call that a legacy client cancels, which gets no response. It does nothing
// if several calls fit, such as those of two windows of one client.
func (c *calls) cancel(e *Event) {
	id := string(jsonrpc.Get(jsonrpc.Get(e.Message, "params"), "requestId"))
	var fits []*call
	for _, one := range c.all {
		if one.running > 0 && one.pid == e.PID && one.id == id && one.client == e.Client {
			fits = append(fits, one)
		}
	}
	if len(fits) == 1 {
		one := fits[0]
		one.running, one.failed, one.took, one.laidFor = 0, true, e.Time.Sub(one.began), 0
		one.result, one.progress = "cancelled by the client", ""
	}
}

// forget forgets the oldest call, but counts it.
func (c *calls) forget() {
	oldest := c.all[0]
	c.size -= oldest.size
	delete(c.by, oldest.key)
	c.all[0], c.all = nil, c.all[1:]
	if oldest.shown {
		c.past++
	}
	if oldest.shown && oldest.failed {
		c.pastFailed++
	}
}

// tally counts an event for the server.
func (c *calls) tally(e *Event) {
	if e.Hop != traffic.Server || e.Call == 0 || e.Method != methodCall {
		return
	}
	if c.servers == nil {
		c.servers = map[string]tally{}
	}
	t := c.servers[e.Server]
	switch {
	case e.Kind == traffic.Request && e.ToServer:
		t.calls, t.last = t.calls+1, e.Time
	case e.Failed():
		t.failed++
	}
	c.servers[e.Server] = t
}

// held returns the bytes of the texts that a call keeps in addition to its events.
func (c *call) held() int { return len(c.arguments) + len(c.progress) + len(c.result) }

func (c *call) add(e *Event) {
	c.laidFor = 0
	switch {
	case e.Kind == traffic.Request && e.ToServer && e.Hop == c.hop:
		c.running++
		c.id = string(e.ID)
		params := jsonrpc.Get(e.Message, "params")
		c.arguments = cmp.Or(string(jsonrpc.Get(params, "arguments")), string(jsonrpc.Without(params, "_meta")))
		if c.arguments == "{}" {
			c.arguments = ""
		}
	case e.Hop == c.hop && (e.Kind == traffic.Response || e.Kind == traffic.Error) && !e.ToServer, e.Hop == c.hop && e.Kind == traffic.Failure:
		c.running = max(0, c.running-1)
		c.took = e.Time.Sub(c.began)
		c.failed, c.result, c.progress = e.Failed(), result(e), ""
		kind, _ := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(e.Message, "result"), "resultType"))
		c.asks = kind == string(revision.InputRequired)
	case e.Hop == c.hop && e.Kind == traffic.Notification && e.Method == "notifications/progress" && !e.ToServer:
		c.progress = progress(jsonrpc.Get(e.Message, "params"))
	}
	if e.Hop == traffic.Server && e.Kind == traffic.Request && e.ToServer {
		c.server, c.named = e.Server, e.Name
	}
}

// progress returns the parameters of a progress notification as text, such as "3 of 10: copying".
func progress(params json.RawMessage) string {
	text := string(jsonrpc.Get(params, "progress"))
	if total := jsonrpc.Get(params, "total"); total != nil {
		text += " of " + string(total)
	}
	if message, is := jsonrpc.Unquote(jsonrpc.Get(params, "message")); is && message != "" {
		text += ": " + message
	}
	return text
}

// result returns why no response came, the error of a response, or the texts of its result.
func result(e *Event) string {
	if e.Kind == traffic.Failure {
		return e.Fault
	}
	if text, is := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(e.Message, "error"), "message")); is {
		return text
	}
	return contents(jsonrpc.Get(e.Message, "result"))
}

// contents returns the texts of a result; empty without any.
func contents(result json.RawMessage) string {
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(result, &r) // another result has no texts
	var texts []string
	for _, c := range r.Content {
		if c.Text != "" {
			texts = append(texts, c.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (c *calls) counted() (n, failed, missed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, failed = c.past, c.pastFailed
	for _, one := range c.all {
		if one.shown {
			n++
		}
		if one.shown && one.failed {
			failed++
		}
	}
	return n, failed, c.missed
}

func (c *calls) tallies() map[string]tally {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]tally, len(c.servers))
	for name, t := range c.servers {
		all[name] = t
	}
	return all
}

// rows returns a line for each call, without housekeeping unless that is wanted.
func (c *calls) rows(width int) (rows []row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, one := range c.all {
		if !one.shown || !c.every && one.isHousekeeping() {
			continue
		}
		if one.laidFor != width || one.running > 0 { // the time of a running call grows
			one.laid, one.laidFor = row{one.key, one.line(now, width)}, width
		}
		rows = append(rows, one.laid)
	}
	return rows
}

// toggleEvery shows or hides housekeeping.
func (c *calls) toggleEvery() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.every = !c.every
}

// status returns how many calls rows leaves out, and whether one runs.
func (c *calls) status() (hidden int, running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.all {
		if one.shown && !c.every && one.isHousekeeping() {
			hidden++
		}
		running = running || one.shown && one.running > 0 && (c.every || !one.isHousekeeping())
	}
	return hidden, running
}

// callColumns returns the widths of two columns of calls. A narrow screen shows no clients.
func callColumns(width int) (client, what int) {
	switch {
	case width < 70:
		return 0, min(24, max(10, width-26))
	case width < 100:
		return 11, 26 + (width-80)/2
	}
	return 18, 40
}

func callsHeading(width int) string {
	client, what := callColumns(width)
	return cells(width, cell{8, "time", ""}, cell{client, "client", ""}, cell{what, "server/tool", ""}, cell{7, "outcome", ""}, cell{-7, "took", ""}, cell{width, "arguments, or the reason of the failure", ""})
}

// line returns the line of a call at a time.
func (c *call) line(now time.Time, width int) string {
	client, what := callColumns(width)
	name, _, _ := strings.Cut(c.client, "/")
	outcome, paint, took, said := "ok", green, span(c.took), c.arguments
	switch {
	case c.running > 0:
		outcome, paint, took, said = "running", yellow, "", cmp.Or(c.progress, c.arguments)
		if since := now.Sub(c.began); since >= time.Second {
			took = since.Truncate(time.Second).String()
		}
	case c.asks:
		outcome, paint = "asks", yellow
	case c.failed:
		outcome, paint, said = "failed", red, c.result
	}
	return cells(width, cell{8, c.began.Local().Format(time.TimeOnly), ""}, cell{client, cmp.Or(name, "-"), ""}, cell{what, c.what(), ""},
		cell{7, outcome, paint}, cell{-7, took, ""}, cell{width, said, ""})
}

// what returns SERVER/TOOL of a call, or the method of another request.
func (c *call) what() string {
	name := cmp.Or(c.named, c.name)
	if c.server != "" {
		name = strings.TrimSuffix(c.server+"/"+name, "/")
	}
	if c.method == methodCall {
		return name
	}
	return strings.TrimSpace(c.method + " " + name)
}

// span returns a time in at most 7 cells.
func span(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < 10*time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return d.Round(time.Second).String()
}

// text returns a call in full.
func (c *calls) text(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.by[key]
	if one == nil {
		return "This call is no longer kept: many followed it."
	}
	var b strings.Builder
	outcome := "ok, after " + span(one.took)
	switch {
	case one.running > 0:
		outcome = "running"
	case one.asks:
		outcome = "needs input from its client, after " + span(one.took)
	case one.failed:
		outcome = "failed, after " + span(one.took)
	}
	fmt.Fprintf(&b, "%s, for %s: %s\n", plaintext.Unbroken(one.what()), plaintext.Unbroken(cmp.Or(one.client, "junction itself")), outcome)
	if one.arguments != "" {
		fmt.Fprintf(&b, "\nArguments\n%s\n", pretty([]byte(one.arguments)))
	}
	if one.result != "" {
		fmt.Fprintf(&b, "\nResult\n%s\n", indented(one.result))
	}
	b.WriteString("\nMessages\n")
	for _, e := range one.events {
		if e.Kind == traffic.Note {
			fmt.Fprintf(&b, "\n%s  note, %s:\n%s\n", clock(e.Time), plaintext.Unbroken(e.Note), pretty(e.Message))
			continue
		}
		fmt.Fprintf(&b, "\n%s  %s  %s %s %s\n", clock(e.Time), Lane(&e.Event), e.Kind, plaintext.Unbroken(e.Method), plaintext.Unbroken(e.Name))
		body := cmp.Or(string(jsonrpc.Get(e.Message, "params")), string(jsonrpc.Get(e.Message, "result")), string(jsonrpc.Get(e.Message, "error")))
		fmt.Fprintf(&b, "%s\n", cmp.Or(indented(e.Fault), pretty([]byte(body))))
	}
	return b.String()
}

// indented returns a text of a peer with each line indented, so that none looks like a line of Junction.
func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

func clock(t time.Time) string { return t.Local().Format("15:04:05.000") }

// pretty returns JSON with a line for each member.
func pretty(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// Lane returns the two ends of a message and its direction.
func Lane(e *traffic.Event) string {
	arrow := "<-"
	if e.ToServer {
		arrow = "->"
	}
	if e.Kind == traffic.Note {
		arrow = "--"
	}
	if e.Hop == traffic.Server {
		return "junction " + arrow + " " + plaintext.Line(e.Server, 40)
	}
	return plaintext.Line(cmp.Or(e.Client, "a client"), 40) + " " + arrow + " junction"
}

// A cell is a text in a column. A negative width aligns it right, and 0 leaves the column out.
type cell struct {
	width int
	text  string
	paint colour
}

// cells lays cells out in one line, with a space between two. It cleans and cuts their texts.
func cells(width int, all ...cell) string {
	var b strings.Builder
	for _, c := range all {
		wide := min(max(c.width, -c.width), width)
		if wide <= 0 {
			continue
		}
		text := ansi.Truncate(plaintext.Line(c.text, wide+1), wide, "…")
		pad := strings.Repeat(" ", wide-ansi.StringWidth(text))
		if c.width < 0 {
			text, pad = pad+text, ""
		}
		b.WriteString(c.paint.text(text) + pad)
		if width -= wide + 1; width > 0 {
			b.WriteByte(' ')
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// A colour is an escape sequence that begins it.
type colour string

const (
	red    colour = "\x1b[31m"
	green  colour = "\x1b[32m"
	yellow colour = "\x1b[33m"
	bold   colour = "\x1b[1m"
	faint  colour = "\x1b[2m"
	invert colour = "\x1b[7m"
	reset         = "\x1b[m"
)

func (c colour) text(s string) string {
	if c == "" || s == "" {
		return s
	}
	return string(c) + s + reset
}
