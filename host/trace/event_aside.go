package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/sequence"
)

// serverRequested records a server's question to the person. What did not get there has a
// note.
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

// reviewed records that the person was shown what a server defines.
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

// generated records what the model was asked outside of the seven steps.
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
			i.says = said(d.Message)
			i.detail = i.says + "\n" + i.label
		}
	}
	if g.Error != "" {
		i.label = strings.TrimPrefix(i.label+"; "+g.Error, "; ")
		i.detail = strings.TrimSpace(i.detail + "\n" + g.Error)
	}
	t.add(i)
}

// requested records a request that belongs to none of the seven steps.
func (t *Trace) requested(at time.Time, head string, g *host.Generated) *item {
	text := requestText(g.Asked.Request)
	i := &item{at: at, form: sequence.Arrow, from: theHost, to: theModel, head: head, label: askedText(&g.Asked), says: text}
	i.detail = i.label + "\n" + text
	t.add(i)
	return i
}
