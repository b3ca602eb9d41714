package live

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/sequence"
	"github.com/junction-mcp/junction/traffic"
)

const (
	maxLanes    = 60 // of a diagram; the last one stands for all others
	maxLane     = 40 // characters of the name of one
	maxDrawnBox = 90 // characters next to an arrow
)

// draw makes a diagram of the newest messages that a filter shows.
func (r *Ring) draw(f *filter) *sequence.Diagram {
	var all []summary
	for p := (page{More: true}); p.More && len(all) < maxDrawn; {
		p = r.list(f, p.Next, false, min(maxPage, maxDrawn-len(all)))
		all = append(all, p.Items...)
	}
	d := &sequence.Diagram{Title: "What clients, Junction and servers said", MaxLanes: maxLanes, Others: "others"}
	for _, s := range slices.Backward(all) {
		i := sequence.Item{At: s.Time, Title: plaintext.Line(caption(&s), maxDrawnBox), Failed: s.Error}
		i.From, i.To = endsOf(&s)
		if answers(s.Kind) {
			i.Form = sequence.Reply
		}
		d.Items = append(d.Items, i)
	}
	return d
}

// endsOf says from where to where a message goes.
func endsOf(s *summary) (from, to sequence.Lane) {
	lane := func(rank int, name, role string) sequence.Lane {
		return sequence.Lane{Rank: rank, Name: plaintext.Line(name, maxLane), Role: role}
	}
	junction := lane(1, "junction "+strconv.Itoa(s.PID), "")
	other := junction
	switch {
	case s.Kind == traffic.Note:
	case s.Hop == traffic.Client:
		other = lane(0, cmp.Or(s.Client, "a client"), "client")
	case s.Hop == traffic.Server:
		other = lane(2, s.Server, "server")
	}
	if s.ToServer == (s.Hop == traffic.Client) {
		return other, junction
	}
	return junction, other
}

// caption is what stands next to an arrow.
func caption(s *summary) string {
	var b strings.Builder
	if s.Call > 0 {
		fmt.Fprintf(&b, "#%d ", s.Call)
	}
	switch {
	case s.Legacy:
		b.WriteString("legacy server: ")
	case s.Kind == traffic.Dropped:
		return plaintext.Count(s.Count, "message") + " missed"
	case s.Kind == traffic.Note:
		b.WriteString(s.Note + ": ")
	case s.Kind == traffic.Error, s.Kind == traffic.Failure:
		b.WriteString(s.Kind + ": ")
	}
	b.WriteString(strings.TrimSpace(s.Method + " " + s.Name))
	if s.Took > 0 && s.Kind != traffic.Note {
		fmt.Fprintf(&b, " %v", s.Took.Round(max(s.Took/1000, 10*time.Microsecond)))
	}
	return b.String()
}
