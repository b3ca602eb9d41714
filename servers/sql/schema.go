package sql

import (
	"context"
	dbsql "database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"

	"github.com/junction-mcp/junction/mcp"
)

const (
	maxTables  = 500   // tables in a list
	maxDetails = 2_000 // rows about a table's columns, indexes or keys
)

// A Schema holds the tables of a database, or one of them.
type Schema struct {
	Tables []Table `json:"tables"`
	More   bool    `json:"more,omitempty"` // some tables are not listed; describe finds them by name
}

// A Table is a table or a view. In a list it has no columns.
type Table struct {
	Name        string        `json:"name"`
	Kind        string        `json:"kind"` // "table" or "view"
	Comment     string        `json:"comment,omitempty"`
	Columns     []TableColumn `json:"columns,omitempty"`
	PrimaryKey  []string      `json:"primary_key,omitempty"`
	Indexes     []Index       `json:"indexes,omitempty"`
	ForeignKeys []ForeignKey  `json:"foreign_keys,omitempty"`

	schema, bare string
}

// A TableColumn is a column of a table.
type TableColumn struct {
	Name     string  `json:"name"`
	Type     string  `json:"type"`
	Nullable bool    `json:"nullable"`
	Default  *string `json:"default,omitempty"` // an expression
	Comment  string  `json:"comment,omitempty"`
}

// An Index is an index other than the primary key.
type Index struct {
	Name    string   `json:"name"`
	Unique  bool     `json:"unique"`
	Columns []string `json:"columns"`
}

// A ForeignKey is a reference to another table.
type ForeignKey struct {
	Columns    []string `json:"columns"`
	Table      string   `json:"table"`
	References []string `json:"references"` // columns of Table; empty means its primary key
}

// A describeIn is the input of the tool describe.
type describeIn struct {
	Table string `json:"table,omitempty" doc:"A table or view, perhaps as SCHEMA.TABLE. Without it: list them all."`
}

func (d *Database) describe(ctx context.Context, in describeIn) (Schema, error) {
	if in.Table == "" {
		return d.list(ctx)
	}
	t, err := d.table(ctx, in.Table)
	if err != nil {
		return Schema{}, err
	}
	if t == nil {
		return Schema{}, fmt.Errorf("there is no table %q that this account can read; describe without a table lists those that there are", in.Table)
	}
	return Schema{Tables: []Table{*t}}, nil
}

// list returns the tables, and registers them as resources of the server.
func (d *Database) list(ctx context.Context) (schema Schema, err error) {
	err = d.session(ctx, false, func(ctx context.Context, c *dbsql.Conn) error {
		schema.Tables, err = d.find(ctx, c, "", maxTables+1)
		return err
	})
	if err != nil {
		return Schema{}, err
	}
	if schema.More = len(schema.Tables) > maxTables; schema.More {
		schema.Tables = schema.Tables[:maxTables]
	}
	return schema, d.show(schema.Tables)
}

// find returns the tables with a name, or all tables if it is empty.
func (d *Database) find(ctx context.Context, c *dbsql.Conn, name string, most int) ([]Table, error) {
	tables := []Table{}
	err := each(ctx, c, d.dialect.tables, []any{name, most}, func(scan func(...any) error) error {
		var t Table
		err := scan(&t.schema, &t.bare, &t.Name, &t.Kind, &t.Comment)
		tables = append(tables, t)
		return err
	})
	return tables, err
}

// table returns the description of a table, or nil if the table does not exist.
func (d *Database) table(ctx context.Context, name string) (found *Table, err error) {
	err = d.session(ctx, false, func(ctx context.Context, c *dbsql.Conn) error {
		tables, err := d.find(ctx, c, name, 1)
		if err != nil || len(tables) == 0 {
			return err
		}
		found = &tables[0]
		return d.details(ctx, c, found)
	})
	return found, err
}

// details reads the columns, indexes and keys of a table.
func (d *Database) details(ctx context.Context, c *dbsql.Conn, t *Table) error {
	arguments := []any{t.schema, t.bare}
	err := each(ctx, c, d.dialect.columns, arguments, func(scan func(...any) error) error {
		var column TableColumn
		err := scan(&column.Name, &column.Type, &column.Nullable, &column.Default, &column.Comment)
		t.Columns = append(t.Columns, column)
		return err
	})
	if err != nil {
		return err
	}
	err = each(ctx, c, d.dialect.primary, arguments, func(scan func(...any) error) error {
		var column string
		err := scan(&column)
		t.PrimaryKey = append(t.PrimaryKey, column)
		return err
	})
	if err != nil {
		return err
	}
	err = each(ctx, c, d.dialect.indexes, arguments, func(scan func(...any) error) error {
		var i Index
		var column string
		err := scan(&i.Name, &i.Unique, &column)
		if n := len(t.Indexes); n == 0 || t.Indexes[n-1].Name != i.Name {
			t.Indexes = append(t.Indexes, i)
		}
		last := &t.Indexes[len(t.Indexes)-1]
		last.Columns = append(last.Columns, column)
		return err
	})
	if err != nil {
		return err
	}
	key := ""
	return each(ctx, c, d.dialect.foreign, arguments, func(scan func(...any) error) error {
		var name, column, table, reference string
		err := scan(&name, &column, &table, &reference)
		if n := len(t.ForeignKeys); n == 0 || key != name {
			key, t.ForeignKeys = name, append(t.ForeignKeys, ForeignKey{Table: table, References: []string{}})
		}
		last := &t.ForeignKeys[len(t.ForeignKeys)-1]
		last.Columns = append(last.Columns, column)
		if reference != "" {
			last.References = append(last.References, reference)
		}
		return err
	})
}

// each runs an internal query and calls f for each row, up to maxDetails.
func each(ctx context.Context, c *dbsql.Conn, query string, arguments []any, f func(scan func(...any) error) error) error {
	rows, err := c.QueryContext(ctx, query, arguments...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for n := 0; n < maxDetails && rows.Next(); n++ {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// addResources registers resources: the list of tables, each table, a template for tables, and a
// template for results.
func (d *Database) addResources(ctx context.Context) error {
	err := d.SetResource(mcp.Resource{
		URI: d.uri + "tables", Name: "tables", Title: "Tables", MIMEType: "application/json", Description: "The tables and views of the database.",
	}, func(ctx context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
		schema, err := d.list(ctx)
		return asJSON(uri, schema, err)
	})
	if err != nil {
		return err
	}
	err = d.SetResourceTemplate(mcp.ResourceTemplate{
		URITemplate: d.uri + "tables/{table}", Name: "table", Title: "Table", MIMEType: "application/json",
		Description: "Columns, keys, indexes and comments of a table or a view.",
	}, d.readTable)
	if err != nil {
		return err
	}
	err = d.SetResourceTemplate(mcp.ResourceTemplate{
		URITemplate: d.uri + "results/{result}", Name: "result", Title: "Result", MIMEType: "text/csv",
		Description: "The whole result of a query as CSV. query returns the URI.",
	}, d.results.Read)
	if err != nil {
		return err
	}
	_, err = d.list(ctx)
	return err
}

func (d *Database) readTable(ctx context.Context, uri string, variables map[string]string) (*mcp.ReadResourceResult, error) {
	t, err := d.table(ctx, variables["table"])
	if err == nil && t == nil {
		return nil, mcp.ErrResourceNotFound
	}
	return asJSON(uri, t, err)
}

func asJSON(uri string, value any, err error) (*mcp.ReadResourceResult, error) {
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "application/json", string(text))}}, nil
}

// show updates the table resources of the server.
func (d *Database) show(tables []Table) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := map[string]bool{}
	for _, t := range tables {
		uri := d.uri + "tables/" + url.PathEscape(t.Name)
		if now[uri] = true; d.shown[uri] {
			continue
		}
		err := d.SetResource(mcp.Resource{URI: uri, Name: t.Name, MIMEType: "application/json", Description: "The " + t.Kind + " " + t.Name + "."},
			func(ctx context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
				return d.readTable(ctx, uri, map[string]string{"table": t.Name})
			})
		if err != nil {
			return err
		}
	}
	var gone []string
	for uri := range d.shown {
		if !now[uri] {
			gone = append(gone, uri)
		}
	}
	slices.Sort(gone)
	d.RemoveResource(gone...)
	d.shown = now
	return nil
}
