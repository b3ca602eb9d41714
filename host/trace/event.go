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

// Event records what happened in a run. It fits [host.Options].
func (t *Trace) Event(e host.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Run != 0 && e.Run != t.inRun { // what belongs to no run can come in the middle of one
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
		t.add(&item{at: e.At, step: step, form: sequence.Arrow, from: theHost, to: theModel, label: label, detail: label + "\n" + text, says: text})
	case e.Decided != nil:
		t.decided(e.At, e.Decided)
	case e.Consent != nil:
		t.consent(e.At, e.Consent)
	case e.Called != nil:
		arguments := compact(e.Called.Arguments)
		i := &item{at: e.At, step: 4, form: sequence.Arrow, from: theHost, to: where(e.Called.Server), head: e.Called.Tool, label: arguments}
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
		t.answered(e.At, e.Answered)
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
	t.add(&item{at: at, step: 1, form: sequence.Note, from: theHost, to: theHost, label: label, detail: strings.Join(lines, "\n"), says: strings.Join(lines, "\n")})
}

// askedText says how much the model is asked with.
func askedText(a *host.Asked) string {
	return fmt.Sprintf("%s, %s, about %s, to %s", plaintext.Count(a.Messages, "message"), plaintext.Count(a.Tools, "tool"), plaintext.Count(a.Tokens, "token"), a.Model)
}

// questionOf is what the person said last.
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

// requestText says in a few lines what the model is asked with.
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
		lines = append(lines, string(newest[i].Role)+": "+oneLine(said(&newest[i])))
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

// newMessages is how many messages of a request are shown: mostly the new ones.
const newMessages = 4

// oneLine is the beginning of a text, without runs of white space.
func oneLine(text string) string {
	return plaintext.Line(strings.Join(strings.Fields(plaintext.Beginning(text, maxDetail)), " "), maxLabel)
}

// said is a message on one line: its texts, calls and results.
func said(m *model.Message) string {
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
		i.detail = said(d.Message)
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

// last is the newest of the seven steps that went to a participant from whose event is
// recorded.
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

// exchanges shows the bytes on the model's wire. Diagrams have them behind the
// request that they belong to.
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
