package archive

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"time"

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
			return eachEntry(ctx, tx, from.ID, from.Entries, func(number int, e *host.Entry, text []byte, damage error) error {
				switch {
				case number > upto && !e.TakesBack():
					return nil
				case number <= upto && damage != nil:
					return damage
				}
				return add(e, text)
			})
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
