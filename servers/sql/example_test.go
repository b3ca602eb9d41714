package sql_test

import (
	"context"
	dbsql "database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/sql"
)

// ExampleOpen connects a client to the server in the same process. To serve a host, pass the server
// to a transport: stdio.Serve(ctx, d).
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "shop.db")
	db, err := dbsql.Open("sqlite", path)
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := db.Exec(`CREATE TABLE fruit (name TEXT, price REAL); INSERT INTO fruit VALUES ('apple', 1.5), ('quince', 3)`); err != nil {
		fmt.Println(err)
		return
	}
	if err := db.Close(); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	d, err := sql.Open(ctx, sql.Options{DSN: "sqlite:" + path})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer d.Close()
	c := mcp.NewClient(d)
	defer c.Close()
	for _, statement := range []string{"SELECT name, price FROM fruit WHERE price < ?", "DELETE FROM fruit"} {
		arguments := map[string]any{"sql": statement}
		if statement != "DELETE FROM fruit" {
			arguments["parameters"] = []any{2}
		}
		result, err := c.CallTool(ctx, "query", arguments)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result.IsError, result.Text())
	}
	// Output:
	// false | name | price |
	// | --- | --- |
	// | apple | 1.5 |
	// 1 row.
	//
	// true query runs one statement that only reads, but this begins with "DELETE"; expected SELECT, WITH, VALUES, EXPLAIN
}
