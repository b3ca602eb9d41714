package sql

import (
	"context"
	dbsql "database/sql"
)

// A dialect holds the differences between databases.
type dialect struct {
	name        string // for messages
	placeholder string // form of parameters, for the description of the tools
	syntax      syntax
	reads       []string // first words of statements for query
	denied      []string // functions that query may not call, in lower case

	// begin makes the session of a new connection read-only, unless write is set, and begins a
	// transaction.
	begin func(ctx context.Context, c *dbsql.Conn, write bool) error
	// vet returns an error if a statement may not call one of its functions; nil if denied is
	// complete.
	vet func(ctx context.Context, c *dbsql.Conn, functions []string) error
	// remedy returns advice for an error of the database; nil if there is none.
	remedy func(error) string
	// over reports whether the database itself ended a statement at the time limit; nil if it never
	// does.
	over func(error) bool

	// Queries that describe the tables. The parameters of tables are a name, empty for all tables,
	// and a limit. Its columns are schema, name, name to show, kind and comment. The parameters of
	// the others are schema and name. The rows of columns are name, type, whether it can be NULL,
	// default and comment. primary has one row for each column of the primary key. indexes has one
	// row for each column of an index: name, whether it is unique, and column. foreign has one row
	// for each column of a foreign key: name, column, table and referenced column.
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
