package sql

import (
	"context"
	dbsql "database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/junction-mcp/junction/internal/share"
)

// A queryIn is the input of the tool query.
type queryIn struct {
	SQL        string `json:"sql" doc:"One statement that only reads. Pass values as parameters."`
	Parameters []any  `json:"parameters,omitempty" doc:"The values of the placeholders, in their order: texts, numbers, booleans or null." max:"1000"`
	MaxRows    int    `json:"max_rows,omitempty" doc:"The most rows in the answer; the others can be read as CSV." min:"1" max:"1000" default:"100"`
	CSV        bool   `json:"csv,omitempty" doc:"Keep the whole result as CSV at a URI, even if it fits the answer."`
}

// A changeIn is the input of the tool execute.
type changeIn struct {
	SQL        string `json:"sql" doc:"One statement. Pass values as parameters."`
	Parameters []any  `json:"parameters,omitempty" doc:"The values of the placeholders, in their order: texts, numbers, booleans or null." max:"1000"`
}

func (d *Database) query(ctx context.Context, in queryIn) (*Result, error) {
	s, err := d.dialect.read(in.SQL)
	if err != nil {
		return nil, err
	}
	values, err := parameters(in.Parameters)
	if err != nil {
		return nil, err
	}
	collected := &collector{maxRows: in.MaxRows}
	err = d.session(ctx, false, func(ctx context.Context, c *dbsql.Conn) error {
		if d.dialect.vet != nil {
			if err := d.dialect.vet(ctx, c, s.functions); err != nil {
				return err
			}
		}
		return collect(ctx, c, s.text, values, collected, false)
	})
	if err != nil {
		return nil, err
	}
	return d.finish(collected, in.CSV), nil
}

func (d *Database) execute(ctx context.Context, in changeIn) (*Result, error) {
	s, err := d.dialect.change(in.SQL)
	if err != nil {
		return nil, err
	}
	values, err := parameters(in.Parameters)
	if err != nil {
		return nil, err
	}
	collected := &collector{maxRows: defaultRows, result: Result{Columns: []Column{}, Rows: [][]any{}}}
	err = d.session(ctx, true, func(ctx context.Context, c *dbsql.Conn) error {
		if s.returns {
			return collect(ctx, c, s.text, values, collected, true)
		}
		result, err := c.ExecContext(ctx, s.text, values...)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err == nil {
			collected.result.Affected = &n
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return d.finish(collected, false), nil
}

// parameters converts values for drivers. A number without a fraction becomes an integer.
func parameters(values []any) ([]any, error) {
	out := make([]any, len(values))
	for i, value := range values {
		switch v := value.(type) {
		case nil, string, bool:
			out[i] = v
		case float64:
			if out[i] = v; v == math.Trunc(v) && math.Abs(v) <= maxExact {
				out[i] = int64(v)
			}
		default:
			return nil, fmt.Errorf("parameters[%d]: expected a text, a number, a boolean or null, got a list or an object; pass its JSON as a text", i)
		}
	}
	return out, nil
}

// collect runs a statement and collects its rows. Unless all is set it stops when into is full.
// With all it reads on, so that the database completes the statement.
func collect(ctx context.Context, c *dbsql.Conn, statement string, values []any, into *collector, all bool) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	prepared, err := c.PrepareContext(ctx, statement) // databases refuse to prepare several statements at once
	if err != nil {
		return err
	}
	defer prepared.Close()
	rows, err := prepared.QueryContext(ctx, values...)
	if err != nil {
		return err
	}
	defer rows.Close()
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	columns := make([]Column, len(types))
	for i, t := range types {
		columns[i] = Column{t.Name(), t.DatabaseTypeName()}
	}
	if err := into.header(columns); err != nil {
		return err
	}
	for rows.Next() {
		row := make([]any, len(columns))
		places := make([]any, len(columns))
		for i := range row {
			places[i] = &row[i]
		}
		if err := rows.Scan(places...); err != nil {
			return err
		}
		for i := range row {
			row[i] = plain(row[i], columns[i].Type)
		}
		more, err := into.add(row)
		if err != nil {
			return err
		}
		if !more && !all {
			stop() // ends the query, so that the remaining rows are not read
			return nil
		}
	}
	return rows.Err()
}

// session runs f in a transaction on a separate connection, and closes the connection. That rolls
// back uncommitted changes and drops the settings of the session.
func (d *Database) session(ctx context.Context, write bool, f func(context.Context, *dbsql.Conn) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, d.timeout, errTime)
	defer cancel()
	done, err := d.turns.Wait(ctx, share.Of(ctx))
	if err != nil {
		return fmt.Errorf("%d statements are running already; try again", maxSessions)
	}
	defer done()
	pool := d.reading
	if write {
		pool = d.writing
	}
	err = func() error {
		c, err := pool.Conn(ctx)
		if err != nil {
			return fmt.Errorf("cannot connect to the %s database: %w", d.dialect.name, err)
		}
		defer c.Close() // also closes the connection, because the pool keeps none
		if d.dialect.end != nil {
			stop, err := d.dialect.end(ctx, c)
			if err != nil {
				return err
			}
			defer stop() // before the connection is closed
		}
		if err := d.dialect.begin(ctx, c, write); err != nil {
			return fmt.Errorf("cannot begin a transaction: %w", err)
		}
		if err := f(ctx, c); err != nil || !write {
			return err
		}
		if err := run(ctx, c, "COMMIT"); err != nil {
			return fmt.Errorf("it is unknown whether the change was made: COMMIT: %w", err)
		}
		return nil
	}()
	return d.explain(ctx, err)
}

// errTime is the cause when the time limit ends a statement.
var errTime = errors.New("the time limit was reached")

// explain adds advice to an error of the database and removes the password.
func (d *Database) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	why := err.Error()
	if errors.Is(err, driver.ErrBadConn) {
		why = "the database ended the connection"
	}
	if errors.Is(context.Cause(ctx), errTime) || d.dialect.over != nil && d.dialect.over(err) {
		why = fmt.Sprintf("the statement ran longer than %s and was ended; ask for less, or use an index", d.timeout.Round(time.Millisecond))
	} else if d.dialect.remedy != nil {
		if remedy := d.dialect.remedy(err); remedy != "" {
			why += "; " + remedy
		}
	}
	return errors.New(hide(why, d.secrets))
}
