package tui

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/remember"
)

// pad keeps notes.
type pad struct {
	notes []remember.Note
	fail  error
}

func (p *pad) Find(_ context.Context, words string, _ int) ([]remember.Note, error) {
	return slices.DeleteFunc(slices.Clone(p.notes), func(n remember.Note) bool { return !strings.Contains(n.Text, words) }), p.fail
}

func (p *pad) Delete(_ context.Context, id string) error {
	p.notes = slices.DeleteFunc(p.notes, func(n remember.Note) bool { return n.ID == id })
	return p.fail
}

func TestNotesAreListedAndDeleted(t *testing.T) {
	day := time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)
	notes := &pad{notes: []remember.Note{{ID: "2", At: day, Text: "The bank\x1b[2J\nis closed", Labels: guard.Untrusted}, {ID: "1", At: day, Text: "Ada paints in green"}}}
	with := func(o *Options) { o.Notes = notes }
	play(t, &scripted{}, 80, 24, func(st *stage) {
		st.keys("/notes<enter>")
		st.holds("is closed  note 2 · 2030-05-01 · untrusted")
		st.holds("  Ada paints in green  note 1 · 2030-05-01\n")
		st.keys("<down><enter><enter>")
		st.holds("note 1 · 2030-05-01 ─")
		st.keys("<esc>/notes bank<enter><enter>")
		st.holds("▸ show it\n  delete it  for good")
		st.keys("<down><enter>")
		st.printedText("note 2 is deleted")
		if len(notes.notes) != 1 || notes.notes[0].ID != "1" {
			t.Errorf("left are %+v", notes.notes)
		}
		st.keys("/notes bank<enter>")
		st.printedText("no note has these words")
		notes.fail = errScripted
		st.keys("/notes<enter>")
		st.printedText("error: the provider is on holiday")
		notes.fail, notes.notes = nil, nil
		st.keys("/notes<enter>")
		st.printedText("the model has stored no notes yet")
	}, with)
	play(t, &scripted{}, 80, 24, func(st *stage) {
		st.keys("/notes<enter>")
		st.holds("notes are not stored here")
	})
}
