package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
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

// migrate makes or converts the tables, one client at a time.
func (s *Store) migrate(ctx context.Context) error {
	// The statements have no parameters and are more than one, so they need the simple protocol.
	simple := pgx.QueryExecModeSimpleProtocol
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, fmt.Sprintf("SELECT pg_advisory_xact_lock(%d)", schemaLock), simple); err != nil {
			return err
		}
		var exists bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass('junction_schema') IS NOT NULL", simple).Scan(&exists); err != nil {
			return err
		}
		version := 0
		if exists {
			if err := tx.QueryRow(ctx, "SELECT version FROM junction_schema", simple).Scan(&version); err != nil {
				return err
			}
		}
		switch {
		case version > len(migrations):
			return errNewer
		case version == len(migrations):
			return nil
		}
		for _, statements := range migrations[version:] {
			if _, err := tx.Exec(ctx, statements, simple); err != nil {
				return fmt.Errorf("to bring the tables up to date: %w", err)
			}
		}
		_, err := tx.Exec(ctx, fmt.Sprintf(`CREATE TABLE IF NOT EXISTS junction_schema (version integer NOT NULL);
			DELETE FROM junction_schema; INSERT INTO junction_schema VALUES (%d)`, len(migrations)), simple)
		return err
	})
}
