// Package sequence draws sequence diagrams, in SVG and in Mermaid. Whatever the texts of a diagram hold, they stay text.
package sequence

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Diagram is what goes back and forth between participants, in the order in which it did.
type Diagram struct {
	// Title stands above a drawing, with Summary below it; Mermaid has only that, at the end.
	Title, Summary string
	// Lanes are participants that are drawn in any case; the others are those of the items.
	Lanes []Lane
	// MaxLanes is how many of them there are at most, where it is not 0; the last one then stands for all others, and is
	// called Others.
	MaxLanes int
	Others   string
	Items    []Item
	// Omitted is how many items there were before these.
	Omitted int
}

// A Lane is a participant: of lanes of the same Rank the one that comes first stands further to the left.
type Lane struct {
	Rank       int
	Name, Role string
}

// Person is the role of a lane that is drawn as a person.
const Person = "person"

// A Form is how an item is drawn.
type Form int

const (
	Arrow   Form = iota // from one participant to another
	Reply               // as Arrow, the way back
	Message             // as Arrow, but quiet
	Note                // something about From
)

// An Item is one thing that happened. Between From and To where they are the same it is a Note.
type Item struct {
	At       time.Time
	Step     int // a number that stands before it; 0: none
	Form     Form
	From, To Lane
	By       string // who does it on behalf of From; empty: nobody else
	Title    string // what it is, in a few words
	Label    string // with what, on one line
	Detail   string // all of it, which a pointer that rests on a drawing shows
	Failed   bool
}

// line is what an item says, on one line.
func (i *Item) line() string { return i.by(joined(i.Title, ": ", i.Label)) }

// by is a text with who does it.
func (i *Item) by(text string) string { return joined(i.By, ": ", text) }

func joined(first, between, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + between + second
}

func (i *Item) isNote() bool { return i.Form == Note || i.From == i.To }

// lanes are the participants, from left to right.
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

// column is where a participant stands among the lanes.
func column(lanes []Lane, lane Lane) int {
	if n := slices.Index(lanes, lane); n >= 0 {
		return n
	}
	return len(lanes) - 1
}

// Omitted says that earlier items are not there.
func Omitted(n int) string {
	if n == 1 {
		return "1 earlier line was left out"
	}
	return fmt.Sprintf("%d earlier lines were left out", n)
}
