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

	defaultRows = 100      // rows of a result
	maxSessions = 4        // concurrent statements
	maxDSN      = 16 << 10 // bytes of a DSN
)

// Options selects a database and configures its server.
type Options struct {
	// DSN names the database: sqlite:FILE, mysql://USER:PASSWORD@HOST:PORT/DATABASE, also
	// mariadb://, or postgres://USER:PASSWORD@HOST:PORT/DATABASE. In a password all characters
	// except letters and digits must be percent-encoded. Parameters for MySQL are tls (true, false,
	// skip-verify, default preferred) and socket. Parameters for PostgreSQL are those of libpq,
	// such as sslmode (default require). An SQLite file must exist.
	DSN string
	// Write adds the tool execute. Without it the server is read-only.
	Write bool
	// Timeout is the maximum time for a statement, including the wait for its turn and its
	// connection; default [DefaultTimeout].
	Timeout time.Duration
}

// A Database is a server for one database. The caller must close it. It is safe for concurrent use.
type Database struct {
	*mcp.Server
	dialect          *dialect
	reading, writing *dbsql.DB
	timeout          time.Duration
	turns            *share.Turns // limits the number of concurrent statements
	results          *kept.Answers
	secrets          []string
	uri              string // beginning of the URIs of all resources

	mu    sync.Mutex
	shown map[string]bool // URIs of the tables registered as resources
}

// Open connects to a database, reads its tables and returns its server. Its errors omit the
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
		Instructions: "A " + t.dialect.name + " database. " + reads + " Call describe before you write SQL. Let the database count, sort and limit: an answer has at most 1,000 rows.",
	})
	d.addTools(o.Write)
	if err := d.addResources(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("sql: %w", err), d.Close())
	}
	return d, nil
}

// Close closes the connections and drops the stored results.
func (d *Database) Close() error {
	d.results.Close()
	return errors.Join(d.reading.Close(), d.writing.Close())
}

func (d *Database) addTools(write bool) {
	reads := &mcp.ToolAnnotations{ReadOnlyHint: new(true), IdempotentHint: new(true), OpenWorldHint: new(false)}
	mcp.AddToolWith(d.Server, mcp.Tool{
		Name: "query", Title: "Query the database", Annotations: reads,
		Description: "Run one " + d.dialect.name + " statement that only reads. Placeholders of parameters: " + d.dialect.placeholder +
			". The answer has the first rows; if there are more, it names a resource with all of them as CSV.",
	}, d.query)
	mcp.AddToolWith(d.Server, mcp.Tool{
		Name: "describe", Title: "Describe the tables", Annotations: reads,
		Description: "List the tables and views, or describe one of them: columns, keys, indexes and comments.",
	}, d.describe)
	if write {
		mcp.AddToolWith(d.Server, mcp.Tool{
			Name: "execute", Title: "Change the database",
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(false), DestructiveHint: new(true), IdempotentHint: new(false), OpenWorldHint: new(false)},
			Description: "Run one " + d.dialect.name + " statement that changes data or tables, in its own transaction. Placeholders of parameters: " +
				d.dialect.placeholder + ". Returns the number of changed rows, or the rows of RETURNING.",
		}, d.execute)
	}
}
