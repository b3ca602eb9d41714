package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"
)

// schemaLock is the number of the advisory lock of migrations: "jstt".
const schemaLock = 0x6a737474

// errNewer means that a newer version of Junction made the tables.
var errNewer = errors.New("a newer version of junction made the tables; update junction")

// migrations convert each version of the tables to the next one. New ones must be appended.
var migrations = []string{`
	CREATE SEQUENCE junction_versions;
	CREATE TABLE junction_entries (
		key bytea PRIMARY KEY,
		value bytea NOT NULL,
		version text NOT NULL,
		expires timestamptz
	);
	CREATE INDEX junction_entries_expires ON junction_entries (expires) WHERE expires IS NOT NULL;
	CREATE TABLE junction_leases (
		name bytea PRIMARY KEY,
		token bigint NOT NULL,
		until timestamptz, -- NULL: released
		changed timestamptz NOT NULL
	);
	CREATE INDEX junction_leases_changed ON junction_leases (changed);
	CREATE TABLE junction_logs (
		key bytea PRIMARY KEY,
		last bigint NOT NULL, -- position of the last record
		trimmed bigint NOT NULL, -- position of the last removed record, or the one before the first record
		stale boolean NOT NULL DEFAULT false, -- the sweeper has to remove records up to trimmed
		expires timestamptz
	);
	CREATE INDEX junction_logs_expires ON junction_logs (expires) WHERE expires IS NOT NULL;
	CREATE INDEX junction_logs_stale ON junction_logs (key) WHERE stale;
	CREATE TABLE junction_records (
		key bytea NOT NULL,
		position bigint NOT NULL,
		value bytea NOT NULL,
		time timestamptz NOT NULL DEFAULT clock_timestamp(),
		PRIMARY KEY (key, position)
	);
`}

// migrate makes or converts the tables, one client at a time. After an error the pool ends the
// connection, and with it the transaction.
func (s *Store) migrate(ctx context.Context) error {
	return s.pool.use(ctx, func(c *pgconn.PgConn) error {
		if _, err := simple(ctx, c, "BEGIN"); err != nil {
			return err
		}
		if _, err := simple(ctx, c, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", schemaLock)); err != nil {
			return err
		}
		exists, err := simple(ctx, c, "SELECT to_regclass('junction_schema') IS NOT NULL")
		if err != nil {
			return err
		}
		version := 0
		if exists == "t" {
			text, err := simple(ctx, c, "SELECT version FROM junction_schema")
			if err != nil {
				return err
			}
			if version, err = strconv.Atoi(text); err != nil {
				return fmt.Errorf("junction_schema has no version: %w", err)
			}
		}
		if version > len(migrations) {
			return errNewer
		}
		for _, statements := range migrations[version:] {
			if _, err := simple(ctx, c, statements); err != nil {
				return fmt.Errorf("to bring the tables up to date: %w", err)
			}
		}
		if version < len(migrations) {
			if _, err := simple(ctx, c, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS junction_schema (version integer NOT NULL);
				DELETE FROM junction_schema; INSERT INTO junction_schema VALUES (%d)`, len(migrations))); err != nil {
				return err
			}
		}
		_, err = simple(ctx, c, "COMMIT")
		return err
	})
}

// simple runs statements without parameters in the simple protocol, which allows several. It returns
// the first value of the last one's first row, as text.
func simple(ctx context.Context, c *pgconn.PgConn, statements string) (string, error) {
	results, err := c.Exec(ctx, statements).ReadAll()
	if err != nil || len(results) == 0 {
		return "", err
	}
	last := results[len(results)-1]
	if len(last.Rows) == 0 || len(last.Rows[0]) == 0 {
		return "", nil
	}
	return string(last.Rows[0][0]), nil
}
