package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/internal/prefix"
	"github.com/junction-mcp/junction/state/internal/topics"
)

const (
	// callTimeout is the time limit for an operation.
	callTimeout = 5 * time.Second
	// openTimeout is the time limit for making the tables.
	openTimeout = 30 * time.Second
	// sweepPause is the time between two removals of what has expired.
	sweepPause = time.Minute
	// maxSwept is the largest number of rows that one statement of a removal removes, and maxSweeps
	// that of such statements in a row.
	maxSwept  = 1000
	maxSweeps = 10
	// maxTries is the largest number of attempts at an operation that has had no effect because a
	// connection was dead before it or another transaction was in the way.
	maxTries = 4
)

// A Store is a [state.Shared] store in PostgreSQL.
type Store struct {
	pool   *pgxpool.Pool
	direct *pgx.ConnConfig // for the connection that receives hints
	topics topics.Topics
	stop   context.CancelFunc // ends the goroutines
	ctx    context.Context    // of the goroutines
	work   sync.WaitGroup

	mu     sync.Mutex
	begun  chan struct{} // closed once hints arrive; nil before the first subscription
	closed bool
}

// Open connects to the server of a URL, and makes the tables if necessary; client is the name that
// the server shows for the connections. Errors contain no password.
func Open(ctx context.Context, url, client string) (*Store, error) {
	config, direct, err := parse(url, client)
	if err != nil {
		return nil, fmt.Errorf("the URL of the store: %w", err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	pool, err := pgxpool.NewWithConfig(running, config)
	if err != nil {
		stop()
		return nil, fail("connect", false, err)
	}
	s := &Store{pool: pool, direct: direct, stop: stop, ctx: running}
	opening, done := context.WithTimeout(ctx, openTimeout)
	defer done()
	if err := s.migrate(opening); err != nil {
		stop()
		pool.Close()
		if errors.Is(err, errNewer) {
			return nil, fmt.Errorf("postgres: %w", err)
		}
		return nil, fail("connect", false, err)
	}
	s.work.Go(s.sweepOften)
	return s, nil
}

// Close ends all subscriptions and closes the connections.
func (s *Store) Close() error {
	s.topics.Close()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.work.Wait()
	s.pool.Close()
	return nil
}

// row runs a statement with one row, and scans it.
func (s *Store) row(ctx context.Context, what string, writes bool, statement string, arguments []any, into ...any) error {
	err := s.try(ctx, func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, statement, arguments...).Scan(into...)
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	return fail(what, writes, err)
}

// try calls do within the time limit of an operation, and again if do has had no effect because a
// connection was dead or another transaction was in the way.
func (s *Store) try(ctx context.Context, do func(ctx context.Context) error) error {
	ctx, done := context.WithTimeout(ctx, callTimeout)
	defer done()
	for tries := 1; ; tries++ {
		err := do(ctx)
		var reply *pgconn.PgError
		var connect *pgconn.ConnectError
		again := pgconn.SafeToRetry(err) && !errors.As(err, &connect) || errors.As(err, &reply) && strings.HasPrefix(reply.Code, "40")
		if !again || tries == maxTries || ctx.Err() != nil {
			return err
		}
	}
}

// protected returns the arguments of a statement that begins with held.
func protected(hold state.Hold, arguments ...any) []any {
	return append([]any{[]byte(hold.Name), int64(hold.Token)}, arguments...)
}

// Get implements [state.KV].
func (s *Store) Get(ctx context.Context, key string) (state.Entry, error) {
	e := state.Entry{Key: key}
	err := s.row(ctx, "get", false, `SELECT value, version FROM junction_entries WHERE key = $1::bytea AND (expires IS NULL OR expires > clock_timestamp())`,
		[]any{[]byte(key)}, &e.Value, &e.Version)
	if errors.Is(err, pgx.ErrNoRows) {
		return state.Entry{}, state.ErrNotFound
	}
	return e, err
}

// Put implements [state.KV].
func (s *Store) Put(ctx context.Context, key string, value []byte, w state.Write) (state.Version, error) {
	return s.put(ctx, "put", putEntry, key, value, w)
}

// CompareAndSwap implements [state.KV].
func (s *Store) CompareAndSwap(ctx context.Context, key string, old state.Version, value []byte, w state.Write) (state.Version, error) {
	if old == "" {
		return s.put(ctx, "compare and swap", createEntry, key, value, w)
	}
	return s.put(ctx, "compare and swap", swapEntry, key, value, w, string(old))
}

func (s *Store) put(ctx context.Context, what, statement, key string, value []byte, w state.Write, old ...any) (state.Version, error) {
	if err := state.Check(key, value); err != nil {
		return "", err
	}
	if err := state.CheckHold(key, w.Hold); err != nil {
		return "", err
	}
	if value == nil {
		value = []byte{} // a nil slice would be stored as NULL
	}
	var held bool
	var version *string
	err := s.row(ctx, what, true, statement, protected(w.Hold, append([]any{[]byte(key), value, max(w.TTL, 0).Microseconds()}, old...)...), &held, &version)
	switch {
	case err != nil:
		return "", err
	case !held:
		return "", state.ErrLost
	case version == nil:
		return "", state.ErrConflict
	}
	return state.Version(*version), nil
}

// change runs a statement that begins with held and returns only that.
func (s *Store) change(ctx context.Context, what, statement, key string, hold state.Hold, arguments ...any) error {
	if err := state.CheckHold(key, hold); err != nil {
		return err
	}
	var held bool
	err := s.row(ctx, what, true, statement, protected(hold, append([]any{[]byte(key)}, arguments...)...), &held)
	if err == nil && !held {
		return state.ErrLost
	}
	return err
}

// Delete implements [state.KV].
func (s *Store) Delete(ctx context.Context, key string, hold state.Hold) error {
	return s.change(ctx, "delete", deleteEntry, key, hold)
}

// List implements [state.KV].
func (s *Store) List(ctx context.Context, begin, after string, limit int) ([]state.Entry, error) {
	var entries []state.Entry
	err := s.try(ctx, func(ctx context.Context) error {
		rows, err := s.pool.Query(ctx, `SELECT key, value, version FROM junction_entries
			WHERE key >= $1::bytea AND key > $2::bytea AND ($3::bytea = '' OR key < $3::bytea) AND (expires IS NULL OR expires > clock_timestamp())
			ORDER BY key LIMIT $4::bigint`, []byte(begin), []byte(after), []byte(prefix.End(begin)), max(limit, 0))
		if err != nil {
			return err
		}
		entries, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (e state.Entry, err error) {
			var key []byte
			err = row.Scan(&key, &e.Value, &e.Version)
			e.Key = string(key)
			return e, err
		})
		return err
	})
	return entries, fail("list", false, err)
}

// Acquire implements [state.Lease].
func (s *Store) Acquire(ctx context.Context, name string, ttl time.Duration) (state.Hold, error) {
	if err := state.Check(name, nil); err != nil {
		return state.Hold{}, err
	}
	var token int64
	err := s.row(ctx, "acquire", true, acquireLease, []any{[]byte(name), max(ttl.Microseconds(), 1)}, &token)
	if errors.Is(err, pgx.ErrNoRows) {
		return state.Hold{}, state.ErrHeld
	}
	return state.Hold{Name: name, Token: uint64(token)}, err
}

// Renew implements [state.Lease].
func (s *Store) Renew(ctx context.Context, hold state.Hold, ttl time.Duration) error {
	return s.lease(ctx, "renew", renewLease, []byte(hold.Name), int64(hold.Token), max(ttl.Microseconds(), 1))
}

// Release implements [state.Lease].
func (s *Store) Release(ctx context.Context, hold state.Hold) error {
	err := s.lease(ctx, "release", releaseLease, []byte(hold.Name), int64(hold.Token))
	if errors.Is(err, state.ErrLost) {
		return nil
	}
	return err
}

// lease changes a lease, or returns [state.ErrLost].
func (s *Store) lease(ctx context.Context, what, statement string, arguments ...any) error {
	var changed int64
	err := s.try(ctx, func(ctx context.Context) error {
		tag, err := s.pool.Exec(ctx, statement, arguments...)
		changed = tag.RowsAffected()
		return err
	})
	if err == nil && changed == 0 {
		return state.ErrLost
	}
	return fail(what, true, err)
}

// sweepOften removes what has expired, at once and then until the Store is closed.
func (s *Store) sweepOften() {
	tick := time.NewTicker(sweepPause)
	defer tick.Stop()
	for s.ctx.Err() == nil {
		s.sweep()
		select {
		case <-tick.C:
		case <-s.ctx.Done():
		}
	}
}

// sweep removes some of what has expired. After an error the next call tries again.
func (s *Store) sweep() {
	for _, statement := range sweeps {
		for range maxSweeps {
			ctx, done := context.WithTimeout(s.ctx, callTimeout)
			tag, err := s.pool.Exec(ctx, statement, maxSwept)
			done()
			if err != nil || tag.RowsAffected() < maxSwept {
				break
			}
		}
	}
}

// Now implements [state.Clock].
func (s *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = s.row(ctx, "time", false, `SELECT clock_timestamp()`, nil, &now)
	return now, err
}
