package archive

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/junction-mcp/junction/host"
)

// Fork makes a conversation of the first upto entries of another; 0 means all of
// them. What the person took back after these holds in it, too: see [host.Entry.TakesBack].
// The new one goes on by itself: [Archive.Load] it by the ID that is returned.
// Where it has fewer, the error is [ErrNoEntry].
func (a *Archive) Fork(ctx context.Context, id string, upto int) (Meta, error) {
	var fork Meta
	err := a.file.Change(ctx, "fork "+id, func(tx *sql.Tx) error {
		from, _, err := find(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case upto < 0 || upto > from.Entries:
			return fmt.Errorf("at entry %d: %w: it has %d; give a number from 1 to that", upto, ErrNoEntry, from.Entries)
		case upto == 0:
			upto = from.Entries
		}
		fork = Meta{Model: from.Model, Folder: from.Folder, Setup: from.Setup, Parent: from.ID, Created: time.Now()}
		fork, err = fill(tx, fork, func(add func(*host.Entry, []byte) error) error {
			if err := eachEntry(ctx, tx, from.ID, upto, add); err != nil {
				return err
			}
			return eachTakenBack(ctx, tx, from.ID, upto, add)
		})
		if err != nil {
			return err
		}
		fork.Changed = fork.Created // it is new, however old its entries are
		_, err = tx.ExecContext(ctx, `UPDATE conversations SET changed = ? WHERE id = ?`, fork.Changed.UnixMicro(), fork.ID)
		return err
	})
	return fork, err
}

// eachTakenBack calls f with the entries behind the first after of a conversation that take
// something back. One that is damaged says nothing.
func eachTakenBack(ctx context.Context, tx *sql.Tx, id string, after int, f func(e *host.Entry, text []byte) error) error {
	rows, err := tx.QueryContext(ctx, `SELECT entry FROM entries WHERE conversation = ? AND number > ? ORDER BY number`, id, after)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			return err
		}
		var e host.Entry
		if json.Unmarshal(text, &e, dialect) != nil || !e.TakesBack() {
			continue
		}
		if err := f(&e, text); err != nil {
			return err
		}
	}
	return rows.Err()
}

// fill stores a new conversation with the entries that each adds, in the text
// that they have.
func fill(tx *sql.Tx, meta Meta, each func(add func(e *host.Entry, text []byte) error) error) (Meta, error) {
	meta.ID = strings.ToLower(rand.Text()[:idLength])
	meta.Changed = meta.Created
	c := &Conversation{meta: meta}
	if err := insertConversation(tx, &c.meta); err != nil {
		return Meta{}, err
	}
	err := each(func(e *host.Entry, text []byte) error {
		next := c.with(e, text)
		c.meta, c.bytes = next.meta, next.bytes
		return next.store(tx, text)
	})
	return c.meta, err
}

// Delete removes a conversation. Its text is overwritten in the file, not only
// marked as free. Forks of it stay.
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
	// The log still holds the text. Where another process reads, SQLite empties it
	// when that is done.
	_, err = a.file.DB.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
	return a.file.Fail("delete "+id, err)
}
