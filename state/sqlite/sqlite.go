// Package sqlite stores state in a file for the processes of one machine. The state persists after
// these processes.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/sqlitefile"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/internal/topics"
)

// mark is the SQLite application ID of state files: "jstt".
const mark = 0x6a737474

// Times are Unix nanoseconds. The only row of the table given counts versions and tokens, so that
// no number is issued twice.
var migrations = []string{`
	CREATE TABLE entries (
		key BLOB PRIMARY KEY,
		value BLOB NOT NULL,
		version INTEGER NOT NULL,
		expires INTEGER
	) STRICT;
	CREATE INDEX entries_expires ON entries (expires) WHERE expires IS NOT NULL;
	CREATE TABLE leases (
		name BLOB PRIMARY KEY,
		token INTEGER NOT NULL,
		until INTEGER NOT NULL
	) STRICT, WITHOUT ROWID;
	CREATE TABLE given (
		one INTEGER PRIMARY KEY CHECK (one = 1),
		count INTEGER NOT NULL
	) STRICT;
	INSERT INTO given VALUES (1, 0);
`, `
	CREATE TABLE logs (
		key BLOB PRIMARY KEY,
		trimmed INTEGER NOT NULL, -- position of the last removed record, or the one before the first record
		expires INTEGER
	) STRICT, WITHOUT ROWID;
	CREATE INDEX logs_expires ON logs (expires) WHERE expires IS NOT NULL;
	CREATE TABLE records (
		key BLOB NOT NULL,
		position INTEGER NOT NULL,
		value BLOB NOT NULL,
		time INTEGER NOT NULL,
		UNIQUE (key, position)
	) STRICT;
	CREATE TABLE hints (
		topic BLOB PRIMARY KEY,
		count INTEGER NOT NULL,
		time INTEGER NOT NULL
	) STRICT, WITHOUT ROWID;
`}

// maxSwept is the largest number of expired entries, or of records of expired logs, that one write
// removes.
const maxSwept = 100

// A Store is a [state.Shared] store in a file.
type Store struct {
	file   *sqlitefile.File
	topics topics.Topics

	poll   sync.Mutex // held while polling starts or ends
	stop   func()     // ends polling; nil before it has started
	polled sync.WaitGroup
}

// Open opens the file at path. If necessary it creates the file and its folder, with access for
// their owner only.
func Open(ctx context.Context, path string) (*Store, error) {
	file, err := sqlitefile.Open(ctx, path, sqlitefile.Schema{Kind: "state", Mark: mark, Migrations: migrations})
	if err != nil {
		return nil, err
	}
	return &Store{file: file}, nil
}

// Close ends all subscriptions and closes the file.
func (s *Store) Close() error {
	s.topics.Close()
	s.poll.Lock()
	defer s.poll.Unlock()
	if s.stop == nil {
		s.stop = func() {} // polling does not start any more
	}
	s.stop()
	s.polled.Wait()
	return s.file.Close()
}

// Get implements [state.KV].
func (s *Store) Get(ctx context.Context, key string) (state.Entry, error) {
	e := state.Entry{Key: key}
	var version int64
	err := s.file.DB.QueryRowContext(ctx, `SELECT value, version FROM entries WHERE key = ? AND (expires IS NULL OR expires > ?)`,
		[]byte(key), time.Now().UnixNano()).Scan(&e.Value, &version)
	if errors.Is(err, sql.ErrNoRows) {
		return state.Entry{}, state.ErrNotFound
	}
	e.Version = versionOf(version)
	return e, s.fail(s.file.Fail("get", err))
}

func versionOf(n int64) state.Version { return state.Version(strconv.FormatInt(n, 10)) }

// Put implements [state.KV].
func (s *Store) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	return s.write(ctx, key, value, w, nil)
}

// CompareAndSwap implements [state.KV].
func (s *Store) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	return s.write(ctx, key, value, w, &old)
}

// write sets a value. If old is not nil, the current version must equal *old.
func (s *Store) write(ctx context.Context, key string, value []byte, w state.Write, old *state.Version) (state.Version, error) {
	if err := state.Check(key, value); err != nil {
		return "", err
	}
	if value == nil {
		value = []byte{} // a nil slice would be stored as NULL
	}
	var version int64
	err := s.change(ctx, "put", func(tx *sql.Tx) error {
		if err := fence(ctx, tx, key, w.Hold); err != nil {
			return err
		}
		now := time.Now()
		if _, err := tx.ExecContext(ctx, `DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE expires <= ? LIMIT ?)
			OR key = ? AND expires <= ?`, now.UnixNano(), maxSwept, []byte(key), now.UnixNano()); err != nil {
			return err
		}
		if old != nil {
			var number int64
			is := state.Version("")
			err := tx.QueryRowContext(ctx, `SELECT version FROM entries WHERE key = ?`, []byte(key)).Scan(&number)
			if err == nil {
				is = versionOf(number)
			} else if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if is != *old {
				return state.ErrConflict
			}
		}
		var err error
		if version, err = next(ctx, tx); err != nil {
			return err
		}
		var expires any
		if w.TTL > 0 {
			expires = now.Add(w.TTL).UnixNano()
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO entries VALUES (?, ?, ?, ?) ON CONFLICT (key)
			DO UPDATE SET value = excluded.value, version = excluded.version, expires = excluded.expires`, []byte(key), value, version, expires)
		return err
	})
	return versionOf(version), err
}

// fail returns the corresponding error of package state for an error of the file, if there is one,
// and otherwise err.
func (s *Store) fail(err error) error {
	for _, promised := range []error{state.ErrConflict, state.ErrHeld, state.ErrLost, state.ErrTrimmed} {
		if errors.Is(err, promised) {
			return promised
		}
	}
	if errors.Is(err, sqlitefile.ErrFull) {
		return fmt.Errorf("%w: %w", state.ErrFull, err)
	}
	return err
}

// change runs do in a transaction.
func (s *Store) change(ctx context.Context, what string, do func(*sql.Tx) error) error {
	return s.fail(s.file.Change(ctx, what, do))
}

// next returns a number that was never issued before.
func next(ctx context.Context, tx *sql.Tx) (n int64, err error) {
	err = tx.QueryRowContext(ctx, `UPDATE given SET count = count + 1 RETURNING count`).Scan(&n)
	return n, err
}

// fence returns [state.ErrLost] if the lease of hold may belong to another caller now, and
// [state.ErrGroup] if it cannot protect the key.
func fence(ctx context.Context, tx *sql.Tx, key string, hold state.Hold) error {
	if err := state.CheckHold(key, hold); err != nil {
		return err
	}
	if hold == (state.Hold{}) {
		return nil
	}
	var token uint64
	err := tx.QueryRowContext(ctx, `SELECT token FROM leases WHERE name = ?`, []byte(hold.Name)).Scan(&token)
	if errors.Is(err, sql.ErrNoRows) || err == nil && token != hold.Token {
		return state.ErrLost
	}
	return err
}

// Delete implements [state.KV].
func (s *Store) Delete(ctx context.Context, key string, hold state.Hold) error {
	return s.change(ctx, "delete", func(tx *sql.Tx) error {
		if err := fence(ctx, tx, key, hold); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM entries WHERE key = ?`, []byte(key))
		return err
	})
}

// List implements [state.KV].
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]state.Entry, error) {
	rows, err := s.file.DB.QueryContext(ctx, `SELECT key, value, version FROM entries
		WHERE key >= ?1 AND substr(key, 1, length(?1)) = ?1 AND key > ?2 AND (expires IS NULL OR expires > ?3) ORDER BY key LIMIT ?4`,
		[]byte(prefix), []byte(after), time.Now().UnixNano(), max(limit, 0))
	if err != nil {
		return nil, s.fail(s.file.Fail("list", err))
	}
	defer rows.Close()
	var entries []state.Entry
	for rows.Next() {
		var e state.Entry
		var key []byte
		var version int64
		if err := rows.Scan(&key, &e.Value, &version); err != nil {
			return nil, s.fail(s.file.Fail("list", err))
		}
		e.Key, e.Version = string(key), versionOf(version)
		entries = append(entries, e)
	}
	return entries, s.fail(s.file.Fail("list", rows.Err()))
}

// Acquire implements [state.Lease].
func (s *Store) Acquire(ctx context.Context, name string, ttl time.Duration) (state.Hold, error) {
	if err := state.Check(name, nil); err != nil {
		return state.Hold{}, err
	}
	hold := state.Hold{Name: name}
	err := s.change(ctx, "lease", func(tx *sql.Tx) error {
		now := time.Now()
		if _, err := tx.ExecContext(ctx, `DELETE FROM leases WHERE until <= ?`, now.UnixNano()); err != nil {
			return err
		}
		token, err := next(ctx, tx)
		if err != nil {
			return err
		}
		hold.Token = uint64(token)
		done, err := tx.ExecContext(ctx, `INSERT INTO leases VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, []byte(name), token, now.Add(ttl).UnixNano())
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, state.ErrHeld)
		}
		return nil
	})
	if err != nil {
		return state.Hold{}, err
	}
	return hold, nil
}

// Renew implements [state.Lease].
func (s *Store) Renew(ctx context.Context, hold state.Hold, ttl time.Duration) error {
	now := time.Now()
	done, err := s.file.DB.ExecContext(ctx, `UPDATE leases SET until = ? WHERE name = ? AND token = ? AND until > ?`,
		now.Add(ttl).UnixNano(), []byte(hold.Name), int64(hold.Token), now.UnixNano())
	if err != nil {
		return s.fail(s.file.Fail("renew", err))
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return errors.Join(state.ErrLost, err)
	}
	return nil
}

// Release implements [state.Lease].
func (s *Store) Release(ctx context.Context, hold state.Hold) error {
	_, err := s.file.DB.ExecContext(ctx, `DELETE FROM leases WHERE name = ? AND token = ?`, []byte(hold.Name), int64(hold.Token))
	return s.fail(s.file.Fail("release", err))
}

// Now implements [state.Clock]. All users of the file are on this machine.
func (s *Store) Now(context.Context) (time.Time, error) { return time.Now(), nil }
