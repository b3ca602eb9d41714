package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/sequence"
	"github.com/junction-mcp/junction/model"
)

// Event records an event of a run. It can be used as OnEvent of [host.Options].
func (t *Trace) Event(e host.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Run != 0 && e.Run != t.inRun { // events outside of runs can come during one
		t.inRun, t.at, t.began = e.Run, new(scope), t.dropped+len(t.items)
		clear(t.agents)
	}
	t.event(e)
}

func (t *Trace) event(e host.Event) {
	switch {
	case e.Child != nil:
		t.child(e.At, e.Child)
	case e.Listed != nil:
		t.listed(e.At, e.Listed)
	case e.Asked != nil:
		step := 6
		if !t.at.asked {
			step, t.at.asked = 2, true
			if question := questionOf(e.Asked.Request); question != "" && t.at.depth == 0 {
				t.insert(&item{at: e.At, form: sequence.Arrow, from: person, to: theHost, head: "question", label: question, detail: question})
			}
		}
		t.model = e.Asked.Model
		label, text := askedText(e.Asked), requestText(e.Asked.Request)
		t.add(&item{at: e.At, step: step, form: sequence.Arrow, from: theHost, to: theModel, label: label, detail: label + "\n" + text, text: text})
	case e.Decided != nil:
		t.decided(e.At, e.Decided)
	case e.Consent != nil:
		t.consent(e.At, e.Consent)
	case e.Called != nil:
		arguments := compact(e.Called.Arguments)
		i := &item{at: e.At, step: 4, form: sequence.Arrow, from: theHost, to: ownerOf(e.Called.Server), head: e.Called.Tool, label: arguments}
		if i.to == theHost {
			i.form = sequence.Note
		}
		i.detail = e.Called.Tool + " " + arguments
		t.add(i)
		if len(t.calls) < maxOpen {
			t.calls[t.at.id(e.Called.CallID)] = &callState{scope: t.at, called: i}
		}
	case e.Returned != nil:
		t.returned(e.At, e.Returned)
	case e.Answered != nil:
		t.addAnswer(e.At, e.Answered)
	default:
		t.aside(e)
	}
}

func (t *Trace) listed(at time.Time, l *host.Listed) {
	var lines []string
	tools := 0
	for _, s := range l.Servers {
		tools += s.Tools
		line := fmt.Sprintf("%s: %s, %d of %s, about %s", s.Server, s.State, s.Seen, plaintext.Count(s.Tools, "tool"), plaintext.Count(s.Tokens, "token"))
		if s.Error != "" {
			line += ": " + s.Error
		}
		lines = append(lines, line)
	}
	label := fmt.Sprintf("%s, %s: %d given, %d deferred, about %s",
		plaintext.Count(len(l.Servers), "server"), plaintext.Count(tools, "tool"), l.Native, l.Deferred, plaintext.Count(l.Tokens, "token"))
	t.add(&item{at: at, step: 1, form: sequence.Note, from: theHost, to: theHost, label: label, detail: strings.Join(lines, "\n"), text: strings.Join(lines, "\n")})
}

// askedText describes the size of a request to the model.
func askedText(a *host.Asked) string {
	return fmt.Sprintf("%s, %s, about %s, to %s", plaintext.Count(a.Messages, "message"), plaintext.Count(a.Tools, "tool"), plaintext.Count(a.Tokens, "token"), a.Model)
}

// questionOf returns the last text of the user in a request.
func questionOf(r *model.Request) string {
	if r == nil {
		return ""
	}
	for i := len(r.Messages) - 1; i >= 0; i-- {
		if m := &r.Messages[i]; m.Role == model.RoleUser && m.Text() != "" {
			return m.Text()
		}
	}
	return ""
}

// requestText summarizes a request to the model in a few lines.
func requestText(r *model.Request) string {
	if r == nil {
		return ""
	}
	var lines []string
	if r.System != "" {
		lines = append(lines, "system: "+oneLine(r.System))
	}
	newest := r.Messages[max(0, len(r.Messages)-newMessages):]
	if left := len(r.Messages) - len(newest); left > 0 {
		lines = append(lines, fmt.Sprintf("(%s before)", plaintext.Count(left, "message")))
	}
	for i := range newest {
		lines = append(lines, string(newest[i].Role)+": "+oneLine(messageLine(&newest[i])))
	}
	var names []string
	for i := range r.Tools[:min(len(r.Tools), 40)] {
		names = append(names, r.Tools[i].Name)
	}
	if len(r.Tools) > len(names) {
		names = append(names, fmt.Sprintf("and %d more", len(r.Tools)-len(names)))
	}
	if len(names) > 0 {
		lines = append(lines, "tools: "+strings.Join(names, ", "))
	}
	return strings.Join(lines, "\n")
}

// newMessages is the number of last messages of a request that are shown.
const newMessages = 4

// oneLine returns the beginning of a text on one line.
func oneLine(text string) string {
	return plaintext.Line(strings.Join(strings.Fields(plaintext.Beginning(text, maxDetail)), " "), maxLabel)
}

// messageLine returns a message on one line: its texts, calls and results.
func messageLine(m *model.Message) string {
	var parts []string
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Call != nil:
			parts = append(parts, callText(p.Call.Name, p.Call.Arguments))
		case p.Result != nil:
			parts = append(parts, p.Result.Name+" returned "+p.Result.Text())
		case p.Media != nil:
			parts = append(parts, "["+p.Media.Type+"]")
		case p.Text != "":
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, " ")
}

func (t *Trace) decided(at time.Time, d *host.Decided) {
	t.exchanges(at, d.Exchanges, t.last(theModel))
	i := &item{at: at, form: sequence.Reply, from: theModel, to: theHost, head: "no more calls"}
	var calls []string
	if d.Message != nil {
		for _, c := range d.Message.Calls() {
			calls = append(calls, callText(c.Name, c.Arguments))
		}
		i.detail = messageLine(d.Message)
	}
	if last := t.last(theModel); len(calls) > 0 || last == nil || last.step == 2 {
		i.step, i.head = 3, ""
	}
	i.label = usage(d)
	if len(calls) > 0 {
		i.label = strings.Join(calls, ", ")
		i.detail += "\n" + usage(d)
	} else if i.step == 3 {
		i.label = "to answer; " + i.label
	}
	t.add(i)
}

// last returns the newest step that goes to a participant in the current scope.
func (t *Trace) last(to string) *item {
	for n := len(t.items) - 1; n >= 0; n-- {
		if t.items[n].scope == t.at && t.items[n].to == to && t.items[n].form == sequence.Arrow && t.items[n].step != 0 {
			return t.items[n]
		}
	}
	return nil
}

func usage(d *host.Decided) string {
	text := fmt.Sprintf("%s in, %d out, stop: %s", plaintext.Count(d.Usage.Input, "token"), d.Usage.Output, d.Stop)
	if d.StopDetail != "" && d.StopDetail != string(d.Stop) {
		text += " (" + d.StopDetail + ")"
	}
	if d.Cost > 0 {
		text += fmt.Sprintf(", $%.4f", d.Cost)
	}
	return text
}

// exchanges records the bytes exchanged with the model. Diagrams show them with their request.
func (t *Trace) exchanges(at time.Time, all []model.Exchange, asked *item) {
	for i := range all {
		e := &all[i]
		out := &item{at: at, form: sequence.Message, from: theHost, to: theModel, covered: true,
			detail: e.Method + " " + e.URL + "\n" + string(e.RequestBody[:min(len(e.RequestBody), maxJSON)])}
		in := &item{at: at, form: sequence.Message, from: theModel, to: theHost, covered: true, failed: e.Status >= 400 || e.Status == 0,
			detail: fmt.Sprintf("status %d\n%s", e.Status, e.ResponseBody[:min(len(e.ResponseBody), maxJSON)])}
		t.add(out)
		t.add(in)
		if asked != nil {
			t.extend(asked, out.detail+"\n"+in.detail)
		}
	}
}

func callText(name string, arguments json.RawMessage) string {
	return name + " " + compact(arguments)
}

func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// serverRequested records a server's question to the user. A question that did not reach the user
// becomes a note.
func (t *Trace) serverRequested(at time.Time, q *host.ServerRequested) {
	text := q.Message
	if text == "" {
		text = "asked by " + q.Server
	}
	if why, refused := strings.CutPrefix(q.Outcome, "refused"); refused {
		label := q.Server + ": " + text + why
		t.add(&item{at: at, form: sequence.Note, from: theHost, to: theHost, head: "refused " + q.Method, label: label, detail: label, failed: true})
		return
	}
	t.add(&item{at: at, form: sequence.Arrow, from: theHost, to: person, head: q.Method, label: text, detail: q.Server + ": " + text})
	t.add(&item{at: at, form: sequence.Reply, from: person, to: theHost, head: q.Method, label: q.Outcome})
}

// reviewed records a review of a server's definitions.
func (t *Trace) reviewed(at time.Time, r *host.Reviewed) {
	what := "changed"
	if r.First {
		what = "new"
	}
	text := fmt.Sprintf("%s of %s, %s", plaintext.Count(r.Definitions, "definition"), r.Server, what)
	outcome := "refused"
	switch {
	case r.Error != "":
		outcome = r.Error
	case r.Approved:
		outcome = "approved"
	}
	t.add(&item{at: at, form: sequence.Arrow, from: theHost, to: person, head: "review", label: text, detail: text})
	t.add(&item{at: at, form: sequence.Reply, from: person, to: theHost, head: "review", label: outcome, detail: outcome, failed: !r.Approved})
}

// generated records a request to the model outside of the seven steps.
func (t *Trace) generated(at time.Time, g *host.Generated) {
	asked, head := t.last(theModel), "no answer"
	if g.For != host.ForStep {
		head = strings.TrimSpace(g.For + " " + g.Server)
		asked = t.requested(at, head, g)
	}
	t.exchanges(at, g.Exchanges, asked)
	i := &item{at: at, form: sequence.Reply, from: theModel, to: theHost, head: head, failed: g.Error != ""}
	if d := g.Decided; d != nil {
		i.label = usage(d)
		if d.Message != nil {
			i.text = messageLine(d.Message)
			i.detail = i.text + "\n" + i.label
		}
	}
	if g.Error != "" {
		i.label = strings.TrimPrefix(i.label+"; "+g.Error, "; ")
		i.detail = strings.TrimSpace(i.detail + "\n" + g.Error)
	}
	t.add(i)
}

// requested records the start of such a request.
func (t *Trace) requested(at time.Time, head string, g *host.Generated) *item {
	text := requestText(g.Asked.Request)
	i := &item{at: at, form: sequence.Arrow, from: theHost, to: theModel, head: head, label: askedText(&g.Asked), text: text}
	i.detail = i.label + "\n" + text
	t.add(i)
	return i
}

// ownerOf returns the participant for the server with the name. Built-in tools, without a server,
// belong to the host.
func ownerOf(name string) string {
	if name == "" {
		return theHost
	}
	return server(name)
}

func (t *Trace) consent(at time.Time, c *host.Consented) {
	i := &item{at: at, form: sequence.Note, from: theHost, to: theHost, failed: !c.Allowed, head: "allowed"}
	if !c.Allowed {
		i.head = "refused"
	}
	i.label = c.Tool + ", by " + c.By
	if c.Rule != "" {
		i.label += ", rule " + c.Rule
	}
	if c.Reason != "" {
		i.label += ": " + c.Reason
	}
	if c.By == "person" {
		i.form, i.from = sequence.Arrow, person
	}
	i.detail = i.label
	t.add(i)
}

func (t *Trace) returned(at time.Time, r *host.Returned) {
	i := &item{at: at, step: 5, form: sequence.Reply, from: ownerOf(r.Server), to: theHost, head: r.Tool, failed: r.IsError}
	if i.from == theHost {
		i.form = sequence.Note
	}
	i.label = strings.TrimSpace(r.Text)
	facts := fmt.Sprintf("%s, %s, about %s for the model", r.Duration.Round(time.Millisecond), plaintext.Count(r.Bytes, "byte"), plaintext.Count(r.Tokens, "token"))
	if r.Duration < time.Millisecond {
		facts = strings.Replace(facts, "0s", "under 1ms", 1)
	}
	if r.Kept != "" {
		facts += ", the rest kept as " + r.Kept
	}
	for _, m := range r.Media {
		facts += fmt.Sprintf(", %s of %s", m.Type, plaintext.Count(len(m.Data), "byte"))
	}
	if r.IsError {
		facts = "failed; " + facts
	}
	i.detail = facts + "\n" + r.Text
	if id := t.at.id(r.CallID); t.calls[id] != nil {
		i.detail += "\n" + t.calls[id].response
		delete(t.calls, id)
	}
	t.add(i)
}

func (t *Trace) addAnswer(at time.Time, a *host.Answered) {
	i := &item{at: at, step: 7, form: sequence.Reply, from: theHost, to: person, label: strings.TrimSpace(a.Text), failed: a.Error != ""}
	if t.at.depth > 0 {
		i.step, i.form, i.to, i.head = 0, sequence.Note, theHost, "answer"
	}
	if a.Stop != "" && a.Stop != "end" {
		i.head = "stopped: " + a.Stop
	}
	if a.Error != "" {
		i.head += ": " + a.Error
	}
	u := a.Totals.Usage
	i.detail = fmt.Sprintf("%s\n%s, %s, %s in, %d out, $%.4f, %s", a.Text, plaintext.Count(a.Totals.Requests, "request"), plaintext.Count(a.Totals.Calls, "call"),
		plaintext.Count(u.Input, "token"), u.Output, a.Totals.Cost, a.Totals.Duration.Round(time.Millisecond))
	t.add(i)
	if t.at.depth > 0 {
		t.at.asked = false
		for id := range t.calls {
			if strings.HasPrefix(id, t.at.call+"/") {
				delete(t.calls, id)
			}
		}
		return
	}
	t.use(a.Totals)
	clear(t.calls) // the remaining calls will not get a result
}

// use adds used resources to the totals.
func (t *Trace) use(u host.Totals) {
	t.totals = host.Totals{
		Usage: t.totals.Usage.Add(u.Usage), Cost: t.totals.Cost + u.Cost, Requests: t.totals.Requests + u.Requests,
		Calls: t.totals.Calls + u.Calls, Duration: t.totals.Duration + u.Duration,
	}
}

// aside records an event that is not one of the seven steps. It skips progress and log messages of
// servers whose messages are recorded anyway.
func (t *Trace) aside(e host.Event) {
	switch {
	case e.Notice != nil:
		n := e.Notice
		subject := strings.Trim(n.Server+" "+n.Tool, " ")
		if subject != "" {
			subject += ": "
		}
		t.add(&item{at: e.At, form: sequence.Note, from: theHost, to: theHost, head: n.Kind, label: subject + n.Text, detail: subject + n.Text})
	case e.ServerRequest != nil:
		t.serverRequested(e.At, e.ServerRequest)
	case e.Reviewed != nil:
		t.reviewed(e.At, e.Reviewed)
	case e.Generated != nil:
		t.generated(e.At, e.Generated)
		if d := e.Generated.Decided; e.Run == 0 && d != nil { // no Answered event will include it
			t.use(host.Totals{Usage: d.Usage, Cost: d.Cost, Requests: 1, Duration: e.Generated.Duration})
		}
	case e.Progress != nil && !t.wired[e.Progress.Server]:
		p := e.Progress
		label := fmt.Sprintf("%g", p.Progress)
		if p.Total > 0 {
			label += fmt.Sprintf(" of %g", p.Total)
		}
		t.add(&item{at: e.At, form: sequence.Message, from: ownerOf(p.Server), to: theHost, head: "progress", label: label + " " + p.Message})
	case e.Log != nil && !t.wired[e.Log.Server]:
		l := e.Log
		t.add(&item{at: e.At, form: sequence.Message, from: ownerOf(l.Server), to: theHost, head: "log " + string(l.Level), label: compact(l.Data)})
	}
}

// A scope is a run, or a sub-agent in a run.
type scope struct {
	agent string // name of the sub-agent; empty for the run
	call  string // call that the sub-agent carries out
	depth int
	asked bool // the model was asked before
}

// id returns an id for a call that is unique in the whole run, because the ids of sub-agents may
// repeat.
func (s *scope) id(call string) string {
	if s.call == "" || call == "" {
		return call
	}
	return s.call + "/" + call
}

func (s *scope) prefix() string {
	if s.agent == "" {
		return ""
	}
	return s.agent + ": "
}

// place sets the scope of an item to the current one, unless it has one.
func (t *Trace) place(i *item) {
	if i.scope == nil {
		i.scope = t.at
	}
}

// child records an event of a sub-agent in the scope of its call.
func (t *Trace) child(at time.Time, c *host.ChildEvent) {
	outer := t.at
	defer func() { t.at = outer }()
	t.at = t.agent(outer, c)
	e := c.Event
	if e.At.IsZero() {
		e.At = at
	}
	t.event(e)
}

// agent returns the scope of a sub-agent, and creates it at the first event.
func (t *Trace) agent(outer *scope, c *host.ChildEvent) *scope {
	call := outer.id(c.CallID)
	key := call + "\x00" + c.Agent // one call can have several sub-agents
	found := t.agents[key]
	if found == nil {
		found = &scope{agent: detail(oneLine(c.Agent)), call: call, depth: outer.depth + 1}
		if len(t.agents) < maxOpen {
			t.agents[key] = found
		}
	}
	return found
}
