package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

// Fork copies the first upto entries of a conversation to a new one; 0 means all. It also copies
// later entries that withdraw a decision of the user: see [host.Entry.TakesBack]. [Archive.Load]
// loads the new conversation by the returned ID. The error is [ErrNoEntry] if there are fewer than
// upto entries.
func (a *Archive) Fork(ctx context.Context, id string, upto int) (Meta, error) {
	var fork *Conversation
	err := a.file.Change(ctx, "fork "+id, func(tx *sql.Tx) error {
		from, _, err := find(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case upto < 0 || upto > from.Entries:
			return fmt.Errorf("entry %d: %w; give a number from 1 to %d", upto, ErrNoEntry, from.Entries)
		case upto == 0:
			upto = from.Entries
		}
		fork = a.New(Meta{Model: from.Model, Folder: from.Folder, Setup: from.Setup})
		fork.meta.Parent = from.ID
		if err := insertConversation(tx, &fork.meta); err != nil {
			return err
		}
		err = eachEntry(ctx, tx, from.ID, from.Entries, func(number int, e *host.Entry, text []byte, damage error) error {
			switch {
			case number > upto && !e.TakesBack():
				return nil
			case number <= upto && damage != nil:
				return damage
			}
			return fork.take(tx, e, text)
		})
		if err != nil {
			return err
		}
		fork.meta.Changed = fork.meta.Created // the fork is new, however old its entries are
		_, err = tx.ExecContext(ctx, `UPDATE conversations SET changed = ? WHERE id = ?`, fork.meta.Changed.UnixMicro(), fork.meta.ID)
		return err
	})
	if err != nil {
		return Meta{}, err
	}
	return fork.meta, nil
}

// take stores an entry copied from another conversation with its original JSON.
func (c *Conversation) take(tx *sql.Tx, e *host.Entry, text []byte) error {
	next := c.with(e, text)
	c.meta, c.bytes = next.meta, next.bytes
	return next.store(tx, text)
}

// Delete removes a conversation. Its text is overwritten in the file, not only marked as free.
// Forks of the conversation remain.
func (a *Archive) Delete(ctx context.Context, id string) error {
	err := a.file.Change(ctx, "delete "+id, func(tx *sql.Tx) error {
		meta, _, err := find(ctx, tx, id)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM texts WHERE rowid IN (SELECT row FROM entries WHERE conversation = ?)`, meta.ID); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM conversations WHERE id = ?`, meta.ID)
		return err
	})
	if err != nil {
		return err
	}
	// The write-ahead log still contains the text. If another process is reading, SQLite empties
	// the log after that.
	_, err = a.file.DB.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return a.file.Fail("delete "+id, err)
}

// exportVersion is the newest version of the JSON format.
const exportVersion = 1

// exported is the JSON of an export.
type exported struct {
	Format  string           `json:"format"`
	Version int              `json:"version"`
	Meta    Meta             `json:"meta"`
	Entries []jsontext.Value `json:"entries"`
}

// Import stores a [JSON] export as a new conversation with a new ID. It reads the whole export
// before it stores anything. The author of the file may not be the user, so Import drops several
// kinds of entries. It drops the record of texts read and calls approved, and counts everything as
// unknown. It drops notes because every summary repeats them, and plans because the model would
// carry them out. It also drops the stored long results, because the model could read them under
// the names of later results.
func (a *Archive) Import(ctx context.Context, r io.Reader) (Meta, error) {
	var in exported
	limited := &io.LimitedReader{R: r, N: maxConversation + maxEntry}
	if err := json.UnmarshalRead(limited, &in, dialect); err != nil {
		if limited.N <= 0 {
			err = ErrTooLarge
		}
		return Meta{}, fmt.Errorf("import: %w; give a file that was exported as json", err)
	}
	switch {
	case in.Format != exportName:
		return Meta{}, errors.New("import: this is not an exported conversation; give a file that was exported as json")
	case in.Version > exportVersion:
		return Meta{}, fmt.Errorf("import: %w", ErrNewer)
	case len(in.Entries) == 0:
		return Meta{}, errors.New("import: the conversation is empty")
	}
	c := a.New(Meta{Model: in.Meta.Model, Folder: in.Meta.Folder, Title: in.Meta.Title})
	if !in.Meta.Created.IsZero() {
		c.meta.Created, c.meta.Changed = in.Meta.Created, in.Meta.Created
	}
	err := a.file.Change(ctx, "import", func(tx *sql.Tx) error {
		if err := insertConversation(tx, &c.meta); err != nil {
			return err
		}
		return in.each(func(e *host.Entry, text []byte) error { return c.take(tx, e, text) })
	})
	return c.meta, err
}

// each calls add for all entries. It drops members that this version does not know, and everything
// that only the user may decide.
func (in *exported) each(add func(e *host.Entry, text []byte) error) error {
	first, err := host.Unknown()
	if err != nil {
		return err
	}
	text, err := json.Marshal(&first, dialect)
	if err == nil {
		err = add(&first, text)
	}
	if err != nil {
		return err
	}
	for i, raw := range in.Entries {
		var e host.Entry
		if err := json.Unmarshal(raw, &e, dialect); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		e.Message = readable(e.Message)
		// Users must see the same text as the model, and Shown could contain anything.
		if e.Flow, e.Withdrawn, e.Note, e.Plan, e.LongResult, e.Task, e.Shown, e.Asking, e.Ended = nil, nil, "", nil, nil, nil, "", nil, nil; reflect.DeepEqual(e, host.Entry{At: e.At}) {
			continue
		}
		text, err := json.Marshal(&e, dialect)
		if err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
		if err := add(&e, text); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return nil
}

// readable returns a message without the parts that go to a provider but that no user sees: opaque
// blocks, unknown members, and signatures. A model continues without them. The result is nil if
// nothing is left.
func readable(m *model.Message) *model.Message {
	if m == nil {
		return nil
	}
	m.Extra = nil
	m.Parts = slices.DeleteFunc(m.Parts, func(p model.Part) bool { return p.Opaque != nil })
	for i := range m.Parts {
		switch p := &m.Parts[i]; {
		case p.Reasoning != nil:
			p.Reasoning.Raw = nil
		case p.Call != nil:
			p.Call.Extra = nil
		}
	}
	if len(m.Parts) == 0 {
		return nil
	}
	return m
}
