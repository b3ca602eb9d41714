package sql

import (
	"context"
	dbsql "database/sql"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lib/pq"
)

// harmless lists functions that are marked volatile only because their results vary.
var harmless = []string{
	"random", "random_normal", "gen_random_uuid", "uuid_generate_v4", "uuidv4", "uuidv7", "clock_timestamp", "timeofday",
	"pg_relation_size", "pg_table_size", "pg_indexes_size", "pg_total_relation_size", "pg_database_size", "pg_tablespace_size",
}

// running lists functions that are not marked volatile, but run a text as a statement.
var running = []string{"crosstab", "crosstab2", "crosstab3", "crosstab4", "crosstabn", "connectby", "xpath_table"}

func postgresDialect(timeout time.Duration) *dialect {
	return &dialect{
		name: "PostgreSQL", placeholder: "$1, $2, …",
		syntax: syntax{dollar: true, nested: true},
		reads:  []string{"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN"},
		denied: running,
		begin: func(ctx context.Context, c *dbsql.Conn, write bool) error {
			return beginPostgres(ctx, c, write, timeout)
		},
		vet: vetPostgres,
		over: func(err error) bool { // other cancellations have other causes
			ended, ok := errors.AsType[*pq.Error](err)
			return ok && ended.Code == "57014" && strings.Contains(ended.Message, "statement timeout")
		},
		remedy: func(err error) string {
			if errors.Is(err, pq.ErrSSLNotSupported) {
				return "if you trust the network, add the parameter sslmode=disable to the DSN"
			}
			if strings.Contains(err.Error(), "default_transaction_read_only") {
				return "if a pooler does not know the parameter, set it to ignore it (pgbouncer: ignore_startup_parameters)"
			}
			return ""
		},
		tables: `SELECT n.nspname, c.relname, CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN c.relname::text ELSE n.nspname || '.' || c.relname END,
			CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END, COALESCE(pg_catalog.obj_description(c.oid, 'pg_class'), '')
			FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\_%'
			AND pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
			AND $1::text IN ('', c.relname::text, n.nspname || '.' || c.relname) ORDER BY NOT pg_catalog.pg_table_is_visible(c.oid), 1, 2 LIMIT $2::int`,
		columns: `SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), NOT a.attnotnull, pg_catalog.pg_get_expr(d.adbin, d.adrelid),
			COALESCE(pg_catalog.col_description(a.attrelid, a.attnum), '')
			FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
			WHERE a.attrelid = ` + relation + ` AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
		primary: `SELECT a.attname FROM pg_catalog.pg_index i, unnest(i.indkey) WITH ORDINALITY AS k(number, place), pg_catalog.pg_attribute a
			WHERE i.indrelid = ` + relation + ` AND i.indisprimary AND a.attrelid = i.indrelid AND a.attnum = k.number ORDER BY k.place`,
		indexes: `SELECT c.relname, i.indisunique, pg_catalog.pg_get_indexdef(i.indexrelid, k.place, true)
			FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid, generate_series(1, i.indnkeyatts) AS k(place)
			WHERE i.indrelid = ` + relation + ` AND NOT i.indisprimary ORDER BY c.relname, k.place`,
		foreign: `SELECT f.conname, a.attname, CASE WHEN pg_catalog.pg_table_is_visible(r.oid) THEN r.relname::text ELSE n.nspname || '.' || r.relname END, b.attname
			FROM pg_catalog.pg_constraint f JOIN pg_catalog.pg_class r ON r.oid = f.confrelid JOIN pg_catalog.pg_namespace n ON n.oid = r.relnamespace,
			generate_subscripts(f.conkey, 1) AS k(place), pg_catalog.pg_attribute a, pg_catalog.pg_attribute b
			WHERE f.conrelid = ` + relation + ` AND f.contype = 'f' AND a.attrelid = f.conrelid AND a.attnum = f.conkey[k.place]
			AND b.attrelid = f.confrelid AND b.attnum = f.confkey[k.place] ORDER BY f.conname, k.place`,
	}
}

// relation is an SQL expression for the oid of a table with a schema and a name.
const relation = `(SELECT t.oid FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace WHERE s.nspname = $1::text AND t.relname = $2::text)`

func postgresTarget(u *url.URL, timeout time.Duration) (*target, error) {
	connect := func(mode string) (*pq.Connector, error) {
		of := *u
		q := of.Query()
		if mode != "" {
			q.Set("default_transaction_read_only", mode)
		}
		if !q.Has("application_name") {
			q.Set("application_name", "junction")
		}
		of.RawQuery = q.Encode()
		connector, err := pq.NewConnector(of.String())
		if err == nil {
			connector.Dialer(dialer{timeout})
		}
		return connector, err
	}
	read, err := connect("on")
	if err != nil {
		return nil, err
	}
	write, err := connect("")
	return &target{dialect: postgresDialect(timeout), read: read, write: write}, err
}

// beginPostgres begins a transaction and takes its snapshot at once. After that it cannot become
// writable.
func beginPostgres(ctx context.Context, c *dbsql.Conn, write bool, timeout time.Duration) error {
	mode := "READ ONLY"
	if write {
		mode = "READ WRITE"
	}
	return run(ctx, c, "BEGIN TRANSACTION "+mode, "SET LOCAL standard_conforming_strings = on",
		fmt.Sprintf("SET LOCAL statement_timeout = %d", timeout.Milliseconds()), "SELECT count(*) FROM pg_catalog.pg_namespace")
}

// vetPostgres refuses functions that are marked volatile. Even in a read-only transaction they
// could end a session, take a lock, write a file or run a statement elsewhere.
func vetPostgres(ctx context.Context, c *dbsql.Conn, functions []string) error {
	functions = slices.DeleteFunc(slices.Clone(functions), func(name string) bool { return slices.Contains(harmless, name) })
	if len(functions) == 0 {
		return nil
	}
	var name string
	err := c.QueryRowContext(ctx, `SELECT proname FROM pg_catalog.pg_proc WHERE provolatile = 'v' AND proname = ANY ($1) ORDER BY 1 LIMIT 1`, pq.Array(functions)).Scan(&name)
	if errors.Is(err, dbsql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("the function %q is marked volatile: it may have an effect that a read-only transaction allows, so query does not call it; "+
		"if it only reads, its owner can mark it STABLE", name)
}
