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
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/traffic"
)

// An Event is an event of traffic in a process.
type Event struct {
	PID int
	// Shown is set if the screen lists the call of the event.
	Shown bool
	traffic.Event
}

// Limits of the stored calls. At a limit the oldest calls are dropped.
const (
	maxCalls      = 2_000
	maxCallBytes  = 32 << 20
	maxCallEvents = 200 // largest number of events of a call; later ones are not stored
)

const methodCall = "tools/call"

// A calls holds the calls of the events so far, newest last.
type calls struct {
	now     func() time.Time
	mu      sync.Mutex
	all     []*call
	by      map[string]*call
	size    int
	servers map[string]tally
	missed  int  // number of missed events
	every   bool // whether rows includes housekeeping calls
	// past and pastFailed count the listed calls that were dropped.
	past, pastFailed int
}

// A tally counts the tool calls of a server.
type tally struct {
	calls, failed int
	last          time.Time
}

// A call is one request of a client with its messages.
type call struct {
	key           string
	pid           int
	id            string // id of the last request, as JSON
	began         time.Time
	hop           string // hop of the first message, where the response also arrives
	client        string
	method, name  string
	server, named string // server, and the server's own name for the tool
	running       int
	took          time.Duration
	failed        bool
	asks          bool   // whether the response asks the client for input, so that another request continues the call
	arguments     string // arguments, or other parameters
	progress      string // last progress notification of a running call
	result        string // texts of the result, or the reason for a failure
	shown         bool
	events        []Event
	size          int
	laid          row // line for a width of laidFor cells; laidFor is 0 after a change
	laidFor       int
}

// isHousekeeping reports whether clients send a request of this method without an action of their
// user. Examples are a handshake, a ping or a request for a list. A failed request does not count,
// because the user may need to see it.
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
		if e.Kind != traffic.Request || !e.ToServer { // the beginning of the call was not seen
			return
		}
		one = &call{key: key, pid: e.PID, began: e.Time, hop: e.Hop, client: e.Client, method: e.Method, name: e.Name}
		if c.by == nil {
			c.by = map[string]*call{}
		}
		c.by[key], c.all = one, append(c.all, one)
	}
	held := one.heldBytes()
	one.add(&e)
	one.size, c.size = one.size+one.heldBytes()-held, c.size+one.heldBytes()-held
	one.shown = one.shown || e.Shown
	if len(one.events) < maxCallEvents {
		size := len(e.Message) + 500
		one.events, one.size, c.size = append(one.events, e), one.size+size, c.size+size
	}
	for len(c.all) > maxCalls || c.size > maxCallBytes && len(c.all) > 1 {
		c.forget()
	}
}

// cancel ends the call that a legacy client cancelled, because such a call gets no response. If
// several calls match, for example of two windows of one client, cancel does nothing.
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

// forget drops the oldest call and counts it.
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

// tally counts an event for its server.
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

// heldBytes returns the size in bytes of a call's texts without its events.
func (c *call) heldBytes() int { return len(c.arguments) + len(c.progress) + len(c.result) }

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

// progress returns a text for the parameters of a progress notification, such as "3 of 10:
// copying".
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

// result returns the reason for a missing response, the message of an error, or the texts of a
// result.
func result(e *Event) string {
	if e.Kind == traffic.Failure {
		return e.Fault
	}
	if text, is := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(e.Message, "error"), "message")); is {
		return text
	}
	return contents(jsonrpc.Get(e.Message, "result"))
}

// contents returns the texts of a result, or "".
func contents(result json.RawMessage) string {
	var r struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(result, &r) // a result of another form has no texts
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

// rows returns a line for each call. It omits housekeeping calls unless every is set.
func (c *calls) rows(width int) (rows []row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	for _, one := range c.all {
		if !one.shown || !c.every && one.isHousekeeping() {
			continue
		}
		if one.laidFor != width || one.running > 0 || one.asks { // these change with time
			one.laid, one.laidFor = row{one.key, one.line(now, width)}, width
		}
		rows = append(rows, one.laid)
	}
	return rows
}

// toggleEvery shows or hides housekeeping calls.
func (c *calls) toggleEvery() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.every = !c.every
}

// status returns the number of calls that rows omits, and whether any shown call is running.
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

// callColumns returns the widths of two columns in the list of calls. On a narrow screen the client
// has no column.
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

// hasLeft reports whether the client can no longer continue a call whose response asked for input.
func (c *call) hasLeft(now time.Time) bool {
	return c.running == 0 && c.asks && now.Sub(c.began.Add(c.took)) >= mcp.DefaultStateTimeout
}

// line returns the line for a call.
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
	case c.hasLeft(now):
		outcome, paint, said = "left", red, "the client did not answer what the call asked for"
	case c.asks:
		outcome, paint = "asks", yellow
	case c.failed:
		outcome, paint, said = "failed", red, c.result
	}
	return cells(width, cell{8, c.began.Local().Format(time.TimeOnly), ""}, cell{client, cmp.Or(name, "-"), ""}, cell{what, c.what(), ""},
		cell{7, outcome, paint}, cell{-7, took, ""}, cell{width, said, ""})
}

// what returns SERVER/TOOL for a tool call, and otherwise the method of the request.
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

// span returns a duration as text of at most 7 cells.
func span(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	case d < 10*time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return d.Round(time.Second).String()
}

// text returns all details of a call.
func (c *calls) text(key string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.by[key]
	if one == nil {
		return "This call is no longer kept, because many calls followed it."
	}
	var b strings.Builder
	outcome := "ok, after " + span(one.took)
	switch {
	case one.running > 0:
		outcome = "running"
	case one.hasLeft(c.now()):
		outcome = "the client left, after " + span(one.took)
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

// indented returns the text of a peer with all lines indented, so that none looks like a line of
// Junction's.
func indented(text string) string {
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n  ")
}

func clock(t time.Time) string { return t.Local().Format("15:04:05.000") }

// pretty returns JSON with each member on its own line.
func pretty(raw []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// Lane returns the two ends of a message and an arrow for its direction.
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

// A cell is a text in a column. A negative width aligns the text right; with a width of 0 the
// column is omitted.
type cell struct {
	width int
	text  string
	paint colour
}

// cells joins cells to a line, with a space between them. It cleans their texts and cuts them to
// their widths.
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

// The value of a colour is the escape sequence that selects it.
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
