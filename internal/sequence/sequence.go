// Package sequence draws sequence diagrams in SVG and in Mermaid. It escapes the texts of a
// diagram.
package sequence

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Diagram contains items between participants, in order.
type Diagram struct {
	// Title and Summary are displayed above a drawing. Mermaid displays only Summary, at the end.
	Title, Summary string
	// Lanes contains participants that are drawn in any case. The items add further ones.
	Lanes []Lane
	// MaxLanes, if not 0, is the maximum number of participants. If there are more, the last one
	// represents all others, and its name is Others.
	MaxLanes int
	Others   string
	Items    []Item
	// Omitted is the number of earlier items that the diagram does not contain.
	Omitted int
}

// A Lane is a participant. Lanes are ordered by Rank, and lanes with the same Rank by their first
// appearance.
type Lane struct {
	Rank       int
	Name, Role string
}

// Person is the Role of a lane that is drawn as a user.
const Person = "person"

// A Form is the appearance of an item.
type Form int

const (
	Arrow   Form = iota // from one participant to another
	Reply               // like Arrow, but for a response
	Message             // like Arrow, but less prominent
	Note                // about From alone
)

// An Item is one event. If From and To are equal, the item is drawn as a Note.
type Item struct {
	At       time.Time
	Step     int // number in front of the item; 0 means none
	Form     Form
	From, To Lane
	By       string // agent that acts on behalf of From; may be empty
	Title    string // short description
	Label    string // details in a single line
	Detail   string // full text, shown when the pointer is over the item
	Failed   bool
}

// line returns the text of an item as a single line.
func (i *Item) line() string { return i.by(joined(i.Title, ": ", i.Label)) }

// by returns text, preceded by the agent if there is one.
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
	slices.SortStableFunc(lanes, func(a, b Lane) int { return cmp.Compare(a.Rank, b.Rank) })
	if others {
		lanes = append(lanes, Lane{Name: d.Others})
	}
	return lanes
}

// column returns the index of a participant in lanes. It returns the last index if lanes does not
// contain the participant.
func column(lanes []Lane, lane Lane) int {
	if n := slices.Index(lanes, lane); n >= 0 {
		return n
	}
	return len(lanes) - 1
}

// Omitted returns the text of the note about n omitted items.
func Omitted(n int) string {
	if n == 1 {
		return "1 earlier line was left out"
	}
	return fmt.Sprintf("%d earlier lines were left out", n)
}
