package archive

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/junction-mcp/junction/host"
)

// Fork makes a conversation of the first upto entries of another; 0 means all of
// them. What the person took back after these holds in it, too: see [host.Entry.TakesBack].
// The new one goes on by itself: [Archive.Load] it by the ID that is returned.
// Where it has fewer, the error is [ErrNoEntry].
func (a *Archive) Fork(ctx context.Context, id string, upto int) (Meta, error) {
	var fork *Conversation
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
		fork.meta.Changed = fork.meta.Created // it is new, however old its entries are
		_, err = tx.ExecContext(ctx, `UPDATE conversations SET changed = ? WHERE id = ?`, fork.meta.Changed.UnixMicro(), fork.meta.ID)
		return err
	})
	if err != nil {
		return Meta{}, err
	}
	return fork.meta, nil
}

// take stores an entry of another conversation, in the text that it has there.
func (c *Conversation) take(tx *sql.Tx, e *host.Entry, text []byte) error {
	next := c.with(e, text)
	c.meta, c.bytes = next.meta, next.bytes
	return next.store(tx, text)
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
