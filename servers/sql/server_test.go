package sql

import (
	"context"
	dbsql "database/sql"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/lib/pq"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/internal/kept"
)

// file creates an SQLite file and runs the statements in it.
func file(t testing.TB, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop #1%41.db")
	db, err := dbsql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	return path
}

var shop = []string{
	`CREATE TABLE fruit (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL DEFAULT 1.5, stored DATETIME, picture BLOB)`,
	`CREATE UNIQUE INDEX fruit_by_name ON fruit(name)`,
	`CREATE TABLE sale (fruit INTEGER REFERENCES fruit(id), day DATE, amount INT, PRIMARY KEY (fruit, day))`,
	`CREATE VIEW cheap AS SELECT name FROM fruit WHERE price < 2`,
	`INSERT INTO fruit VALUES (1, 'apple', 1.25, '2026-01-02 03:04:05', x'00ff'), (2, 'qu|ince
tree', NULL, NULL, NULL), (3, 'big', 9007199254740993, NULL, 9007199254740993)`,
}

func opened(t testing.TB, o Options) *Database {
	t.Helper()
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// said returns the result of a call as text.
func said(t testing.TB, c *mcp.Client, tool string, arguments any) (string, *mcp.CallToolResult) {
	t.Helper()
	result, err := c.CallTool(t.Context(), tool, arguments)
	if err != nil {
		return "error: " + err.Error(), nil
	}
	if result.IsError {
		return "failed: " + result.Text(), result
	}
	return result.Text(), result
}

type object = map[string]any

func TestQueriesAreAnsweredAsTableAndAsData(t *testing.T) {
	c := mcp.NewClient(opened(t, Options{DSN: "sqlite:" + file(t, shop...)}))
	for _, step := range []struct {
		name      string
		arguments object
		want      []string
	}{
		{"rows", object{"sql": "SELECT id, name, price, stored, picture FROM fruit ORDER BY id;"}, []string{
			"| id | name | price | stored | picture |\n| --- | --- | --- | --- | --- |\n| 1 | apple | 1.25 | 2026-01-02 03:04:05 | 0x00ff |\n",
			`| 2 | qu\|ince tree | NULL | NULL | NULL |`, "| 9007199254740993 |\n", "3 rows.\n"}},
		{"parameters", object{"sql": "SELECT ? + 1, typeof(?), typeof(?), ?, ?", "parameters": []any{41, 2, 2.5, nil, true}}, []string{"| 42 | integer | real | NULL |"}},
		{"no rows", object{"sql": "SELECT id FROM fruit WHERE 0"}, []string{"| id |", "0 rows."}},
		{"one row", object{"sql": "WITH f AS (SELECT 1) SELECT * FROM f -- not ; two"}, []string{"1 row."}},
		{"rows are cut", object{"sql": "SELECT value FROM json_each('[1,2,3]')", "max_rows": 2}, []string{"| 1 |\n| 2 |\nThe first 2 of 3 rows are here; the resource sql://shop--1-41-db-"}},
		{"too many parameters", object{"sql": "SELECT 1", "parameters": []any{[]any{1}}}, []string{"failed: ", "parameters[0]: expected a text, a number, a boolean or null"}},
		{"a missing table", object{"sql": "SELECT * FROM nuts"}, []string{"failed: ", "no such table: nuts"}},
		{"nothing", object{"sql": " ; "}, []string{"failed: ", "there is no statement"}},
		{"bytes", object{"sql": "SELECT '\x00'"}, []string{"failed: ", "bytes that are not text"}},
	} {
		got, _ := said(t, c, "query", step.arguments)
		for _, want := range step.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: got\n%s\nwant %q in it", step.name, got, want)
			}
		}
	}
	_, result := said(t, c, "query", object{"sql": "SELECT id, price, picture FROM fruit WHERE id <> 2 ORDER BY id"})
	want := `{"columns":[{"name":"id","type":"INTEGER"},{"name":"price","type":"REAL"},{"name":"picture","type":"BLOB"}],"rows":[[1,1.25,"0x00ff"],[3,9007199254740992,"9007199254740993"]]}`
	if got := string(result.StructuredContent); got != want {
		t.Errorf("structured content:\n%s\nwant\n%s", got, want)
	}
}

func TestALargeResultCanBeReadAsCSV(t *testing.T) {
	// If the server read all rows of the endless result below, the timeout would end it with an
	// error.
	d := opened(t, Options{DSN: "sqlite:" + file(t, shop...), Timeout: 2 * time.Minute})
	c := mcp.NewClient(d)
	numbers := "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT %d) SELECT i, 'a, \"b\"' AS \"x,y\", NULL FROM n"
	read := func(result *mcp.CallToolResult) [][]string {
		t.Helper()
		if len(result.Content) != 2 || result.Content[1].Link == nil {
			t.Fatalf("the answer has no link: %s", result.Text())
		}
		contents, err := c.ReadResource(t.Context(), result.Content[1].Link.URI)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(contents.Contents[0].Text); int64(n) != *result.Content[1].Link.Size || n > maxCSV {
			t.Errorf("the resource has %d bytes, the link says %d", n, *result.Content[1].Link.Size)
		}
		rows, err := csv.NewReader(strings.NewReader(contents.Contents[0].Text)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	_, result := said(t, c, "query", object{"sql": fmt.Sprintf(numbers, 20_000)})
	if rows := read(result); len(rows) != 20_001 || rows[0][1] != "x,y" || strings.Join(rows[20_000], "+") != `20000+a, "b"+` {
		t.Errorf("%d rows, the last is %q", len(rows), rows[len(rows)-1])
	}
	_, result = said(t, c, "query", object{"sql": fmt.Sprintf(numbers, 3), "csv": true})
	if rows := read(result); len(rows) != 4 {
		t.Errorf("%d rows", len(rows))
	}
	text, result := said(t, c, "query", object{"sql": fmt.Sprintf(numbers, 2_000_000_000)})
	if rows := read(result); len(rows) < 100_000 || !strings.Contains(text, fmt.Sprintf("the first %d in the resource", len(rows)-1)) {
		t.Errorf("%d rows; %s", len(rows), text[len(text)-300:])
	}
	text, result = said(t, c, "query", object{"sql": "SELECT printf('%.*c', 100000, 'x') AS long"})
	if rows := read(result); len(rows[1][0]) != 100_000 || len(text) > 2*maxCell || !strings.Contains(text, "Values longer than 4096 bytes are cut here") {
		t.Errorf("%.5000s", text)
	}
	if text, _ := said(t, c, "query", object{"sql": "SELECT length(randomblob(17000000))"}); !strings.Contains(text, "too big") {
		t.Errorf("a value of 17 MB: %.300s", text)
	}
	if _, err := c.ReadResource(t.Context(), d.uri+"results/none.csv"); err == nil {
		t.Error("there is a result that nobody made")
	}
}

func TestResultsAreKeptForATimeAndUpToASize(t *testing.T) {
	d := opened(t, Options{DSN: "sqlite:" + file(t, shop...)})
	synctest.Test(t, func(t *testing.T) {
		s := &kept.Answers{Prefix: d.results.Prefix, Most: d.results.Most, Age: d.results.Age}
		defer s.Close()
		keep := func(text string) string { return s.Put(".csv", "text/csv", true, []byte(text)) }
		there := func(uri string) bool { _, err := s.Read(t.Context(), uri, nil); return err == nil }
		first := keep("a")
		time.Sleep(keepTime - time.Second)
		second := keep("b")
		if !there(first) || !there(second) {
			t.Error("a result is gone early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if there(first) || !there(second) {
			t.Error("the first result is not gone, or not alone")
		}
		big := strings.Repeat("x", maxCSV)
		var uris []string
		for range maxKept/maxCSV + 3 {
			uris = append(uris, keep(big))
		}
		kept := slices.DeleteFunc(uris, func(uri string) bool { return !there(uri) })
		if there(second) || len(kept) != maxKept/maxCSV {
			t.Errorf("%d results are kept", len(kept))
		}
	})
}

func TestTablesAreDescribed(t *testing.T) {
	path := file(t, shop...)
	d := opened(t, Options{DSN: "sqlite:" + path, Write: true})
	c := mcp.NewClient(d)
	for _, step := range []struct {
		arguments object
		want      string
	}{
		{object{}, `{"tables":[{"name":"cheap","kind":"view"},{"name":"fruit","kind":"table"},{"name":"sale","kind":"table"}]}`},
		{object{"table": "fruit"}, `{"tables":[{"name":"fruit","kind":"table","columns":[{"name":"id","type":"INTEGER","nullable":true},{"name":"name","type":"TEXT","nullable":false},` +
			`{"name":"price","type":"REAL","nullable":true,"default":"1.5"},{"name":"stored","type":"DATETIME","nullable":true},{"name":"picture","type":"BLOB","nullable":true}],` +
			`"primary_key":["id"],"indexes":[{"name":"fruit_by_name","unique":true,"columns":["name"]}]}]}`},
		{object{"table": "main.sale"}, `"primary_key":["fruit","day"],"foreign_keys":[{"columns":["fruit"],"table":"fruit","references":["id"]}]}]}`},
		{object{"table": "nuts"}, `failed: there is no table "nuts" that this account can read`},
	} {
		if got, _ := said(t, c, "describe", step.arguments); !strings.Contains(got, step.want) {
			t.Errorf("describe %v: got\n%s\nwant\n%s", step.arguments, got, step.want)
		}
	}
	uris := func() string {
		var all []string
		for r, err := range c.Resources(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, strings.TrimPrefix(r.URI, d.uri))
		}
		return strings.Join(all, " ")
	}
	if got, want := uris(), "tables tables/cheap tables/fruit tables/sale"; got != want {
		t.Errorf("resources: %s, want %s", got, want)
	}
	for _, statement := range []string{"DROP TABLE sale", `CREATE TABLE "a b/c" (x)`} {
		if text, _ := said(t, c, "execute", object{"sql": statement}); !strings.Contains(text, "Rows changed") {
			t.Fatal(text)
		}
	}
	said(t, c, "describe", object{})
	if got, want := uris(), "tables tables/a%20b%2Fc tables/cheap tables/fruit"; got != want {
		t.Errorf("resources: %s, want %s", got, want)
	}
	for uri, want := range map[string]string{"tables": `"name":"fruit","kind":"table"`, "tables/a%20b%2Fc": `"name":"a b/c"`, "tables/fruit": `"primary_key":["id"]`} {
		contents, err := c.ReadResource(t.Context(), d.uri+uri)
		if err != nil || !json.Valid([]byte(contents.Contents[0].Text)) || !strings.Contains(contents.Contents[0].Text, want) {
			t.Errorf("%s: %v, %v", uri, contents, err)
		}
	}
}

func TestExecuteExistsOnlyIfWritingIsAllowed(t *testing.T) {
	path := file(t, shop...)
	tools := func(d *Database) map[string]*mcp.ToolAnnotations {
		all := map[string]*mcp.ToolAnnotations{}
		for tool, err := range mcp.NewClient(d).Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all[tool.Name] = tool.Annotations
		}
		return all
	}
	if got := tools(opened(t, Options{DSN: "sqlite:" + path})); len(got) != 2 || !*got["query"].ReadOnlyHint || *got["query"].OpenWorldHint || !*got["describe"].ReadOnlyHint {
		t.Errorf("without Write: %v", got)
	}
	d := opened(t, Options{DSN: "sqlite:" + path, Write: true})
	if got := tools(d)["execute"]; got == nil || *got.ReadOnlyHint || !*got.DestructiveHint || *got.OpenWorldHint {
		t.Errorf("with Write: %v", got)
	}
	c := mcp.NewClient(d)
	for _, step := range []struct{ sql, want string }{
		{"UPDATE fruit SET price = 3 WHERE id < 3", "Rows changed: 2."},
		{"INSERT INTO fruit (name) VALUES ('nut') RETURNING id, name", "| 4 | nut |"},
		{"INSERT INTO fruit (id, name) VALUES (5, 'x'), (5, 'y')", "failed: "},
		{"DELETE FROM fruit WHERE id = 5", "Rows changed: 0."},
		{"INSERT INTO sale VALUES (77, '2026-01-01', 1)", "failed: "}, // foreign keys are enforced
		{"COMMIT", "failed: execute runs one statement in its own transaction"},
		{"DELETE FROM sale; DELETE FROM fruit", "failed: sql: there is more than one statement"},
		{"ATTACH 'x.db' AS x", "failed: "}, {"VACUUM", "failed: "}, {"PRAGMA writable_schema = 1", "failed: "},
	} {
		if got, _ := said(t, c, "execute", object{"sql": step.sql}); !strings.Contains(got, step.want) {
			t.Errorf("%s: %s, want %q", step.sql, got, step.want)
		}
	}
	if got, _ := said(t, c, "query", object{"sql": "SELECT count(*), sum(price) FROM fruit"}); !strings.Contains(got, "| 4 |") {
		t.Errorf("afterwards: %s", got)
	}
}

func TestAStatementEndsWithItsTime(t *testing.T) {
	d := opened(t, Options{DSN: "sqlite:" + file(t, shop...), Timeout: 200 * time.Millisecond})
	c := mcp.NewClient(d)
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
	start := time.Now()
	if got, _ := said(t, c, "query", object{"sql": endless}); !strings.Contains(got, "failed: the statement ran longer than 200ms and was ended") {
		t.Errorf("got %s", got)
	}
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := d.query(ctx, queryIn{SQL: endless, MaxRows: 1}); err == nil {
		t.Error("a call that was given up went on")
	}
	if got, _ := said(t, c, "query", object{"sql": "SELECT 7"}); !strings.Contains(got, "| 7 |") {
		t.Errorf("afterwards: %s", got)
	}
}

// TestAStatementEndsAlthoughTheDriverDoesNotEndIt lets only the statement's own context end, as if the
// driver had interrupted the connection before the statement began.
func TestAStatementEndsAlthoughTheDriverDoesNotEndIt(t *testing.T) {
	d := opened(t, Options{DSN: "sqlite:" + file(t, shop...)})
	c, err := d.reading.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	stop, err := d.dialect.end(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	cancel()
	var n int
	err = c.QueryRowContext(t.Context(), "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n").Scan(&n)
	if err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("it ended with %d, %v", n, err)
	}
}

// TestADatabaseMayEndAStatementBeforeWeDo covers the database's own time limit, which is the same
// as the server's and may end first.
func TestADatabaseMayEndAStatementBeforeWeDo(t *testing.T) {
	for name, test := range map[string]struct {
		dialect *dialect
		err     error
		isOver  bool
	}{
		"MariaDB":             {mysqlDialect(time.Second), &mysql.MySQLError{Number: 1969, Message: "Query execution was interrupted (max_statement_time exceeded)"}, true},
		"MySQL":               {mysqlDialect(time.Second), &mysql.MySQLError{Number: 3024, Message: "Query execution was interrupted, maximum statement execution time exceeded"}, true},
		"MySQL, a kill":       {mysqlDialect(time.Second), &mysql.MySQLError{Number: 1317, Message: "Query execution was interrupted"}, false},
		"PostgreSQL":          {postgresDialect(time.Second), &pq.Error{Code: "57014", Message: "canceling statement due to statement timeout"}, true},
		"PostgreSQL, a user":  {postgresDialect(time.Second), &pq.Error{Code: "57014", Message: "canceling statement due to user request"}, false},
		"PostgreSQL, another": {postgresDialect(time.Second), &pq.Error{Code: "42601", Message: "syntax error near statement timeout"}, false},
	} {
		d := &Database{dialect: test.dialect, timeout: time.Second}
		err := d.explain(t.Context(), fmt.Errorf("the statement: %w", test.err))
		if isOver := strings.Contains(err.Error(), "the statement ran longer than 1s and was ended; ask for less"); isOver != test.isOver {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestErrorsAboutADSNDoNotContainThePassword(t *testing.T) {
	folder := t.TempDir()
	for _, step := range []struct{ dsn, want string }{
		{"", "there is no DSN"},
		{"shop.db", "the DSN has no scheme"},
		{"oracle://scott:tiger@h/x", "the scheme of the DSN is unknown"},
		{"sqlite:", "names no file"},
		{"sqlite::memory:", "names no file"},
		{"sqlite:x.db?mode=rwc", "names no file"},
		{"sqlite:" + folder, "which is not a file"},
		{"sqlite:" + filepath.Join(folder, "missing.db"), "no such file"},
		{"mysql://u:ti%ger@h/x", "percent-encode"},
		{"mysql://u:tiger@h:port/x", "is not of the form"},
		{"mysql://u:tiger@/x", "names no host"},
		{"mysql://u:tiger@h/x?allowAllFiles=true", `the parameter "allowAllFiles"`},
		{"mysql://u:tiger@h/x?tls=tiger", "expected true, false, skip-verify or preferred"},
		{"mysql://u:tiger@127.0.0.1:1/x", "connect"},
		{"postgres://u:tiger@127.0.0.1:1/x?sslmode=disable", "connect"},
		{"postgres://u:tiger@127.0.0.1:1/x?sslmode=tiger", "sslmode"},
		{"postgres://u@127.0.0.1:1/x?sslmode=disable&password=tiger", "connect"},
		{"mysql:" + strings.Repeat("x", maxDSN), "at most 16384 bytes"},
	} {
		d, err := Open(t.Context(), Options{DSN: step.dsn, Timeout: 5 * time.Second})
		if err == nil {
			d.Close()
			t.Errorf("%s was opened", step.dsn)
			continue
		}
		if got := err.Error(); !strings.HasPrefix(got, "sql: ") || !strings.Contains(got, step.want) || strings.Contains(got, "tiger") {
			t.Errorf("%s: %s, want %q", step.dsn, got, step.want)
		}
	}
}

func TestTwoDatabasesHaveDifferentURIs(t *testing.T) {
	one, other := file(t, shop...), file(t, shop...)
	seen := map[string]string{}
	for _, o := range []Options{{DSN: "sqlite:" + one}, {DSN: "sqlite:" + one, Write: true}, {DSN: "sqlite:" + other}} {
		d := opened(t, o)
		if was, ok := seen[d.uri]; ok {
			t.Errorf("%s and %s have the URI %s", o.DSN, was, d.uri)
		}
		seen[d.uri] = o.DSN
		if again := opened(t, o); again.uri != d.uri {
			t.Errorf("%s has the URIs %s and %s", o.DSN, d.uri, again.uri)
		}
	}
	secret, err := parseDSN("postgres://u:tiger@h.example:1/Shop_1?sslmode=disable", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := parseDSN("postgres://u:other@h.example:1/Shop_1?sslmode=require", time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if got := secret.authority(false); !strings.HasPrefix(got, "shop-1-") || got != elsewhere.authority(false) {
		t.Errorf("the authority is %s", got)
	}
}

func TestManyCallsAtOnceWaitForTheirTurn(t *testing.T) {
	d := opened(t, Options{DSN: "sqlite:" + file(t, shop...)})
	c := mcp.NewClient(d)
	var group sync.WaitGroup
	for i := range 40 {
		group.Go(func() {
			if i%4 == 0 { // cancelled at an arbitrary moment
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
				defer cancel()
				_, _ = c.CallTool(ctx, "query", object{"sql": "SELECT * FROM fruit, sale, fruit", "csv": true})
				return
			}
			if text, _ := said(t, c, "query", object{"sql": "SELECT count(*) FROM fruit WHERE id < ?", "parameters": []any{i}}); !strings.HasPrefix(text, "| count(*) |") {
				t.Error(text)
			}
			if text, _ := said(t, c, "describe", object{}); !strings.Contains(text, `"fruit"`) {
				t.Error(text)
			}
		})
	}
	group.Wait()
	if d.turns.Running() != 0 || d.reading.Stats().OpenConnections != 0 {
		t.Errorf("%d turns are taken, %d connections are open", d.turns.Running(), d.reading.Stats().OpenConnections)
	}
}
