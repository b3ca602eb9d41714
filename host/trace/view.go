package trace

import (
	"io"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/sequence"
)

// WriteSVG writes the trace as a drawing that needs nothing else and follows the reader's choice of light or dark.
func (t *Trace) WriteSVG(w io.Writer) error { return t.diagram().SVG(w) }

// WriteMermaid writes the trace as a Mermaid sequence diagram.
func (t *Trace) WriteMermaid(w io.Writer) error { return t.diagram().Mermaid(w) }

// maxServers is how many servers have a lifeline of their own.
const maxServers = 10

// diagram is a copy of the trace, so that drawing keeps nobody from recording.
func (t *Trace) diagram() *sequence.Diagram {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := &sequence.Diagram{Title: "What happened between person, host, model and servers", Summary: t.summary(), Omitted: t.dropped,
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

// lane is the lifeline of a participant.
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

// summary is what all runs used.
func (t *Trace) summary() string {
	if t.totals.Requests == 0 {
		return ""
	}
	u := t.totals.Usage
	return plaintext.Count(t.totals.Requests, "request") + " to the model, " + plaintext.Count(t.totals.Calls, "call") + ", " +
		plaintext.Count(u.Input+u.Output, "token") + ", " + t.totals.Duration.Round(time.Millisecond).String()
}

// title is what an item does, in a few words.
func (i *item) title() string {
	switch {
	case i.step != 0 && i.head != "":
		return steps[i.step] + ": " + i.head
	case i.step != 0:
		return steps[i.step]
	}
	return i.head
}
