package sql

import (
	"context"
	dbsql "database/sql"
)

// A dialect is what differs between databases.
type dialect struct {
	name        string // as people write it
	placeholder string // of parameters, for the description of the tools
	syntax      syntax
	reads       []string // words that a statement for query can begin with
	denied      []string // functions that query may not call, in small letters

	// begin has a new connection's session read only, unless write is set, and begins a transaction.
	begin func(ctx context.Context, c *dbsql.Conn, write bool) error
	// vet says which of the functions that a statement calls may not be called; nil where denied has them all.
	vet func(ctx context.Context, c *dbsql.Conn, functions []string) error
	// remedy says what helps against an error of the database; nil where nothing is known to.
	remedy func(error) string
	// over reports whether the database ended a statement as its time was over, which it may before we do; nil where none does.
	over func(error) bool

	// What describes the tables. The first takes a name, empty for all tables, and how many; it gives schema,
	// name, name to show, kind and comment. The others take schema and name, and give: name, type, whether
	// it can be NULL, default and comment of each column; the columns of the primary key; name, whether it
	// is unique, and column of each index, a column a row; name, column, table and referenced column of
	// each foreign key, a column a row.
	tables, columns, primary, indexes, foreign string
}

// run executes statements of ours.
func run(ctx context.Context, c *dbsql.Conn, statements ...string) error {
	for _, s := range statements {
		if _, err := c.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	return nil
}
