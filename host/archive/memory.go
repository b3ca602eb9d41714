package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/junction-mcp/junction/host/remember"
)

// Limits of the values in Memory.
const (
	maxKey   = 256      // bytes of a key
	maxValue = 16 << 20 // bytes of a value
)

// ToolQueries is the key for the successful queries of each tool: the JSON of toolsearch's Memory.
const ToolQueries = "toolsearch.queries"

// Memory holds data that a host keeps from one conversation to the next: small JSON values under
// keys. It is safe for concurrent use.
type Memory struct{ archive *Archive }

// Memory returns the memory of the archive.
func (a *Archive) Memory() *Memory { return &Memory{archive: a} }

// Get returns the value of a key, or nil if there is none.
func (m *Memory) Get(ctx context.Context, key string) (json.RawMessage, error) {
	var value []byte
	err := m.archive.file.DB.QueryRowContext(ctx, `SELECT value FROM memory WHERE key = ?`, key).Scan(&value)
	if isMissing(err) {
		return nil, nil
	}
	return value, m.archive.file.Fail("recall "+key, err)
}

// Update replaces the value of a key by the result of f. f gets the current value, or nil if there
// is none. It runs in a transaction, so that concurrent updates by other processes are not lost. f
// must be quick and must not use the archive.
func (m *Memory) Update(ctx context.Context, key string, f func(value json.RawMessage) (json.RawMessage, error)) error {
	return m.archive.file.Change(ctx, "remember "+key, func(tx *sql.Tx) error {
		if key == "" || len(key) > maxKey {
			return fmt.Errorf("a key of %d bytes: it must have 1 to %d", len(key), maxKey)
		}
		var before []byte
		if err := tx.QueryRowContext(ctx, `SELECT value FROM memory WHERE key = ?`, key).Scan(&before); err != nil && !isMissing(err) {
			return err
		}
		after, err := f(before)
		if err != nil {
			return err
		}
		if after == nil {
			_, err = tx.ExecContext(ctx, `DELETE FROM memory WHERE key = ?`, key)
			return err
		}
		if len(after) > maxValue {
			return fmt.Errorf("a value of %d bytes: %w: at most %d", len(after), ErrTooLarge, maxValue)
		}
		if !json.Valid(after) {
			return errors.New("the value is not JSON")
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO memory (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value`, key, string(after))
		return err
	})
}

// Limits of notes.
const (
	maxNotes = 10_000
	maxNote  = 64 << 10 // bytes of one note
)

// ErrNoNote reports that no note has the id.
var ErrNoNote = errors.New("no such note; list them to see which there are")

// Notes holds the notes that a model kept. Users can list and delete them. It implements
// [remember.Store] and is safe for concurrent use by several processes.
type Notes struct{ archive *Archive }

// Notes returns the notes of the archive.
func (a *Archive) Notes() *Notes { return &Notes{archive: a} }

// Keep stores a note and returns its ID. IDs of deleted notes are not used again.
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

// Find returns at most limit notes that contain one of the words. Notes with more words and with
// rarer words come first. Without words it returns the newest notes. A word of one or two letters
// counts only next to a longer one, because the index cannot find it.
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

// Delete removes a note permanently. The error is [ErrNoNote] if the note does not exist.
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
