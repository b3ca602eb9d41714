package archive

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/junction-mcp/junction/host"
)

// Last is what is given for an id to mean the conversation that changed last.
const Last = "last"

// columns are those that scan reads, in its order.
const columns = `id, model, folder, setup, title, parent, created, changed, entries, questions, calls, tokens, cost, bytes`

// Load reads a conversation and its entries, so that it can go on: what is
// appended comes after them. id may be a beginning of the id that no other
// conversation has, or [Last]; else the error is [ErrNotFound] or [ErrAmbiguous].
func (a *Archive) Load(ctx context.Context, id string) (*Conversation, []host.Entry, error) {
	c := &Conversation{archive: a, stored: true}
	var entries []host.Entry
	err := a.file.Read(ctx, "load "+id, func(tx *sql.Tx) (err error) {
		if c.meta, c.bytes, err = find(ctx, tx, id); err != nil {
			return err
		}
		return eachEntry(ctx, tx, c.meta.ID, c.meta.Entries, func(_ int, e *host.Entry, _ []byte, damage error) error {
			entries = append(entries, *e)
			return damage
		})
	})
	if err != nil {
		return nil, nil, err
	}
	return c, entries, nil
}

// Meta describes a conversation, which [Archive.Load] would find by the same id.
func (a *Archive) Meta(ctx context.Context, id string) (Meta, error) {
	var meta Meta
	err := a.file.Read(ctx, "load "+id, func(tx *sql.Tx) (err error) {
		meta, _, err = find(ctx, tx, id)
		return err
	})
	return meta, err
}

// find reads what the archive knows of a conversation.
func find(ctx context.Context, tx *sql.Tx, id string) (Meta, int, error) {
	query, args := `SELECT `+columns+` FROM conversations WHERE id >= ? AND id < ? ORDER BY id LIMIT 2`, []any{id, id + "\x7f"}
	switch {
	case id == Last:
		query, args = `SELECT `+columns+` FROM conversations ORDER BY changed DESC, id LIMIT 1`, nil
	case id == "" || strings.ContainsFunc(id, isNotOfID):
		return Meta{}, 0, ErrNotFound
	}
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return Meta{}, 0, err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return Meta{}, 0, err
		}
		return Meta{}, 0, ErrNotFound
	}
	meta, bytes, err := scan(rows)
	if err == nil && meta.ID != id && rows.Next() {
		err = ErrAmbiguous
	}
	return meta, bytes, err
}

func isNotOfID(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }

// scan reads a row of columns, and whatever comes after them.
func scan(rows *sql.Rows, more ...any) (Meta, int, error) {
	var m Meta
	var created, changed int64
	var bytes int
	into := []any{&m.ID, &m.Model, &m.Folder, &m.Setup, &m.Title, &m.Parent, &created, &changed, &m.Entries, &m.Questions, &m.Calls, &m.Tokens, &m.Cost, &bytes}
	err := rows.Scan(append(into, more...)...)
	m.Created, m.Changed = time.UnixMicro(created), time.UnixMicro(changed)
	return m, bytes, err
}

// eachEntry calls f with the first upto entries of a conversation, in order, and what is wrong with each. One that
// cannot be read is an empty one.
func eachEntry(ctx context.Context, tx *sql.Tx, id string, upto int, f func(number int, e *host.Entry, text []byte, damage error) error) error {
	rows, err := tx.QueryContext(ctx, `SELECT number, entry FROM entries WHERE conversation = ? AND number <= ? ORDER BY number`, id, upto)
	if err != nil {
		return err
	}
	defer rows.Close()
	for next := 1; rows.Next(); next++ {
		var number int
		var text []byte
		if err := rows.Scan(&number, &text); err != nil {
			return err
		}
		var e host.Entry
		damage := json.Unmarshal(text, &e, dialect)
		switch {
		case damage != nil:
			e = host.Entry{}
		case number != next:
			damage = fmt.Errorf("entry %d is missing", next)
		}
		if damage != nil {
			damage = fmt.Errorf("entry %d of %s: %w (%w); fork it at %d to go on with what comes before", next, id, ErrDamaged, damage, next-1)
		}
		if err := f(number, &e, text, damage); err != nil {
			return err
		}
	}
	return rows.Err()
}
