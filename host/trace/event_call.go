package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/sequence"
)

// where is the participant that a tool belongs to; the host has tools of its own.
func where(name string) string {
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
	i := &item{at: at, step: 5, form: sequence.Reply, from: where(r.Server), to: theHost, head: r.Tool, failed: r.IsError}
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

func (t *Trace) answered(at time.Time, a *host.Answered) {
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
	clear(t.calls) // whatever has no result by now will have none
}

// use counts what was used.
func (t *Trace) use(u host.Totals) {
	t.totals = host.Totals{
		Usage: t.totals.Usage.Add(u.Usage), Cost: t.totals.Cost + u.Cost, Requests: t.totals.Requests + u.Requests,
		Calls: t.totals.Calls + u.Calls, Duration: t.totals.Duration + u.Duration,
	}
}

// aside records what is not one of the seven steps. What a server whose messages
// are seen said is among them already.
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
		if d := e.Generated.Decided; e.Run == 0 && d != nil { // no Answered will count it
			t.use(host.Totals{Usage: d.Usage, Cost: d.Cost, Requests: 1, Duration: e.Generated.Duration})
		}
	case e.Progress != nil && !t.wired[e.Progress.Server]:
		p := e.Progress
		label := fmt.Sprintf("%g", p.Progress)
		if p.Total > 0 {
			label += fmt.Sprintf(" of %g", p.Total)
		}
		t.add(&item{at: e.At, form: sequence.Message, from: where(p.Server), to: theHost, head: "progress", label: label + " " + p.Message})
	case e.Log != nil && !t.wired[e.Log.Server]:
		l := e.Log
		t.add(&item{at: e.At, form: sequence.Message, from: where(l.Server), to: theHost, head: "log " + string(l.Level), label: compact(l.Data)})
	}
}
