package trace

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/sequence"
	"github.com/junction-mcp/junction/internal/terminal"
)

// Limits of a trace. Older items are dropped, and diagrams report that.
const (
	maxItems  = 2_000   // steps, messages and notes
	maxBytes  = 4 << 20 // bytes of all of them
	maxLabel  = 160     // characters of a line
	maxDetail = 4 << 10 // bytes of the detail of an item
	maxOpen   = 1_024   // calls without a result
)

// Options configures a Trace. The zero value records events and writes nothing.
type Options struct {
	// Out gets every event as text, while it happens. Errors of Out are ignored, so that they do
	// not end a run.
	Out io.Writer
	// Width is the width of a line in cells; 0 means 80.
	Width int
}

// Trace records events for a diagram. It is safe for concurrent use.
type Trace struct {
	options Options

	mu      sync.Mutex
	items   []*item
	bytes   int
	dropped int
	model   string                // name of the model
	wired   map[string]bool       // servers whose messages are recorded
	calls   map[string]*callState // by [host.CallID]
	at      *scope                // scope of the event that is being recorded
	agents  map[string]*scope     // sub-agents of this run, by the id of their call
	inRun   int                   // the run's number
	began   int                   // number of items before the run's first, including dropped ones
	next    int64                 // id of the newest message
	totals  host.Totals
}

// callState is a call without a result so far.
type callState struct {
	scope    *scope
	called   *item
	response string // the message with its result
}

// New returns an empty trace.
func New(o Options) *Trace {
	if o.Width <= 0 {
		o.Width = 80
	}
	return &Trace{options: o, wired: map[string]bool{}, calls: map[string]*callState{}, at: new(scope), agents: map[string]*scope{}}
}

// Participants of every diagram; the others are servers.
const (
	person   = "person"
	theHost  = "host"
	theModel = "model"
)

// server returns the participant for a server's name.
func server(name string) string {
	return "server " + plaintext.Line(redacted(plaintext.Beginning(name, 8*maxLabel)), maxLabel)
}

// item is one event of the trace. Its texts are clean and cut.
type item struct {
	at       time.Time
	step     int // number of the step, or 0
	form     sequence.Form
	from, to string
	head     string // kind or name of the event
	label    string // arguments or summary, on one line
	detail   string // full text, on several lines
	text     string // text written below the line
	failed   bool
	covered  bool   // diagrams show it within another item
	scope    *scope // run or sub-agent of the event
}

// steps holds the names of the seven steps.
var steps = [...]string{1: "list tools", 2: "ask model", 3: "decide", 4: "call", 5: "result", 6: "model", 7: "answer"}

// add appends an item and writes it. The caller holds t.mu.
func (t *Trace) add(i *item) {
	t.place(i)
	t.clean(i)
	t.items = append(t.items, i)
	t.bytes += i.size()
	t.shrink()
	if t.options.Out != nil {
		io.WriteString(t.options.Out, t.options.text(i)) // errors of Out are ignored
	}
}

// insert puts an item before the others of its run. The caller holds t.mu.
func (t *Trace) insert(i *item) {
	t.place(i)
	t.clean(i)
	at := min(max(0, t.began-t.dropped), len(t.items))
	t.items = append(t.items, nil)
	copy(t.items[at+1:], t.items[at:])
	t.items[at] = i
	if at+1 < len(t.items) && t.items[at+1].at.Before(i.at) {
		i.at = t.items[at+1].at // not later than the item that follows
	}
	t.bytes += i.size()
	t.shrink()
}

func (t *Trace) shrink() {
	for len(t.items) > maxItems || t.bytes > maxBytes {
		t.bytes -= t.items[0].size()
		t.items[0] = nil // releases its texts
		t.items = t.items[1:]
		t.dropped++
	}
}

func (t *Trace) clean(i *item) {
	if i.at.IsZero() {
		i.at = time.Now()
	}
	i.head = plaintext.Line(redacted(plaintext.Beginning(i.head, 8*maxLabel)), maxLabel)
	i.label = plaintext.Line(redacted(plaintext.Beginning(i.label, 8*maxLabel)), maxLabel)
	i.detail = detail(i.detail)
	i.text = detail(i.text)
}

// extend appends text to the detail of an existing item. The caller holds t.mu.
func (t *Trace) extend(i *item, text string) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	before := i.size()
	i.detail = detail(strings.TrimSpace(i.detail + "\n" + text))
	t.bytes += i.size() - before
}

func (i *item) size() int { return len(i.head) + len(i.label) + len(i.detail) + len(i.text) + itemSize }

// itemSize is the approximate size of an item without its texts.
const itemSize = 256

// detail returns a text for reading, of bounded length.
func detail(text string) string {
	begin := plaintext.Beginning(text, 2*maxDetail) // longer than the result, because a secret is recognized by the name before it and a cut must not separate them
	begin = plaintext.Clean(redacted(begin))
	if cut := plaintext.Beginning(begin, maxDetail); len(cut) < len(begin) || len(begin) == 0 && text != "" {
		return cut + fmt.Sprintf(" … (%d bytes)", len(text))
	}
	return strings.Clone(begin) // a copy, so that the long text is released
}

// Columns of the text, in cells.
const (
	stepIndent = 16
	sideIndent = 4
	maxSpoken  = 480 // bytes of text below a line; diagrams have more
)

// WriteText writes the whole trace as text.
func (t *Trace) WriteText(w io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	if t.dropped > 0 {
		fmt.Fprintf(&b, "%s\n", sequence.Omitted(t.dropped))
	}
	for _, i := range t.items {
		b.WriteString(t.options.text(i))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text returns an item as lines, indented for a sub-agent.
func (o *Options) text(i *item) string {
	margin := min(i.scope.depth*sideIndent, o.Width/2)
	if margin == 0 {
		return o.lines(i)
	}
	inner := *o
	inner.Width -= margin
	var b strings.Builder
	for line := range strings.Lines(inner.lines(i)) {
		b.WriteString(strings.Repeat(" ", margin) + line)
	}
	return b.String()
}

func (o *Options) lines(i *item) string {
	if i.form == sequence.Message {
		text := i.detail
		if text == "" {
			text = i.line()
		}
		if len(text) > maxSpoken {
			text = plaintext.Beginning(text, maxSpoken) + "…"
		}
		return fill(arrowText(i)+"  "+text, sideIndent, o.Width) + "\n"
	}
	text := terminal.Wrap(arrowText(i)+" "+i.line(), sideIndent, o.Width)
	if i.step != 0 {
		line := terminal.Wrap(i.line(), stepIndent, o.Width)
		text = fmt.Sprintf("%2d  %-*s", i.step, stepIndent-4, steps[i.step]) + strings.TrimPrefix(line, strings.Repeat(" ", stepIndent))
	}
	text += "\n"
	if i.text != "" {
		text += terminal.Wrap(plaintext.Beginning(i.text, maxSpoken), stepIndent, o.Width) + "\n"
	}
	return text
}

// line returns the head and the label of an item on one line.
func (i *item) line() string {
	switch agent := i.scope.prefix(); {
	case i.head == "":
		return agent + i.label
	case i.label == "":
		return agent + i.head
	default:
		return agent + i.head + ": " + i.label
	}
}

// fill breaks text at any character, because text on a wire may have no spaces. It indents the
// lines after the first a little more, and omits empty ones.
func fill(text string, indent, width int) string {
	var b strings.Builder
	margin := strings.Repeat(" ", indent)
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\t", " "), "\n") {
		used := width + 1
		for _, r := range strings.TrimRight(line, " ") {
			cells := terminal.Width(string(r))
			if used+cells > width {
				if b.Len() > 0 {
					b.WriteString("\n  ")
				}
				b.WriteString(margin)
				used = indent + 2
			}
			b.WriteRune(r)
			used += cells
		}
	}
	return b.String()
}

// arrowText describes the direction of an item, from the host's point of view.
func arrowText(i *item) string {
	switch {
	case i.form == sequence.Note:
		return "·"
	case i.from == theHost:
		return "→ " + shortName(i.to)
	}
	return "← " + shortName(i.from)
}

func shortName(participant string) string {
	name := strings.TrimPrefix(participant, "server ")
	if name == host.OwnServer && name != participant { // a server with this name, and not the host itself
		return "own tools"
	}
	return name
}

// WriteSVG writes the trace as a self-contained SVG image that follows the reader's choice of light
// or dark.
func (t *Trace) WriteSVG(w io.Writer) error { return t.diagram().SVG(w) }

// WriteMermaid writes the trace as a Mermaid sequence diagram.
func (t *Trace) WriteMermaid(w io.Writer) error { return t.diagram().Mermaid(w) }

// maxServers is the number of servers with lifelines of their own.
const maxServers = 10

// diagram returns a copy of the trace, so that drawing does not block recording.
func (t *Trace) diagram() *sequence.Diagram {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := &sequence.Diagram{Title: "Messages between user, host, model and servers", Summary: t.summary(), Omitted: t.dropped,
		Lanes: []sequence.Lane{t.lane(person), t.lane(theHost), t.lane(theModel)}, MaxLanes: 3 + maxServers + 1, Others: "other servers"}
	asked := false
	for _, i := range t.items {
		if i.covered {
			continue
		}
		if isQuestion := i.from == person && i.head == "question"; isQuestion && !asked {
			d.Title, asked = i.label, true
		}
		shown := sequence.Item{At: i.at, Step: i.step, Form: i.form, From: t.lane(i.from), To: t.lane(i.to), By: i.scope.agent, Title: i.title(), Label: i.label, Detail: i.detail, Failed: i.failed}
		if shown.Detail == "" {
			shown.Detail = i.label
		}
		d.Items = append(d.Items, shown)
	}
	return d
}

// lane returns the lifeline of a participant.
func (t *Trace) lane(p string) sequence.Lane {
	switch {
	case p == person:
		return sequence.Lane{Name: p, Role: sequence.Person}
	case p == theModel && t.model != "":
		return sequence.Lane{Rank: 2, Name: detail(oneLine(t.model)), Role: p}
	case p == theModel:
		return sequence.Lane{Rank: 2, Name: p, Role: p}
	case p == theHost:
		return sequence.Lane{Rank: 1, Name: p, Role: p}
	}
	return sequence.Lane{Rank: 3, Name: detail(oneLine(shortName(p))), Role: "server"}
}

// summary describes the resources that all runs used.
func (t *Trace) summary() string {
	if t.totals.Requests == 0 {
		return ""
	}
	u := t.totals.Usage
	return plaintext.Count(t.totals.Requests, "request") + " to the model, " + plaintext.Count(t.totals.Calls, "call") + ", " +
		plaintext.Count(u.Input+u.Output, "token") + ", " + t.totals.Duration.Round(time.Millisecond).String()
}

// title describes an item in a few words.
func (i *item) title() string {
	switch {
	case i.step != 0 && i.head != "":
		return steps[i.step] + ": " + i.head
	case i.step != 0:
		return steps[i.step]
	}
	return i.head
}

// blot replaces possible secrets.
const blot = "•••"

// redacted returns a text, or the beginning of one, with possible secrets replaced.
func redacted(text string) string { return redact.Hide(text, blot) }
