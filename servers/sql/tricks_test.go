package sql

import (
	"context"
	dbsql "database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

// tricks lists statements that try to change the SQLite file, or another one, through a connection
// that reads.
var tricks = []string{
	`DELETE FROM fruit`,
	`INSERT INTO fruit (name) VALUES ('x')`,
	`UPDATE fruit SET name = 'x'`,
	`REPLACE INTO fruit (id, name) VALUES (1, 'x')`,
	`SELECT 1; DELETE FROM fruit`,
	`SELECT 1 /* ; */ ; DELETE FROM fruit`,
	"SELECT 1 -- ;\n; DELETE FROM fruit",
	`SELECT ';' ; DELETE FROM fruit -- '`,
	"SELECT `';`, 1 FROM (SELECT 1 AS `';`); DELETE FROM fruit",
	`SELECT [a'b] FROM (SELECT 1 AS [a'b]); DELETE FROM fruit --'`,
	`WITH f AS (SELECT 1) DELETE FROM fruit`,
	`WITH f AS (SELECT 1) DELETE FROM fruit RETURNING *`,
	`WITH f AS (SELECT 1) INSERT INTO fruit (name) SELECT 'x' RETURNING *`,
	`WITH f AS (SELECT 1) UPDATE fruit SET name = 'x' || id`,
	`CREATE TABLE x (a)`,
	`CREATE TABLE x AS SELECT 1`,
	`CREATE TEMP TABLE x (a)`,
	`DROP TABLE fruit`,
	`ALTER TABLE fruit RENAME TO nuts`,
	`PRAGMA query_only = 0`,
	`PRAGMA user_version = 7`,
	`PRAGMA journal_mode = wal`,
	`SELECT * FROM pragma_user_version(7)`,
	`SELECT * FROM pragma_query_only(0)`,
	`SELECT * FROM pragma_journal_mode('wal')`,
	`SELECT * FROM pragma_optimize(65534)`,
	`ATTACH 'FOLDER/new.db' AS new`,
	`ATTACH 'file:FOLDER/new.db?mode=rwc' AS new`,
	`VACUUM`,
	`VACUUM INTO 'FOLDER/copy.db'`,
	`SELECT load_extension('FOLDER/x.so')`,
	`SELECT "load_extension" ('FOLDER/x.so')`,
	`SELECT writefile('FOLDER/x', 'x')`,
	`SELECT fts3_tokenizer('x', x'00')`,
	`BEGIN IMMEDIATE`,
	`COMMIT`,
	`ROLLBACK; BEGIN; DELETE FROM fruit; COMMIT`,
	`SAVEPOINT x`,
	`REINDEX`,
	`ANALYZE`,
	`EXPLAIN QUERY PLAN DELETE FROM fruit; DELETE FROM fruit`,
	`/* SELECT */ DELETE FROM fruit`,
	`(DELETE FROM fruit)`,
}

// unchanged checks that the file is the same and that no other file is next to it.
func unchanged(t *testing.T, trick, path string, before []byte) {
	t.Helper()
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("%s: changed the file (%v)", trick, err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("%s: next to the file are %v (%v)", trick, entries, err)
	}
}

func TestTricksChangeNothing(t *testing.T) {
	path := file(t, shop...)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	d := opened(t, Options{DSN: "sqlite:" + path})
	c := mcp.NewClient(d)
	for _, trick := range tricks {
		trick := strings.ReplaceAll(trick, "FOLDER", filepath.ToSlash(filepath.Dir(path)))
		if got, _ := said(t, c, "query", object{"sql": trick}); !strings.HasPrefix(got, "failed: ") && !strings.Contains(trick, "pragma_") {
			t.Errorf("%s: was answered: %s", trick, got)
		}
		unchanged(t, trick, path, before)
		// The session protects the file even without the check of the statement.
		_ = d.session(t.Context(), false, func(ctx context.Context, c *dbsql.Conn) error {
			return collect(ctx, c, trick, nil, &collector{maxRows: 10}, true)
		})
		unchanged(t, trick+" (not checked)", path, before)
	}
}

func TestStatementsThatReadPassTheCheck(t *testing.T) {
	all := map[string]*dialect{"sqlite": sqliteDialect(), "mysql": mysqlDialect(0), "postgres": postgresDialect(0)}
	for _, s := range []struct{ dialects, sql string }{
		{"sqlite mysql postgres", `SELECT 'DELETE; INTO' FROM t -- DELETE;`},
		{"sqlite mysql postgres", `(SELECT t.into, t.update FROM t);;`},
		{"sqlite postgres", `SELECT a."b".delete FROM t`},
		{"sqlite postgres", `SELECT "delete", "into;" FROM t`},
		{"sqlite mysql", "SELECT `delete` FROM t"},
		{"sqlite", `SELECT [into] FROM t WHERE a = $a AND b = @delete`},
		{"mysql", `SELECT 'it\'s; INTO', "a\"; DELETE", INSERT('a', 1, 1, 'b'), @into, REPLACE(a, 'b', 'c') # INTO`},
		{"mysql", `SHOW CREATE TABLE t`},
		{"mysql", "SELECT 1--1, 2 --\x7f it's\n, 3"},
		{"postgres", `SELECT E'it\'s; INTO', $$; DELETE$$, $a$ $$ INTO $a$, a#>'{x}' FROM t WHERE b = $1`},
		{"postgres", `SELECT 1 /* a /* DELETE; */ INTO */`},
		{"postgres", `EXPLAIN (ANALYZE) SELECT extract(epoch FROM now())`},
		{"sqlite mysql postgres", `WITH RECURSIVE a(b) AS (SELECT 1) SELECT b AS share, "lock".x AS lock FROM a`},
	} {
		for name := range strings.FieldsSeq(s.dialects) {
			if _, err := all[name].read(s.sql); err != nil {
				t.Errorf("%s: %s: %v", name, s.sql, err)
			}
		}
	}
}

func TestObscuredStatementsAreRefused(t *testing.T) {
	all := map[string]*dialect{"sqlite": sqliteDialect(), "mysql": mysqlDialect(0), "postgres": postgresDialect(0)}
	for _, s := range []struct{ dialects, sql string }{
		{"sqlite mysql postgres", `SELECT 1; SELECT 2`},
		{"sqlite mysql postgres", `SELECT 'a`},
		{"sqlite mysql postgres", `SELECT /* a`},
		{"sqlite mysql postgres", `SELECT 1INTO x`},
		{"sqlite mysql postgres", `SELECT 1.INTO x`},
		{"sqlite mysql postgres", `SELECT 1e1.INTO x`},
		{"sqlite mysql postgres", `SELECT t. INTO x`},
		{"sqlite mysql postgres", "SELECT 1 -- '\nINTO x --'"},
		{"mysql", "SELECT 1 --\x7f'\nINTO OUTFILE 'x' --\x7f'"},
		{"mysql", `SELECT 1 --'a' INTO OUTFILE 'x'`},
		{"mysql", "SELECT 1 # '\nINTO OUTFILE 'x' # '"},
		{"mysql", `SELECT '\'' INTO OUTFILE 'x' -- '`},
		{"mysql", `SELECT "'" INTO OUTFILE 'x'`},
		{"mysql", `SELECT 1 /*!50000 INTO OUTFILE 'x' */`},
		{"mysql", `SELECT 1 /*M!100100 INTO OUTFILE 'x' */`},
		{"mysql", `SELECT /*+ SET_VAR(sql_mode='ANSI_QUOTES') */ 1`},
		{"mysql", `SELECT 1 /* /* */ INTO OUTFILE 'x' -- */`},
		{"mysql", `SELECT * FROM t FOR UPDATE`},
		{"mysql", `SELECT * FROM t FOR SHARE`},
		{"mysql", `SELECT * FROM t LOCK IN SHARE MODE`},
		{"mysql", "SELECT Get_Lock /**/ ('a', 1)"},
		{"mysql", "SELECT `sleep`(1)"},
		{"postgres", `SELECT '\' INTO x --'`},
		{"postgres", `SELECT E'\'' INTO x --'`},
		{"postgres", "SELECT E'a'\n'\\' INTO x --'"},
		{"postgres", "SELECT E'a' -- c\n'\\' INTO x --'"},
		{"postgres", `SELECT $$'$$ INTO x --'`},
		{"postgres", `SELECT $a$'$a$ INTO x --$a$`},
		{"postgres", `SELECT U&"d\0061t\+000061" FROM t`},
		{"postgres", "SELECT 1 -- '\rINTO x --'"},
		{"postgres", `SELECT "a""'" INTO x --'`},
		{"postgres", `COPY t TO PROGRAM 'x'`},
		{"postgres", `TABLE t FOR UPDATE`},
	} {
		for name := range strings.FieldsSeq(s.dialects) {
			if _, err := all[name].read(s.sql); err == nil {
				t.Errorf("%s: passed: %s", name, s.sql)
			}
		}
	}
}

func FuzzScan(f *testing.F) {
	for _, trick := range tricks {
		f.Add(trick)
	}
	f.Fuzz(func(t *testing.T, sql string) {
		for _, d := range []*dialect{sqliteDialect(), mysqlDialect(0), postgresDialect(0)} {
			tokens, err := d.syntax.scan(sql)
			if err != nil {
				continue
			}
			at := 0
			for _, token := range tokens {
				if token.begin < at || token.end <= token.begin || token.end > len(sql) {
					t.Fatalf("%s: %q: a token from %d to %d after %d", d.name, sql, token.begin, token.end, at)
				}
				at = token.end
			}
			_, _ = d.read(sql)
			_, _ = d.change(sql)
		}
	})
}
