package sql

import (
	"cmp"
	"context"
	dbsql "database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/internal/kept"
)

const (
	// DefaultTimeout is the default of [Options.Timeout].
	DefaultTimeout = 30 * time.Second

	defaultRows = 100      // of an answer
	maxSessions = 4        // statements that run at the same time
	maxDSN      = 16 << 10 // bytes of a DSN
)

// Options say which database a server is for.
type Options struct {
	// DSN says where the database is: sqlite:FILE, mysql://USER:PASSWORD@HOST:PORT/DATABASE, also mariadb://,
	// or postgres://USER:PASSWORD@HOST:PORT/DATABASE. What is no letter or digit in a password is
	// percent-encoded. MySQL's parameters are tls (true, false, skip-verify, default preferred) and socket,
	// PostgreSQL's those of libpq, such as sslmode (default require). A file of SQLite must be there.
	DSN string
	// Write adds the tool execute; without it the server only reads.
	Write bool
	// Timeout is how long a statement may take, with all that leads to it; default [DefaultTimeout].
	Timeout time.Duration
}

// A Database is a server for one database. Close it when done. It is safe for concurrent use.
type Database struct {
	*mcp.Server
	dialect          *dialect
	reading, writing *dbsql.DB
	timeout          time.Duration
	turns            *share.Turns // to run a statement
	results          *kept.Answers
	secrets          []string
	uri              string // what the URIs of all resources begin with

	mu    sync.Mutex
	shown map[string]bool // tables that are resources, by URI
}

// Open returns the server for a database, which it connects to, to find the tables. Its errors show no
// password.
func Open(ctx context.Context, o Options) (*Database, error) {
	if o.DSN == "" {
		return nil, errors.New("sql: there is no DSN")
	}
	if len(o.DSN) > maxDSN {
		return nil, fmt.Errorf("sql: the DSN: expected at most %d bytes, got %d", maxDSN, len(o.DSN))
	}
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	t, err := parseDSN(o.DSN, o.Timeout)
	if err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	d := &Database{
		dialect: t.dialect, timeout: o.Timeout, secrets: t.secrets, uri: "sql://" + t.authority(o.Write) + "/", turns: share.NewTurns(maxSessions), shown: map[string]bool{},
		reading: dbsql.OpenDB(t.read), writing: dbsql.OpenDB(t.write),
	}
	d.results = &kept.Answers{Prefix: d.uri + "results/", Most: maxKept, Age: keepTime}
	d.reading.SetMaxIdleConns(-1)
	d.writing.SetMaxIdleConns(-1)
	reads := "It is only read."
	if o.Write {
		reads = "execute changes it."
	}
	d.Server = mcp.NewServerWith("sql", "1.0.0", mcp.ServerOptions{
		Title: "Database", Description: "A " + t.dialect.name + " database.", NoLogging: true,
		Instructions: "A " + t.dialect.name + " database. " + reads + " Look at describe before you write SQL. Have the database count, sort and limit: an answer has at most 1,000 rows.",
	})
	d.addTools(o.Write)
	if err := d.addResources(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sql: %w", err), d.Close())
	}
	return d, nil
}

// Close ends the connections and drops the results that were kept.
func (d *Database) Close() error {
	d.results.Close()
	return errors.Join(d.reading.Close(), d.writing.Close())
}

func (d *Database) addTools(write bool) {
	reads := &mcp.ToolAnnotations{ReadOnlyHint: new(true), IdempotentHint: new(true), OpenWorldHint: new(false)}
	mcp.AddToolWith(d.Server, mcp.Tool{
		Name: "query", Title: "Query the database", Annotations: reads,
		Description: "Run one " + d.dialect.name + " statement that only reads. Placeholders of parameters: " + d.dialect.placeholder +
			". The answer has the first rows; where there are more, it names a resource with all of them as CSV.",
	}, d.query)
	mcp.AddToolWith(d.Server, mcp.Tool{
		Name: "describe", Title: "Describe the tables", Annotations: reads,
		Description: "List the tables and views, or describe one of them: columns, keys, indexes and comments.",
	}, d.describe)
	if write {
		mcp.AddToolWith(d.Server, mcp.Tool{
			Name: "execute", Title: "Change the database",
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(false), DestructiveHint: new(true), IdempotentHint: new(false), OpenWorldHint: new(false)},
			Description: "Run one " + d.dialect.name + " statement that changes data or tables, in a transaction of its own. Placeholders of parameters: " +
				d.dialect.placeholder + ". Answers with how many rows were changed, or with the rows of RETURNING.",
		}, d.execute)
	}
}
