package tui

import (
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/remember"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// maxNotes is how many notes are listed.
const maxNotes = 500

// Notes are what the model remembered, as [remember.Store] has them. Its methods are called
// from several goroutines.
type Notes interface {
	Find(ctx context.Context, words string, limit int) ([]remember.Note, error)
	Delete(ctx context.Context, id string) error
}

// listNotes lists the notes in these words, to be read and deleted.
func (s *screen) listNotes(words string) {
	notes := s.ui.options.Notes
	if notes == nil {
		s.hint = "notes are not stored here"
		return
	}
	find := func(ctx context.Context) ([]remember.Note, error) { return notes.Find(ctx, words, maxNotes) }
	fetch(s, find, func(s *screen, found []remember.Note) {
		switch {
		case len(found) == 0 && words != "":
			s.say(ink.Muted, "nothing was remembered in these words")
		case len(found) == 0:
			s.say(ink.Muted, "the model has stored no notes yet; a fact of /keep is part of its conversation")
		default:
			p := &picker{title: "what is remembered"}
			for i := range found {
				p.items = append(p.items, item{label: oneLine(found[i].Text, 200), detail: aboutNote(&found[i])})
			}
			p.chosen = func(s *screen, i int) { s.panel = notePanel(found[i]) }
			s.panel = p
		}
	})
}

func aboutNote(n *remember.Note) string {
	about := fmt.Sprintf("note %s · %s", n.ID, n.At.Format("2006-01-02"))
	if n.Labels&guard.Untrusted != 0 {
		about += " · untrusted"
	}
	return about
}

// notePanel offers what can be done with a note.
func notePanel(n remember.Note) *picker {
	p := &picker{title: "note " + n.ID + ": " + oneLine(n.Text, 200), items: []item{{label: "show it"}, {label: "delete it", detail: "for good"}}}
	p.chosen = func(s *screen, i int) {
		if i == 0 {
			s.panel = &pager{title: aboutNote(&n), build: func(_ *screen, width int) []ink.Line { return ink.Lines(ink.Plain, strings.TrimSpace(n.Text), width) }}
			return
		}
		s.inBackground(func(ctx context.Context) error { return s.ui.options.Notes.Delete(ctx, n.ID) },
			func(s *screen) { s.say(ink.Muted, "note "+n.ID+" is deleted") })
	}
	return p
}
