package postgres

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

const (
	// maxConnections is the largest number of connections of a Store, in addition to the one that
	// receives hints.
	maxConnections = 10
	// unchecked is the longest time without use after which a connection is used without a check.
	unchecked = time.Second
	// closeTimeout is the time limit for ending a connection, and for cancelling its statement.
	closeTimeout = 15 * time.Second
)

var (
	// errNoRows means that a statement returned no row.
	errNoRows = errors.New("no rows")
	// errClosed means that the Store is closed.
	errClosed = errors.New("the store is closed")
)

// A pool holds the connections of a Store. Package pgxpool could do the same, but brings the codecs of
// all types of PostgreSQL.
type pool struct {
	config   *pgconn.Config
	lifetime time.Duration // of a connection
	idleTime time.Duration // after which an idle connection ends

	inUse  chan struct{} // has an element for each connection in use
	closed chan struct{}
	work   sync.WaitGroup // goroutines that end connections

	mu   sync.Mutex
	idle []*connection // by the time of their last use; the last one is taken first
}

// A connection is a connection of a pool.
type connection struct {
	*pgconn.PgConn
	opened, used time.Time
}

// newPool returns the pool of a configuration without connections. It removes the parameters of
// packages pgx and pgxpool, which the server does not know, and reads two of them.
func newPool(config *pgconn.Config) (*pool, error) {
	p := &pool{config: config, lifetime: time.Hour, idleTime: 30 * time.Minute, inUse: make(chan struct{}, maxConnections), closed: make(chan struct{})}
	for name, value := range config.RuntimeParams {
		switch name {
		case "pool_max_conn_lifetime", "pool_max_conn_idle_time":
			d, err := time.ParseDuration(value)
			if err != nil {
				return nil, fmt.Errorf("%s is no duration", name)
			}
			if name == "pool_max_conn_lifetime" {
				p.lifetime = d
			} else {
				p.idleTime = d
			}
		case "statement_cache_capacity", "description_cache_capacity", "default_query_exec_mode":
		default:
			if !strings.HasPrefix(name, "pool_") {
				continue
			}
		}
		delete(config.RuntimeParams, name)
	}
	return p, nil
}

// use calls do with a connection that nothing else uses meanwhile.
func (p *pool) use(ctx context.Context, do func(*pgconn.PgConn) error) error {
	select {
	case p.inUse <- struct{}{}:
	case <-p.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.inUse }()
	c, err := p.take(ctx)
	if err != nil {
		return err
	}
	defer p.give(c)
	return do(c.PgConn)
}

// take returns an idle connection that works, else a new one.
func (p *pool) take(ctx context.Context) (*connection, error) {
	for {
		c, err := p.pop()
		switch {
		case err != nil:
			return nil, err
		case c == nil:
			conn, err := pgconn.ConnectConfig(ctx, p.config)
			if err != nil {
				return nil, err
			}
			return &connection{PgConn: conn, opened: time.Now()}, nil
		case time.Since(c.opened) > p.lifetime || !c.works(ctx):
			p.end(c)
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		default:
			return c, nil
		}
	}
}

// pop removes the idle connection that was used last. It returns nil if there is none.
func (p *pool) pop() (*connection, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle) - 1
	switch {
	case p.isClosed():
		return nil, errClosed
	case n < 0:
		return nil, nil
	}
	c := p.idle[n]
	p.idle[n] = nil
	p.idle = p.idle[:n]
	return c, nil
}

// works reports whether the server answers on an idle connection.
func (c *connection) works(ctx context.Context) bool {
	if time.Since(c.used) <= unchecked {
		return true
	}
	ctx, done := context.WithTimeout(ctx, connectTimeout)
	defer done()
	return c.Ping(ctx) == nil
}

// give takes a connection back, or ends it if the next caller could not use it.
func (p *pool) give(c *connection) {
	c.used = time.Now()
	p.mu.Lock()
	keep := !p.isClosed() && !c.IsClosed() && !c.IsBusy() && c.TxStatus() == 'I'
	if keep {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if !keep {
		p.end(c)
	}
}

// end ends a connection in a goroutine.
func (p *pool) end(c *connection) {
	p.work.Go(func() {
		ctx, done := context.WithTimeout(context.Background(), closeTimeout)
		defer done()
		_ = c.Close(ctx) // the server notices otherwise
		select {
		case <-c.CleanupDone():
		case <-ctx.Done():
		}
	})
}

// tidy ends the connections that were idle for long.
func (p *pool) tidy() {
	p.mu.Lock()
	n := 0
	for n < len(p.idle) && time.Since(p.idle[n].used) > p.idleTime {
		n++
	}
	old := p.idle[:n:n]
	p.idle = append([]*connection(nil), p.idle[n:]...)
	p.mu.Unlock()
	for _, c := range old {
		p.end(c)
	}
}

// isClosed reports whether close has been called.
func (p *pool) isClosed() bool {
	select {
	case <-p.closed:
		return true
	default:
		return false
	}
}

// close ends all connections, after the operations that use them. Later operations fail.
func (p *pool) close() {
	p.mu.Lock()
	if p.isClosed() {
		p.mu.Unlock()
		return
	}
	close(p.closed)
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		p.end(c)
	}
	for range cap(p.inUse) {
		p.inUse <- struct{}{}
	}
	p.work.Wait()
}

// query runs a statement, and calls each with the values of each row, which are valid until it
// returns. It returns the number of rows that the statement returned or changed.
func (p *pool) query(ctx context.Context, statement string, arguments []any, each func(values [][]byte) error) (rows int64, err error) {
	values, formats := make([][]byte, len(arguments)), make([]int16, len(arguments))
	for i, argument := range arguments {
		if values[i], formats[i], err = encode(argument); err != nil {
			return 0, err
		}
	}
	err = p.use(ctx, func(c *pgconn.PgConn) error {
		// A statement without a name passes PgBouncer in transaction mode.
		result := c.ExecParams(ctx, statement, values, nil, formats, []int16{pgproto3.BinaryFormat})
		var failed error
		for result.NextRow() {
			if failed == nil {
				failed = each(result.Values())
			}
		}
		tag, err := result.Close()
		rows = tag.RowsAffected()
		if err != nil {
			return err
		}
		return failed
	})
	return rows, err
}

// exec runs a statement without rows, and returns the number of rows that it changed.
func (p *pool) exec(ctx context.Context, statement string, arguments ...any) (int64, error) {
	return p.query(ctx, statement, arguments, func([][]byte) error { return nil })
}

// encode returns an argument as the server reads it.
func encode(argument any) (value []byte, format int16, err error) {
	switch a := argument.(type) {
	case []byte:
		return a, pgproto3.BinaryFormat, nil
	case string:
		return []byte(a), pgproto3.TextFormat, nil
	case int64:
		return strconv.AppendInt(nil, a, 10), pgproto3.TextFormat, nil
	case int:
		return strconv.AppendInt(nil, int64(a), 10), pgproto3.TextFormat, nil
	}
	return nil, 0, fmt.Errorf("an argument has the type %T", argument)
}

// scan reads the values of a row, in the binary format. NULL is nil in pointers and []byte, and
// otherwise an error.
func scan(values [][]byte, into ...any) error {
	if len(values) != len(into) {
		return fmt.Errorf("the server sent %d columns, expected %d", len(values), len(into))
	}
	for i, value := range values {
		fits := value != nil
		switch to := into[i].(type) {
		case *[]byte:
			*to, fits = append([]byte(nil), value...), true
			if value != nil && *to == nil {
				*to = []byte{}
			}
		case *string:
			*to = string(value)
		case **string:
			*to, fits = nil, true
			if value != nil {
				text := string(value)
				*to = &text
			}
		case *bool:
			fits = len(value) == 1
			*to = fits && value[0] != 0
		case *int64:
			*to, fits = integer(value)
		case **int64:
			*to, fits = nil, true
			if value != nil {
				var n int64
				n, fits = integer(value)
				*to = &n
			}
		default:
			fits = false
		}
		if !fits {
			return fmt.Errorf("column %d of the server has %d bytes, which are no %T", i+1, len(value), into[i])
		}
	}
	return nil
}

// integer reads a bigint.
func integer(value []byte) (int64, bool) {
	if len(value) != 8 {
		return 0, false
	}
	return int64(binary.BigEndian.Uint64(value)), true
}
