package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/junction-mcp/junction/state"
)

// Append implements [state.Log].
func (s *Store) Append(ctx context.Context, key string, value []byte, w state.Write) (uint64, error) {
	if err := state.Check(key, value); err != nil {
		return 0, err
	}
	if value == nil {
		value = []byte{} // a nil slice would be stored as NULL
	}
	var position int64
	err := s.change(ctx, "append", func(tx *sql.Tx) error {
		if err := fence(ctx, tx, key, w.Hold); err != nil {
			return err
		}
		now := time.Now()
		if err := sweepLogs(ctx, tx, key, now); err != nil {
			return err
		}
		var err error
		if position, err = next(ctx, tx); err != nil {
			return err
		}
		var expires any
		if w.TTL > 0 {
			expires = now.Add(w.TTL).UnixNano()
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO logs VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET expires = excluded.expires`,
			[]byte(key), position-1, expires); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO records VALUES (?, ?, ?, ?)`, []byte(key), position, value, now.UnixNano())
		return err
	})
	return uint64(position), err
}

// sweepLogs removes the log of a key if it has expired, and some records of another log that has.
func sweepLogs(ctx context.Context, tx *sql.Tx, key string, now time.Time) error {
	for _, removal := range []struct {
		statement string
		arguments []any
	}{
		{`DELETE FROM records WHERE key = ?1 AND EXISTS (SELECT 1 FROM logs WHERE key = ?1 AND expires <= ?2)`, []any{[]byte(key), now.UnixNano()}},
		{`DELETE FROM logs WHERE key = ? AND expires <= ?`, []any{[]byte(key), now.UnixNano()}},
		{`DELETE FROM records WHERE rowid IN (SELECT rowid FROM records WHERE key = (SELECT key FROM logs WHERE expires <= ? LIMIT 1) LIMIT ?)`,
			[]any{now.UnixNano(), maxSwept}},
		{`DELETE FROM logs WHERE key IN (SELECT key FROM logs WHERE expires <= ? LIMIT ?)
			AND NOT EXISTS (SELECT 1 FROM records WHERE records.key = logs.key)`, []any{now.UnixNano(), maxSwept}},
	} {
		if _, err := tx.ExecContext(ctx, removal.statement, removal.arguments...); err != nil {
			return err
		}
	}
	return nil
}

// Read implements [state.Log].
func (s *Store) Read(ctx context.Context, key string, after uint64, limit int) (records []state.Record, err error) {
	err = s.fail(s.file.Read(ctx, "read", func(tx *sql.Tx) error {
		var trimmed uint64
		err := tx.QueryRowContext(ctx, `SELECT trimmed FROM logs WHERE key = ? AND (expires IS NULL OR expires > ?)`,
			[]byte(key), time.Now().UnixNano()).Scan(&trimmed)
		switch {
		case errors.Is(err, sql.ErrNoRows) && after == 0:
			return nil
		case errors.Is(err, sql.ErrNoRows) || err == nil && after != 0 && after < trimmed:
			return state.ErrTrimmed
		case err != nil:
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT position, value FROM records WHERE key = ? AND position > ? ORDER BY position LIMIT ?`,
			[]byte(key), int64(after), max(limit, 0))
		if err != nil {
			return err
		}
		defer rows.Close()
		for size := 0; size < state.MaxRead && rows.Next(); {
			var r state.Record
			if err := rows.Scan(&r.Position, &r.Value); err != nil {
				return err
			}
			size += len(r.Value)
			records = append(records, r)
		}
		return rows.Err()
	}))
	return records, err
}

// Trim implements [state.Log].
func (s *Store) Trim(ctx context.Context, key string, keep state.Keep, hold state.Hold) error {
	return s.change(ctx, "trim", func(tx *sql.Tx) error {
		if err := fence(ctx, tx, key, hold); err != nil {
			return err
		}
		if keep.Count < 0 {
			if _, err := tx.ExecContext(ctx, `DELETE FROM logs WHERE key = ?`, []byte(key)); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, `DELETE FROM records WHERE key = ?`, []byte(key))
			return err
		}
		var last sql.NullInt64 // the newest record to remove
		err := tx.QueryRowContext(ctx, `SELECT max(position) FROM (
				SELECT position, time, row_number() OVER newest AS count, sum(length(value)) OVER newest AS bytes
				FROM records WHERE key = ?1 WINDOW newest AS (ORDER BY position DESC))
			WHERE ?2 > 0 AND count > ?2 OR ?3 > 0 AND bytes > ?3 OR ?4 > 0 AND time <= ?5 - ?4`,
			[]byte(key), keep.Count, keep.Bytes, keep.Age.Nanoseconds(), time.Now().UnixNano()).Scan(&last)
		if err != nil || !last.Valid {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM records WHERE key = ? AND position <= ?`, []byte(key), last.Int64); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE logs SET trimmed = ? WHERE key = ?`, last.Int64, []byte(key))
		return err
	})
}
