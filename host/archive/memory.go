package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
)

// The limits of what is remembered in addition to conversations.
const (
	maxKey   = 256      // bytes of a key
	maxValue = 16 << 20 // bytes of a value
)

// ToolQueries is the key under which the host keeps which queries led to which
// tool: the JSON of toolsearch's Memory.
const ToolQueries = "toolsearch.queries"

// Memory is what a host remembers from one conversation to the next: small JSON
// values under keys. It is safe for concurrent use.
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

// Update sets a key to what f makes of its value, which is nil if there is none.
// No other process changes it in between, so nothing that two of them learn is
// lost. f must be quick, and must not use the archive.
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
