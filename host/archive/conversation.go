package archive

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// The limits of a conversation.
const (
	maxEntry        = 64 << 20  // bytes of one entry, as JSON
	maxEntries      = 100_000   // entries of a conversation
	maxConversation = 512 << 20 // bytes of all of them
)

// idLength is how many characters an id has, of 32 different ones.
const idLength = 8

// Meta describes a conversation.
type Meta struct {
	// ID names it: eight letters and digits. Where an id is asked for, any
	// beginning that only one conversation has is enough.
	ID string `json:"id"`
	// Model and Folder are what it was begun with: the model's name, and the
	// working directory.
	Model  string `json:"model,omitempty"`
	Folder string `json:"folder,omitempty"`
	// Setup is what the program that has the conversation needs to go on with it, in a form of its own. It stays
	// on this machine: an export has none.
	Setup string `json:"-"`
	// Title is its name for people: the last one that was given, or else the first
	// line of the first question.
	Title string `json:"title,omitempty"`
	// Parent is the conversation that it was forked from.
	Parent string `json:"parent,omitempty"`
	// Created and Changed are when it began and when the last entry was added.
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"`
	// Entries, Questions and Calls count its entries, the messages of the person,
	// and the calls that the model asked for.
	Entries   int `json:"entries"`
	Questions int `json:"questions"`
	Calls     int `json:"calls"`
	// Tokens and Cost (US dollars) are what its runs used, those of its parent
	// included that it holds.
	Tokens int     `json:"tokens"`
	Cost   float64 `json:"cost"`
	// Match is the part of a message that a search found; else it is empty.
	Match string `json:"match,omitempty"`
}

// Conversation is the record of one conversation; it is a [host.Record].
type Conversation struct {
	archive *Archive

	mu     sync.Mutex
	meta   Meta
	bytes  int
	stored bool // whether the archive has it
}

// New begins a conversation. Of meta only Model, Folder, Setup and Title count. Nothing
// is stored, nor listed, before the first entry comes.
func (a *Archive) New(meta Meta) *Conversation {
	now := time.Now()
	return &Conversation{archive: a, meta: Meta{
		ID:      strings.ToLower(rand.Text()[:idLength]),
		Model:   meta.Model,
		Folder:  meta.Folder,
		Setup:   meta.Setup,
		Title:   titleOf(meta.Title),
		Created: now,
		Changed: now,
	}}
}

// Meta describes the conversation as it is now.
func (c *Conversation) Meta() Meta {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.meta
}

// Append adds an entry; when it returns, the entry is on the disk. On an error
// the conversation is as it was before, and the entry can be appended again. The
// error is [ErrContinued] where somebody else appended since it was loaded.
func (c *Conversation) Append(e host.Entry) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	text, err := json.Marshal(e, dialect)
	if err != nil {
		return c.archive.file.Fail("append to "+c.meta.ID, err)
	}
	next := c.with(&e, text)
	err = c.archive.file.Change(context.Background(), "append to "+c.meta.ID, func(tx *sql.Tx) error {
		if !c.stored {
			if err := insertConversation(tx, &next.meta); err != nil {
				return err
			}
		}
		return next.store(tx, text)
	})
	if err != nil {
		return err
	}
	c.meta, c.bytes, c.stored = next.meta, next.bytes, true
	return nil
}

// SetSetup changes Meta.Setup of a stored conversation.
func (a *Archive) SetSetup(ctx context.Context, id, setup string) error {
	return a.file.Change(ctx, "change "+id, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE conversations SET setup = ? WHERE id = ?`, setup, id)
		return err
	})
}

// growth is a conversation with one more entry.
type growth struct {
	meta  Meta
	bytes int
	text  string // of the entry, to be searched
}

func (c *Conversation) with(e *host.Entry, text []byte) growth {
	g := growth{meta: c.meta, bytes: c.bytes + len(text)}
	m := &g.meta
	m.Entries++
	if m.Changed = e.At; e.At.IsZero() {
		m.Changed = time.Now()
	}
	if e.Totals != nil {
		m.Cost += e.Totals.Cost
		m.Tokens += e.Totals.Usage.Input + e.Totals.Usage.Output
	}
	if e.Message != nil {
		g.text = searchable(e.Message)
		m.Calls += len(e.Message.Calls())
		if e.Message.Role == model.RoleUser {
			m.Questions++
			m.Title = cmp.Or(m.Title, titleOf(e.Shown), titleOf(firstText(e.Message)))
		}
	}
	m.Title = cmp.Or(titleOf(e.Title), m.Title)
	return g
}

// store writes the entry and what it changes in the conversation.
func (g *growth) store(tx *sql.Tx, text []byte) error {
	switch {
	case len(text) > maxEntry:
		return fmt.Errorf("an entry of %d bytes: %w: at most %d", len(text), ErrTooLarge, maxEntry)
	case g.meta.Entries > maxEntries:
		return fmt.Errorf("more than %d entries: %w; begin a new conversation", maxEntries, ErrTooLarge)
	case g.bytes > maxConversation:
		return fmt.Errorf("more than %d bytes: %w; begin a new conversation", maxConversation, ErrTooLarge)
	}
	added, err := tx.Exec(`INSERT INTO entries (conversation, number, entry) VALUES (?, ?, ?)`, g.meta.ID, g.meta.Entries, string(text))
	switch {
	case isTaken(err):
		return ErrContinued
	case isOrphan(err):
		return ErrNotFound
	case err != nil:
		return err
	}
	row, err := added.LastInsertId()
	if err != nil {
		return err
	}
	if g.text != "" {
		if _, err := tx.Exec(`INSERT INTO texts (rowid, text) VALUES (?, ?)`, row, g.text); err != nil {
			return err
		}
	}
	m := &g.meta
	_, err = tx.Exec(`UPDATE conversations SET title = ?, changed = ?, entries = ?, bytes = ?, questions = ?, calls = ?,
		tokens = ?, cost = ? WHERE id = ?`,
		m.Title, m.Changed.UnixMicro(), m.Entries, g.bytes, m.Questions, m.Calls, m.Tokens, m.Cost, m.ID)
	return err
}

func insertConversation(tx *sql.Tx, m *Meta) error {
	_, err := tx.Exec(`INSERT INTO conversations (id, model, folder, setup, title, parent, created, changed, entries, bytes, questions, calls, tokens, cost)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0)`,
		m.ID, m.Model, m.Folder, m.Setup, m.Title, m.Parent, m.Created.UnixMicro(), m.Changed.UnixMicro())
	return err
}
