package integration

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	stdio "github.com/junction-mcp/junction/mcp/command"
)

// A base is a database that junction's own server sql is tried with, through an account that may do everything,
// so that it is not the account that keeps it from writing.
type base struct {
	name string
	dsn  string
	ask  func(t testing.TB, statement string) string // as the owner, without junction
	// state is a statement that gives all that a trick could have changed.
	state string
	dir   string // a folder that the database can write to
}

// sqlServer starts junction serve sql for a database.
func (b *base) sqlServer(t testing.TB, flags ...string) *mcp.Client {
	t.Helper()
	server := stdio.New(junction(t), append([]string{"serve", "sql", "--dsn-env", "SQL_TEST_DSN"}, flags...)...)
	server.Env = []string{"SQL_TEST_DSN=" + b.dsn}
	c, err := mcp.Dial(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// askSQL is what a call gave.
func askSQL(t testing.TB, c *mcp.Client, tool string, arguments object) (string, *mcp.CallToolResult) {
	t.Helper()
	result, err := c.CallTool(t.Context(), tool, arguments)
	if err != nil {
		t.Fatalf("%s %v: %v", tool, arguments, err)
	}
	if result.IsError {
		return "failed: " + result.Text(), result
	}
	return result.Text(), result
}

// alarmsAs are the alarm events for another database than MariaDB.
func alarmsAs(numbers, at, device, severity string) string {
	_, types, _ := strings.Cut(alarms, "CASE ")
	types, _, _ = strings.Cut(types, " END")
	types = strings.ReplaceAll(types, "MOD", "%")
	return "INSERT INTO alarm_event SELECT seq, " + at + ", " + device + ", CASE " + types + " END, " + severity + " FROM " + numbers
}

func mariaBase(t testing.TB) *base {
	writer := "CREATE USER 'writer'@'%' IDENTIFIED BY 'wri%ting/';\nGRANT ALL PRIVILEGES ON *.* TO 'writer'@'%' WITH GRANT OPTION;\n"
	environment := databaseOf(t, alarms+writer+"CREATE TABLE noc.plain (a INT PRIMARY KEY, b TEXT) ENGINE=MyISAM;\nINSERT INTO noc.plain VALUES (1, 'x');\nCREATE SEQUENCE noc.s;\n"+
		"CREATE DEFINER='writer'@'%' PROCEDURE noc.harm() UPDATE noc.plain SET b = CONCAT(b, 'y');\n"+
		"CREATE DEFINER='writer'@'%' FUNCTION noc.harming() RETURNS INT DETERMINISTIC RETURN NEXTVAL(noc.s);\n", "noc")
	value := func(name string) string {
		for _, v := range environment {
			if text, ok := strings.CutPrefix(v, name+"="); ok {
				return text
			}
		}
		return ""
	}
	address := net.JoinHostPort(value("MYSQL_HOST"), value("MYSQL_PORT"))
	client := []string{program(t, "env"), "MYSQL_PWD=wri%ting/", program(t, "mariadb"), "--no-defaults", "--protocol=tcp", "--host=" + value("MYSQL_HOST"),
		"--port=" + value("MYSQL_PORT"), "--user=writer", "--default-character-set=utf8mb4", "--batch", "--raw", "--skip-column-names", "noc"}
	dir, _ := ownFolder(t, "")
	return &base{
		name: "MariaDB", dsn: "mysql://writer:wri%25ting%2F@" + address + "/noc", dir: dir,
		ask: func(t testing.TB, s string) string {
			return run(t, os.Environ(), append(slices.Clone(client), "--execute="+s)...)
		},
		state: "SELECT COUNT(*), SUM(CRC32(CONCAT_WS(',', id, type, severity))) FROM alarm_event; SELECT * FROM plain; SELECT next_not_cached_value FROM s; SHOW FULL TABLES; SHOW DATABASES; " +
			"SELECT @@GLOBAL.sql_mode, @@GLOBAL.read_only, @@GLOBAL.general_log; SELECT user, host FROM mysql.user ORDER BY 1, 2; SELECT COUNT(*) FROM information_schema.routines; SELECT IS_USED_LOCK('trick') IS NULL",
	}
}

func postgresBase(t testing.TB) *base {
	address, owner := postgresOf(t, "CREATE TABLE alarm_event (id INT PRIMARY KEY, raised_at TIMESTAMP NOT NULL, device VARCHAR(20) NOT NULL, type VARCHAR(40) NOT NULL, severity TEXT NOT NULL);\n"+
		alarmsAs("generate_series(1, 10000) AS n(seq)", "TIMESTAMP '2026-01-01' + (seq * 53) * INTERVAL '1 second'", "'device-' || seq % 97", "(ARRAY['minor','major','critical'])[1 + seq % 3]")+";\n"+
		"COMMENT ON TABLE alarm_event IS 'what happened'; COMMENT ON COLUMN alarm_event.device IS 'who';\n"+
		"CREATE INDEX alarm_by_type ON alarm_event (type, lower(device)); CREATE SEQUENCE s; CREATE TABLE plain (a INT PRIMARY KEY, b TEXT); INSERT INTO plain VALUES (1, 'x');\n"+
		"CREATE SCHEMA other; CREATE TABLE other.note (id INT, alarm INT REFERENCES alarm_event(id));\n"+
		"CREATE EXTENSION dblink; CREATE EXTENSION adminpack; CREATE EXTENSION tablefunc; CREATE EXTENSION lo;\n"+
		"CREATE PROCEDURE harm() LANGUAGE sql AS $$ UPDATE plain SET b = b || 'y' $$;\n"+
		"CREATE FUNCTION harming() RETURNS INT LANGUAGE sql VOLATILE AS $$ UPDATE plain SET b = b || 'y' RETURNING 1 $$;\n"+
		"CREATE VIEW calls AS SELECT nextval('s');\n")
	dir, _ := ownFolder(t, "")
	return &base{
		name: "PostgreSQL", dsn: "postgres://owner:owning@" + address + "/postgres?sslmode=disable", dir: dir,
		ask: func(t testing.TB, s string) string {
			return run(t, os.Environ(), append(slices.Clone(owner), "--command="+s)...)
		},
		state: "SELECT count(*), sum(hashtext(alarm_event::text)::bigint) FROM alarm_event; SELECT * FROM plain; SELECT last_value, is_called FROM s; SELECT count(*) FROM pg_class; " +
			"SELECT count(*) FROM pg_largeobject_metadata; SELECT count(*) FROM pg_proc; SELECT rolname FROM pg_roles ORDER BY 1; SELECT datname FROM pg_database ORDER BY 1; " +
			"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'; SELECT count(*) FROM pg_replication_slots; SELECT count(*) FROM pg_prepared_xacts; " +
			"SELECT pid FROM pg_stat_activity WHERE application_name = 'victim'; SELECT name, setting FROM pg_file_settings; SELECT pg_conf_load_time(), current_setting('transaction_read_only')",
	}
}

// tableOf are the rows of an answer's structured content.
func tableOf(t testing.TB, result *mcp.CallToolResult) (rows [][]any) {
	t.Helper()
	var answer struct {
		Rows [][]any `json:"rows"`
	}
	if err := json.Unmarshal(result.StructuredContent, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Rows
}

func sqliteBase(t testing.TB) *base {
	dir := t.TempDir()
	path := filepath.Join(dir, "noc.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := &base{name: "SQLite", dsn: "sqlite:" + path, dir: dir}
	// There may be no sqlite3 here: junction writes what the test reads.
	w := b.sqlServer(t, "--write")
	for _, s := range []string{
		"CREATE TABLE alarm_event (id INT PRIMARY KEY, raised_at DATETIME NOT NULL, device VARCHAR(20) NOT NULL, type VARCHAR(40) NOT NULL, severity TEXT NOT NULL)",
		"WITH RECURSIVE n(seq) AS (SELECT 1 UNION ALL SELECT seq + 1 FROM n LIMIT 10000) " + alarmsAs("n", "datetime('2026-01-01', (seq * 53) || ' seconds')",
			"'device-' || seq % 97", "CASE seq % 3 WHEN 0 THEN 'minor' WHEN 1 THEN 'major' ELSE 'critical' END"),
	} {
		if text, result := askSQL(t, w, "execute", object{"sql": s}); result.IsError {
			t.Fatal(text)
		}
	}
	return b
}

const fiveMost = "SELECT type, COUNT(*) AS count FROM alarm_event GROUP BY type ORDER BY count DESC LIMIT 5"

// The field's own test case on all three: which alarm types are there, the five most frequent, as CSV.
func TestSQLAnswersTheAlarmQuestion(t *testing.T) {
	t.Parallel()
	junction(t)
	for name, open := range map[string]func(testing.TB) *base{"MariaDB": mariaBase, "PostgreSQL": postgresBase, "SQLite": sqliteBase} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t)
			c := b.sqlServer(t)
			b.answers(t, c)
			b.describes(t, c)
			b.bounds(t, c)
			b.changes(t)
			b.keepsItsPassword(t)
		})
	}
}

func (b *base) answers(t *testing.T, c *mcp.Client) {
	t.Helper()
	if _, result := askSQL(t, c, "query", object{"sql": "SELECT DISTINCT type FROM alarm_event"}); len(tableOf(t, result)) != 9 {
		t.Errorf("the types: %s", result.Text())
	}
	want := [][]string{{"type", "count"}, {"LINK_DOWN", "3101"}, {"Fan failure, tray 2", "2203"}, {"Übertemperatur", "1507"}, {`Door "A" open`, "1109"}, {"POWER_LOSS", "881"}}
	text, result := askSQL(t, c, "query", object{"sql": fiveMost, "csv": true})
	if len(result.Content) != 2 || result.Content[1].Link == nil {
		t.Fatalf("there is no CSV: %s", text)
	}
	contents, err := c.ReadResource(t.Context(), result.Content[1].Link.URI)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(contents.Contents[0].Text)).ReadAll()
	if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("the CSV is %q, want %q (%v)", rows, want, err)
	}
	for i, row := range tableOf(t, result) {
		if fmt.Sprint(row...) != fmt.Sprint(want[i+1][0], want[i+1][1]) && fmt.Sprint(row) != fmt.Sprint(want[i+1]) {
			t.Errorf("row %d is %v", i, row)
		}
	}
	placeholder := map[bool]string{true: "$1", false: "?"}[b.name == "PostgreSQL"]
	for _, value := range []any{"Door \"A\" open", "x' OR '1' = '1"} {
		_, result := askSQL(t, c, "query", object{"sql": "SELECT COUNT(*) FROM alarm_event WHERE type = " + placeholder, "parameters": []any{value}})
		if got := fmt.Sprint(tableOf(t, result)); got != map[bool]string{true: "[[1109]]", false: "[[0]]"}[strings.HasPrefix(value.(string), "Door")] {
			t.Errorf("%v: %s", value, got)
		}
	}
	if _, result := askSQL(t, c, "query", object{"sql": "SELECT raised_at FROM alarm_event WHERE id = " + placeholder, "parameters": []any{2}}); fmt.Sprint(tableOf(t, result)) != "[[2026-01-01 00:01:46]]" {
		t.Errorf("a time: %s", result.Text())
	}
}

func (b *base) describes(t *testing.T, c *mcp.Client) {
	t.Helper()
	text, _ := askSQL(t, c, "describe", object{"table": "alarm_event"})
	for _, want := range append([]string{`"primary_key":["id"]`, `{"name":"device","type":"`, `"nullable":false`}, map[string][]string{
		"PostgreSQL": {`"comment":"what happened"`, `"type":"character varying(20)","nullable":false,"comment":"who"`, `{"name":"alarm_by_type","unique":false,"columns":["type","lower(device::text)"]}`},
		"MariaDB":    {`"type":"enum('minor','major','critical')"`},
	}[b.name]...) {
		if !strings.Contains(text, want) {
			t.Errorf("describe: %s\nwant %s", text, want)
		}
	}
	if b.name == "PostgreSQL" {
		if text, _ := askSQL(t, c, "describe", object{"table": "other.note"}); !strings.Contains(text, `"foreign_keys":[{"columns":["alarm"],"table":"alarm_event","references":["id"]}]`) {
			t.Errorf("describe: %s", text)
		}
	}
	found := false
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(r.URI, "/tables/alarm_event") {
			continue
		}
		found = true
		contents, err := c.ReadResource(t.Context(), r.URI)
		if err != nil || !strings.Contains(contents.Contents[0].Text, "raised_at") {
			t.Errorf("the resource: %v, %v", contents, err)
		}
	}
	if !found {
		t.Error("the table is no resource")
	}
}

// bounds asks for more than there may be: rows, bytes and time.
func (b *base) bounds(t *testing.T, c *mcp.Client) {
	t.Helper()
	many := "SELECT a.*, b.device AS other FROM alarm_event a CROSS JOIN alarm_event b"
	start := time.Now()
	text, result := askSQL(t, c, "query", object{"sql": many})
	if !strings.Contains(text, "The first 100 rows are here, and the first ") || len(tableOf(t, result)) != 100 {
		t.Errorf("100 million rows: %.400s", text)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("100 million rows: answered after %s", took)
	}
	value := map[string]string{"MariaDB": "REPEAT('x', 10000000)", "PostgreSQL": "repeat('x', 70000000)", "SQLite": "printf('%.*c', 17000000, 'x')"}[b.name]
	text, result = askSQL(t, c, "query", object{"sql": "SELECT " + value + " AS long"})
	if len(text) > 20_000 || !result.IsError && !strings.Contains(text, "The result has more") {
		t.Errorf("a long value: %.400s", text)
	}
	if text, _ := askSQL(t, c, "query", object{"sql": fiveMost}); !strings.Contains(text, "| LINK_DOWN | 3101 |") {
		t.Errorf("afterwards: %s", text)
	}
}

// changes writes, through a server that may.
func (b *base) changes(t *testing.T) {
	t.Helper()
	c := b.sqlServer(t, "--write")
	first, second := "?", "?"
	if b.name == "PostgreSQL" {
		first, second = "$1", "$2"
	}
	for _, step := range []struct {
		sql        string
		parameters []any
		want       string
	}{
		{"CREATE TABLE changed (a INT PRIMARY KEY, b TEXT)", nil, "Rows changed: "},
		{"INSERT INTO changed VALUES (" + first + ", " + second + "), (2, 'two')", []any{1, "one"}, "Rows changed: 2."},
		{"INSERT INTO changed VALUES (3, 'three'), (1, 'again')", nil, "failed: "},
		{"UPDATE changed SET b = NULL WHERE a = " + first, []any{2}, "Rows changed: 1."},
		{"DELETE FROM changed WHERE a < 3 RETURNING a, b", nil, "| 2 | NULL |"},
		{"COMMIT", nil, "failed: execute runs one statement in its own transaction"},
		{"INSERT INTO changed VALUES (4, 'four'); COMMIT", nil, "failed: sql: there is more than one statement"},
		{"INSERT INTO changed VALUES (5, 'five')", nil, "Rows changed: 1."},
	} {
		arguments := object{"sql": step.sql}
		if step.parameters != nil {
			arguments["parameters"] = step.parameters
		}
		if text, _ := askSQL(t, c, "execute", arguments); !strings.Contains(text, step.want) {
			t.Errorf("%s: %s, want %q", step.sql, text, step.want)
		}
	}
	if _, result := askSQL(t, c, "query", object{"sql": "SELECT a, b FROM changed"}); fmt.Sprint(tableOf(t, result)) != "[[5 five]]" {
		t.Errorf("afterwards: %s", result.Text())
	}
	if text, _ := askSQL(t, c, "query", object{"sql": "DELETE FROM changed"}); !strings.HasPrefix(text, "failed: ") {
		t.Errorf("query writes where execute may: %s", text)
	}
}

// keepsItsPassword starts the server for a database with another password.
func (b *base) keepsItsPassword(t *testing.T) {
	t.Helper()
	for _, password := range []string{"owning", "wri%25ting%2F"} {
		wrong := strings.Replace(b.dsn, password, "not-this-one", 1)
		if wrong == b.dsn {
			continue
		}
		_, stderr, err := tryRun(t, append(os.Environ(), "SQL_TEST_DSN="+wrong), junction(t), "serve", "sql", "--dsn-env", "SQL_TEST_DSN", "-v")
		if err == nil || strings.Contains(stderr, "not-this-one") || !strings.Contains(stderr, "cannot connect to the "+map[bool]string{true: "MySQL", false: "PostgreSQL"}[b.name == "MariaDB"]) {
			t.Errorf("a wrong password: %v, %s", err, stderr)
		}
	}
}
