package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// everywhere are tricks that are the same in all databases. FOLDER is one that the database can write to.
var everywhere = []string{
	"DELETE FROM alarm_event",
	"INSERT INTO plain VALUES (2, 'x')",
	"UPDATE plain SET b = 'y'",
	"DROP TABLE plain",
	"ALTER TABLE plain ADD c INT",
	"CREATE TABLE trick (a INT)",
	"SELECT 1; DELETE FROM plain",
	"SELECT 1;\n-- nothing\nDELETE FROM plain",
	"SELECT 1 /* ; */ ; /* */ DELETE FROM plain",
	"/* SELECT */ DELETE FROM plain",
	"-- SELECT\nDELETE FROM plain",
	"BEGIN; DELETE FROM plain; COMMIT",
	"COMMIT",
	"ROLLBACK",
	"SAVEPOINT a",
	"SET TRANSACTION READ WRITE",
	"COMMIT; DELETE FROM plain",
	"ROLLBACK; DELETE FROM plain",
	"COMMIT AND CHAIN",
	"(DELETE FROM plain)",
	"WITH a AS (SELECT 1) DELETE FROM plain",
	"EXPLAIN ANALYZE DELETE FROM plain",
	"CREATE TABLE trick AS SELECT 1",
	"TRUNCATE TABLE plain",
	"GRANT ALL ON plain TO PUBLIC",
	"CALL harm()",
}

var mariaTricks = []string{
	"START TRANSACTION READ WRITE",
	"SET SESSION TRANSACTION READ WRITE",
	"SET STATEMENT max_statement_time=0 FOR DELETE FROM plain",
	"SET autocommit = 1",
	"SET GLOBAL general_log = 1",
	"REPLACE INTO plain VALUES (1, 'y')",
	"REPLACE plain VALUES (1, 'y')",
	"LOAD DATA INFILE 'FOLDER/x' INTO TABLE plain",
	"LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE plain",
	"SELECT * FROM plain INTO OUTFILE 'FOLDER/x'",
	"SELECT b INTO DUMPFILE 'FOLDER/x' FROM plain",
	"SELECT * INTO /* */ OUTFILE 'FOLDER/x' FROM plain",
	"TABLE plain INTO OUTFILE 'FOLDER/x'",
	"SELECT 1 /*!50000 INTO OUTFILE 'FOLDER/x' */",
	"SELECT 1 /*M!100100 INTO OUTFILE 'FOLDER/x' */",
	"SELECT 1 /*! ; DELETE FROM plain */",
	"/*! DELETE FROM plain */",
	"SELECT '\\'' INTO OUTFILE 'FOLDER/x' -- '",
	"SELECT \"'\" INTO OUTFILE 'FOLDER/x'",
	"SELECT 1 --'a' INTO OUTFILE 'FOLDER/x'",
	"SELECT 1 # '\nINTO OUTFILE 'FOLDER/x' # '",
	"SELECT GET_LOCK('trick', 1)",
	"SELECT `get_lock` ('trick', 1)",
	"SELECT SLEEP(100)",
	"SELECT BENCHMARK(1000000000, SHA2('x', 512))",
	"SELECT SLÉEP(100)",
	"SELECT `GET_LÓCK`('trick', 1)",
	"SELECT harming()",
	"SELECT NEXTVAL(s)",
	"SELECT NEXT VALUE FOR s",
	"SELECT SETVAL(s, 77)",
	"SELECT s.nextval",
	"SELECT LOAD_FILE('/etc/passwd')",
	"DO GET_LOCK('trick', 1)",
	"DO SETVAL(s, 77)",
	"BEGIN NOT ATOMIC DELETE FROM plain; END",
	"IF 1 THEN DELETE FROM plain; END IF",
	"EXECUTE IMMEDIATE 'DELETE FROM plain'",
	"PREPARE a FROM 'DELETE FROM plain'",
	"ANALYZE DELETE FROM plain",
	"ANALYZE FORMAT=JSON DELETE FROM plain",
	"ANALYZE TABLE plain",
	"OPTIMIZE TABLE plain",
	"FLUSH TABLES",
	"LOCK TABLES plain WRITE",
	"HANDLER plain OPEN",
	"SELECT * FROM plain FOR UPDATE",
	"SELECT * FROM plain LOCK IN SHARE MODE",
	"KILL CONNECTION_ID()",
	"CREATE TEMPORARY TABLE trick (a INT)",
	"CREATE USER trick",
	"RENAME TABLE plain TO trick",
	"XA BEGIN 'a'",
	"INSTALL SONAME 'ha_archive'",
	"DELETE FROM plain RETURNING *",
	"INSERT INTO plain VALUES (3, 'z') RETURNING *",
}

var postgresTricks = []string{
	"START TRANSACTION READ WRITE",
	"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
	"SET default_transaction_read_only = off",
	"SET LOCAL transaction_read_only = off",
	"SELECT set_config('transaction_read_only', 'off', true)",
	"SELECT pg_catalog.set_config('default_transaction_read_only', 'off', false)",
	"SELECT \"set_config\"('transaction_read_only', 'off', false)",
	"RESET ALL",
	"DISCARD ALL",
	"WITH d AS (DELETE FROM plain RETURNING *) SELECT * FROM d",
	"WITH d AS (INSERT INTO plain VALUES (2, 'x') RETURNING *) TABLE d",
	"WITH d AS (UPDATE plain SET b = 'y' RETURNING *) SELECT 1",
	"EXPLAIN (ANALYZE, VERBOSE) DELETE FROM plain",
	"EXPLAIN ANALYZE CREATE TABLE trick AS SELECT 1",
	"EXPLAIN ANALYZE EXECUTE trick",
	"SELECT * INTO trick FROM plain",
	"SELECT 1 INTO TEMP trick",
	"SELECT E'\\'' INTO trick --'",
	"SELECT $$'$$ AS a INTO trick --'",
	"SELECT 1 /* /* */ '*/ INTO trick --'",
	"SELECT 1 -- '\rINTO trick --'",
	"COPY plain FROM PROGRAM 'echo 9'",
	"COPY plain TO PROGRAM 'cat > FOLDER/x'",
	"COPY (SELECT 1) TO PROGRAM 'touch FOLDER/x'",
	"COPY (SELECT 1) TO 'FOLDER/x'",
	"COPY plain TO STDOUT",
	"DO $$ BEGIN DELETE FROM plain; END $$",
	"SELECT harming()",
	"SELECT nextval('s')",
	"SELECT setval('s', 77)",
	"SELECT * FROM calls",
	"SELECT lo_import('/etc/passwd')",
	"SELECT lo_create(77)",
	"SELECT lo_from_bytea(77, 'x')",
	"SELECT lo_export(77, 'FOLDER/x')",
	"SELECT pg_file_write('FOLDER/x', 'x', false)",
	"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'",
	"SELECT \"pg_terminate_backend\" /* */ (pid) FROM pg_stat_activity WHERE application_name = 'victim'",
	"SELECT U&\"pg\\005fterminate_backend\"(pid) FROM pg_stat_activity WHERE application_name = 'victim'",
	"SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = 'victim'",
	"SELECT query_to_xml('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ''victim''', true, false, '')",
	"SELECT * FROM crosstab('SELECT pg_terminate_backend(pid), 1, 2 FROM pg_stat_activity WHERE application_name = ''victim''') AS t(a BOOLEAN, b INT)",
	"SELECT pg_advisory_lock(77)",
	"SELECT pg_sleep(100)",
	"SELECT pg_reload_conf()",
	"SELECT pg_rotate_logfile()",
	"SELECT pg_switch_wal()",
	"SELECT pg_notify('a', 'b')",
	"SELECT pg_export_snapshot()",
	"SELECT pg_create_physical_replication_slot('trick', true)",
	"SELECT pg_logical_emit_message(false, 'a', 'b')",
	"SELECT pg_stat_reset()",
	"SELECT pg_read_file('/etc/passwd')",
	"SELECT dblink_exec('SELF', 'DELETE FROM plain')",
	"SELECT * FROM dblink('SELF', 'DELETE FROM plain RETURNING a') AS t(a INT)",
	"SELECT * FROM plain FOR UPDATE",
	"TABLE plain FOR SHARE",
	"DECLARE c CURSOR WITH HOLD FOR SELECT 1",
	"PREPARE trick AS DELETE FROM plain",
	"PREPARE TRANSACTION 'trick'",
	"LISTEN trick",
	"NOTIFY trick",
	"LOCK TABLE plain",
	"VACUUM",
	"REINDEX TABLE plain",
	"CLUSTER",
	"ALTER SYSTEM SET work_mem = '8MB'",
	"CREATE DATABASE trick",
	"COMMENT ON TABLE plain IS 'x'",
	"LOAD 'auto_explain'",
	"CHECKPOINT",
	"REFRESH MATERIALIZED VIEW trick",
}

// What a model could try to write with through a server that only reads fails, and changes nothing.
func TestSQLThatReadsCannotBeTrickedIntoWriting(t *testing.T) {
	t.Parallel()
	junction(t)
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		mariaBase(t).tricked(t, mariaTricks)
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		b := postgresBase(t)
		self := strings.NewReplacer("SELF", strings.Replace(b.dsn, "?", "?application_name=dblink&", 1))
		tricks := slices.Clone(postgresTricks)
		for i := range tricks {
			tricks[i] = self.Replace(tricks[i])
		}
		b.victim(t)
		b.tricked(t, tricks)
	})
}

func (b *base) tricked(t *testing.T, own []string) {
	tricks := append(slices.Clone(everywhere), own...)
	for i := range tricks {
		tricks[i] = strings.ReplaceAll(tricks[i], "FOLDER", b.dir)
	}
	before := b.ask(t, b.state)
	c := b.sqlServer(t)
	for _, trick := range tricks {
		start := time.Now()
		if text, result := askSQL(t, c, "query", object{"sql": trick}); !result.IsError {
			t.Errorf("%s: was answered: %s", trick, text)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s: took %s", trick, took)
		}
		b.same(t, trick, before)
	}
	t.Logf("%s: %d tricks", b.name, len(tricks))
	b.alone(t, tricks, before)
}

// same fails where something is not as it was.
func (b *base) same(t *testing.T, trick, before string) {
	t.Helper()
	if after := b.ask(t, b.state); after != before {
		t.Errorf("%s: before\n%safter\n%s", trick, before, after)
	}
	if entries, err := os.ReadDir(b.dir); err != nil || len(entries) != 1 {
		t.Errorf("%s: in the folder are %v (%v)", trick, entries, err)
		for _, e := range entries {
			if e.Name() != "init.sql" {
				_ = os.Remove(filepath.Join(b.dir, e.Name()))
			}
		}
	}
}

// alone tries the session without the check of the statement: those tricks that write to tables must fail or
// change nothing all the same.
func (b *base) alone(t *testing.T, tricks []string, before string) {
	command := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run=^TestASessionThatReadsCannotWrite$", "-v", "./servers/sql")
	inGroup(command)
	command.Dir = ".."
	command.Env = append(os.Environ(), "JUNCTION_SQL_SESSION_DSN="+b.dsn, "JUNCTION_SQL_SESSION_TRICKS="+strings.Join(slices.DeleteFunc(slices.Clone(tricks), outside), "\x1f"))
	out, err := command.CombinedOutput()
	t.Logf("the session alone:\n%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("go test: %v", err)
	}
	b.same(t, "the session alone", before)
}

// outside reports whether a trick has its effect outside of tables: only the check of the statement, and the
// rights of an account, keep it from that.
func outside(trick string) bool {
	for _, what := range []string{"FILE", "PROGRAM", " TO '", "GLOBAL", "ALTER SYSTEM", "terminate", "cancel", "slot", "dblink", "lo_export", "pg_file_write", "reload", "INSTALL",
		"SET ", "set_config", "BEGIN", "START", "COMMIT", "ROLLBACK", "pg_sleep", "SLEEP", "BENCHMARK", "FLUSH", "stat_reset", "KILL", "LISTEN", "CHECKPOINT", "switch_wal", "rotate"} {
		if strings.Contains(trick, what) && !strings.Contains(trick, "TRANSACTION READ WRITE") && !strings.Contains(trick, "transaction_read_only") {
			return true
		}
	}
	return false
}

// victim holds a session that a trick could end.
func (b *base) victim(t *testing.T) {
	t.Helper()
	command := exec.Command(postgresProgram(t, "psql"), "--no-psqlrc", b.dsn+"&application_name=victim", "--command=SELECT pg_sleep(600)")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); b.ask(t, "SELECT pid FROM pg_stat_activity WHERE application_name = 'victim'") == ""; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the session of psql does not begin")
		}
	}
}
