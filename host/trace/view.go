package trace

import (
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// A view is what diagrams show: a copy of the trace, so that drawing keeps nobody
// from recording.
type view struct {
	items        []item
	participants []string // from left to right
	names        map[string]string
	dropped      int
	others       bool // there are servers beyond the last lifeline
	summary      string
}

// maxServers is how many servers have a lifeline of their own.
const maxServers = 10

// others is the participant for the servers beyond.
const otherServers = "server "

func (t *Trace) view() *view {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := &view{dropped: t.dropped, names: map[string]string{person: "person", theHost: "host", theModel: "model", otherServers: "other servers"}, summary: t.summary()}
	if t.model != "" {
		v.names[theModel] = detail(oneLine(t.model))
	}
	v.participants = []string{person, theHost, theModel}
	for _, i := range t.items {
		if i.covered {
			continue
		}
		shown := *i
		shown.from, shown.to = v.participant(i.from), v.participant(i.to)
		v.items = append(v.items, shown)
	}
	return v
}

// participant finds or makes the lifeline of a participant.
func (v *view) participant(p string) string {
	if slices.Contains(v.participants, p) {
		return p
	}
	if len(v.participants) >= maxServers+3 {
		if v.others {
			return otherServers
		}
		v.others, p = true, otherServers
	} else {
		v.names[p] = detail(oneLine(shortName(p)))
	}
	v.participants = append(v.participants, p)
	return p
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

// title is what an item does, in a few words, and which sub-agent does it.
func (i *item) title() string {
	title := i.head
	switch {
	case i.step != 0 && i.head != "":
		title = steps[i.step] + ": " + i.head
	case i.step != 0:
		title = steps[i.step]
	}
	return i.scope.prefix() + title
}

// tooltip is all that is known of an item.
func (i *item) tooltip() string {
	text := i.title()
	if i.detail != "" {
		return text + "\n" + i.detail
	}
	return text + "\n" + i.label
}
