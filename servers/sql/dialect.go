package sql

import (
	"context"
	dbsql "database/sql"
)

// A dialect describes one kind of database.
type dialect struct {
	name        string // name for messages
	placeholder string // syntax of parameters, for descriptions of tools
	syntax      syntax
	reads       []string // first words that statements for query may have
	denied      []string // functions that query must not call, in lower case

	// begin begins a transaction on a new connection. Unless write is set, it first makes the
	// session read-only.
	begin func(ctx context.Context, c *dbsql.Conn, write bool) error
	// end ends the statements of a connection when ctx is done, until stop is called. It is nil if
	// the driver does that reliably.
	end func(ctx context.Context, c *dbsql.Conn) (stop func(), err error)
	// vet returns an error if a statement must not call one of its functions. It is nil if denied
	// suffices.
	vet func(ctx context.Context, c *dbsql.Conn, functions []string) error
	// remedy returns advice for an error of the database. It is nil if there is none.
	remedy func(error) string
	// over reports whether an error means that the database ended a statement at the time limit. It
	// is nil if the database has no time limit.
	over func(error) bool

	// tables, columns, primary, indexes and foreign are queries that describe tables. The
	// parameters of tables are a name, empty for all tables, and a limit. Its columns are schema,
	// name, display name, kind and comment. The other queries have the parameters schema and name.
	// The rows of columns are name, type, nullability, default and comment. primary has one row for
	// each column of the primary key. indexes has one row for each column of an index: name,
	// uniqueness, and column. foreign has one row for each column of a foreign key: name, column,
	// table and referenced column.
	tables, columns, primary, indexes, foreign string
}

// run executes internal statements.
func run(ctx context.Context, c *dbsql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
