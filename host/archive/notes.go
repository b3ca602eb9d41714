package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/junction-mcp/junction/host/remember"
)

// The limits of notes.
const (
	maxNotes = 10_000
	maxNote  = 64 << 10 // bytes of one
)

// ErrNoNote is returned where no note has the id.
var ErrNoNote = errors.New("no such note; list them to see which there are")

// Notes are what a model remembered, for the person to list and delete; a
// [remember.Store]. It is safe for concurrent use, by several processes too.
type Notes struct{ archive *Archive }

// Notes returns the notes of the archive.
func (a *Archive) Notes() *Notes { return &Notes{archive: a} }

// Keep keeps a note and returns its ID, which no other note gets even when it is deleted.
func (n *Notes) Keep(ctx context.Context, note remember.Note) (id string, err error) {
	err = n.archive.file.Change(ctx, "keep a note", func(tx *sql.Tx) error {
		labels, err := note.Labels.MarshalText()
		if err != nil {
			return err
		}
		if len(note.Text) > maxNote {
			return fmt.Errorf("a note of %d bytes: %w: at most %d", len(note.Text), ErrTooLarge, maxNote)
		}
		var all int
		if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM notes`).Scan(&all); err != nil {
			return err
		}
		if all >= maxNotes {
			return fmt.Errorf("more than %d notes: %w; delete some of them", maxNotes, ErrTooLarge)
		}
		added, err := tx.ExecContext(ctx, `INSERT INTO notes (at, labels, text) VALUES (?, ?, ?)`, note.At.UnixMicro(), string(labels), note.Text)
		if err != nil {
			return err
		}
		row, err := added.LastInsertId()
		if err != nil {
			return err
		}
		id = strconv.FormatInt(row, 10)
		_, err = tx.ExecContext(ctx, `INSERT INTO note_texts (rowid, text) VALUES (?, ?)`, row, note.Text)
		return err
	})
	return id, err
}

// Find returns at most limit notes that hold one of the words, those with more and rarer of them
// first; without words, the newest. A word of one or two letters counts only with a longer
// one, which the index can find.
func (n *Notes) Find(ctx context.Context, words string, limit int) ([]remember.Note, error) {
	query, args := `SELECT row, at, labels, notes.text FROM notes ORDER BY row DESC LIMIT ?`, []any{limit}
	search := Filter{Search: words}
	var terms []string
	for _, word := range search.words() {
		if utf8.RuneCountInString(word) >= gram {
			terms = append(terms, `"`+strings.ReplaceAll(word, `"`, `""`)+`"`)
		}
	}
	if len(terms) > 0 {
		query = `SELECT row, at, labels, notes.text FROM note_texts JOIN notes ON row = note_texts.rowid WHERE note_texts MATCH ? ORDER BY rank, row DESC LIMIT ?`
		args = []any{strings.Join(terms, " OR "), limit}
	}
	rows, err := n.archive.file.DB.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, n.archive.file.Fail("find notes", err)
	}
	defer rows.Close()
	found := []remember.Note{}
	for rows.Next() {
		var note remember.Note
		var row, at int64
		var labels string
		if err := rows.Scan(&row, &at, &labels, &note.Text); err != nil {
			return nil, n.archive.file.Fail("find notes", err)
		}
		if err := note.Labels.UnmarshalText([]byte(labels)); err != nil {
			return nil, n.archive.file.Fail("find notes", err)
		}
		note.ID, note.At = strconv.FormatInt(row, 10), time.UnixMicro(at)
		found = append(found, note)
	}
	return found, n.archive.file.Fail("find notes", rows.Err())
}

// Delete deletes a note for good. If there is none, the error is [ErrNoNote].
func (n *Notes) Delete(ctx context.Context, id string) error {
	return n.archive.file.Change(ctx, "delete note "+id, func(tx *sql.Tx) error {
		row, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return ErrNoNote
		}
		gone, err := tx.ExecContext(ctx, `DELETE FROM notes WHERE row = ?`, row)
		if err != nil {
			return err
		}
		if n, err := gone.RowsAffected(); err != nil || n == 0 {
			return ErrNoNote
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM note_texts WHERE rowid = ?`, row)
		return err
	})
}
