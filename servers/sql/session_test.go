package sql

import (
	"context"
	dbsql "database/sql"
	"os"
	"strings"
	"testing"
	"time"
)

// TestASessionThatReadsCannotWrite runs statements that try to change a database, without the
// checks before the session. The integration tests run it, and then check the database.
func TestASessionThatReadsCannotWrite(t *testing.T) {
	dsn, list := os.Getenv("JUNCTION_SQL_SESSION_DSN"), os.Getenv("JUNCTION_SQL_SESSION_TRICKS")
	if dsn == "" {
		t.Skip("skip: JUNCTION_SQL_SESSION_DSN names no database; integration/sql_tricks_test.go does")
	}
	d := opened(t, Options{DSN: dsn, Timeout: 3 * time.Second})
	start := time.Now()
	_, err := d.query(t.Context(), queryIn{SQL: "SELECT COUNT(*) FROM alarm_event a CROSS JOIN alarm_event b CROSS JOIN alarm_event c", MaxRows: 1})
	if err == nil || !strings.Contains(err.Error(), "the statement ran longer than 3s and was ended") || time.Since(start) > 8*time.Second {
		t.Errorf("a slow statement: %v after %s", err, time.Since(start))
	}
	for trick := range strings.SplitSeq(list, "\x1f") {
		err := d.session(t.Context(), false, func(ctx context.Context, c *dbsql.Conn) error {
			return collect(ctx, c, trick, nil, &collector{maxRows: 10}, true)
		})
		t.Logf("%s: %v", trick, err)
		// The next session must not have the settings of this one, and a read-only one must stay
		// read-only.
		err = d.session(t.Context(), false, func(ctx context.Context, c *dbsql.Conn) error {
			_, err := c.ExecContext(ctx, "DELETE FROM plain")
			return err
		})
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), "read") {
			t.Errorf("after %s a session that reads deleted: %v", trick, err)
		}
	}
}
