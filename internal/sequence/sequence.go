// Package sequence draws sequence diagrams in SVG and in Mermaid. The texts of a diagram are
// escaped.
package sequence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/sorting"
)

// A Diagram holds the items between participants, in order.
type Diagram struct {
	// Title is shown above a drawing, with Summary below it. Mermaid only shows Summary, at the
	// end.
	Title, Summary string
	// Lanes holds participants that are always drawn; the items add others.
	Lanes []Lane
	// MaxLanes limits the participants if it is not 0. The last one then represents all others and
	// has the name Others.
	MaxLanes int
	Others   string
	Items    []Item
	// Omitted is the number of earlier items that are not included.
	Omitted int
}

// A Lane is a participant. Lanes are ordered by Rank, and then by appearance.
type Lane struct {
	Rank       int
	Name, Role string
}

// Person is the role of a lane that is drawn as a user.
const Person = "person"

// A Form is the form of an item in the drawing.
type Form int

const (
	Arrow   Form = iota // from one participant to another
	Reply               // like Arrow, for the way back
	Message             // like Arrow, but less prominent
	Note                // about From only
)

// An Item is one event. If From and To are the same it is a Note.
type Item struct {
	At       time.Time
	Step     int // a number before it; 0: none
	Form     Form
	From, To Lane
	By       string // the agent on behalf of From; empty: none
	Title    string // short description
	Label    string // details, on one line
	Detail   string // full text, shown for a pointer over the drawing
	Failed   bool
}

// line returns the text of an item on one line.
func (i *Item) line() string { return i.by(joined(i.Title, ": ", i.Label)) }

// by returns a text with the agent.
func (i *Item) by(text string) string { return joined(i.By, ": ", text) }

func joined(first, between, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + between + second
}

func (i *Item) isNote() bool { return i.Form == Note || i.From == i.To }

// lanes returns the participants from left to right.
func (d *Diagram) lanes() []Lane {
	lanes := slices.Clone(d.Lanes)
	others := false
	for i := range d.Items {
		for _, lane := range []Lane{d.Items[i].From, d.Items[i].To} {
			switch {
			case slices.Contains(lanes, lane):
			case d.MaxLanes == 0 || len(lanes) < d.MaxLanes-1:
				lanes = append(lanes, lane)
			default:
				others = true
			}
		}
	}
	sorting.StableBy(lanes, func(a, b Lane) int { return cmp.Compare(a.Rank, b.Rank) })
	if others {
		lanes = append(lanes, Lane{Name: d.Others})
	}
	return lanes
}

// column returns the index of a participant in lanes.
func column(lanes []Lane, lane Lane) int {
	if n := slices.Index(lanes, lane); n >= 0 {
		return n
	}
	return len(lanes) - 1
}

// Omitted returns the note about omitted items.
func Omitted(n int) string {
	if n == 1 {
		return "1 earlier line was left out"
	}
	return fmt.Sprintf("%d earlier lines were left out", n)
}
