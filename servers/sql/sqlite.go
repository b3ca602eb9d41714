package sql

import (
	"context"
	dbsql "database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"modernc.org/libc"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// maxSQLiteValue is the maximum size in bytes of a value or a row in SQLite.
const maxSQLiteValue = 16 << 20

func sqliteDialect() *dialect {
	return &dialect{
		name: "SQLite", placeholder: "?",
		syntax: syntax{backtick: true, bracket: true, at: true},
		reads:  []string{"SELECT", "WITH", "VALUES", "EXPLAIN"},
		denied: []string{"load_extension", "fts3_tokenizer", "writefile", "edit"},
		begin:  beginSQLite,
		end:    endSQLite,
		remedy: func(err error) string {
			if strings.Contains(err.Error(), "(14)") { // SQLITE_CANTOPEN
				return "a database in WAL mode can be read only if its folder is writable, or while another program has it open"
			}
			return ""
		},
		tables: `SELECT schema, name, name, CASE type WHEN 'view' THEN 'view' ELSE 'table' END, '' FROM pragma_table_list
			WHERE schema = 'main' AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite\_%' ESCAPE '\' AND ?1 IN ('', name, schema || '.' || name)
			ORDER BY name LIMIT ?2`,
		columns: `SELECT name, type, "notnull" = 0, dflt_value, '' FROM pragma_table_xinfo(?2, ?1) WHERE hidden <> 1 ORDER BY cid`,
		primary: `SELECT name FROM pragma_table_xinfo(?2, ?1) WHERE pk > 0 ORDER BY pk`,
		indexes: `SELECT i.name, i."unique", coalesce(c.name, '(expression)') FROM pragma_index_list(?2, ?1) AS i, pragma_index_info(i.name, ?1) AS c
			WHERE i.origin <> 'pk' ORDER BY i.seq, c.seqno`,
		foreign: `SELECT CAST(id AS TEXT), "from", "table", coalesce("to", '') FROM pragma_foreign_key_list(?2, ?1) ORDER BY id, seq`,
	}
}

// interruptPause is the time between two interrupts of a statement.
const interruptPause = 50 * time.Millisecond

// endSQLite interrupts the connection again and again once ctx is done. The driver interrupts it once,
// which has no effect on a statement that is about to begin.
func endSQLite(ctx context.Context, c *dbsql.Conn) (stop func(), err error) {
	var handle uintptr
	err = c.Raw(func(driverConn any) error {
		field := reflect.Indirect(reflect.ValueOf(driverConn)).FieldByName("db")
		if field.Kind() != reflect.Uintptr {
			return fmt.Errorf("the driver has no handle of the connection in %T", driverConn)
		}
		handle = uintptr(field.Uint())
		return nil
	})
	if err != nil {
		return nil, err
	}
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-ctx.Done():
		case <-ended:
			return
		}
		tls := libc.NewTLS()
		defer tls.Close()
		for {
			lib.Xsqlite3_interrupt(tls, handle)
			select {
			case <-time.After(interruptPause):
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended); <-over }, nil
}

func sqliteTarget(path string) (*target, error) {
	path = strings.TrimPrefix(path, "//") // sqlite:///folder/file
	if path == "" || strings.ContainsAny(path, "?\x00") || strings.HasPrefix(path, ":") {
		return nil, fmt.Errorf("the DSN names no file: expected sqlite:FILE")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; an empty file there is a new database", err)
		}
		return nil, fmt.Errorf("the file of the DSN: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the DSN names %s, which is not a file", path)
	}
	connect := func(mode string, pragmas ...string) (driver.Connector, error) {
		options := url.Values{"mode": {mode}, "_defensive": {"1"}, "_pragma": append(pragmas, "busy_timeout(5000)", "trusted_schema(off)")}
		location := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: options.Encode(), OmitHost: true}
		return sqlite.NewConnector(location.String())
	}
	read, err := connect("ro", "query_only(1)")
	if err != nil {
		return nil, err
	}
	write, err := connect("rw", "foreign_keys(on)")
	return &target{dialect: sqliteDialect(), read: read, write: write, name: filepath.Base(path), identity: path}, err
}

// beginSQLite limits a connection and begins a transaction. Because no database can be attached,
// VACUUM INTO cannot make a copy.
func beginSQLite(ctx context.Context, c *dbsql.Conn, write bool) error {
	for id, most := range map[int]int{lib.SQLITE_LIMIT_ATTACHED: 0, lib.SQLITE_LIMIT_LENGTH: maxSQLiteValue, lib.SQLITE_LIMIT_SQL_LENGTH: 2 * maxStatement} {
		if _, err := sqlite.Limit(c, id, most); err != nil {
			return err
		}
	}
	if write {
		return run(ctx, c, "BEGIN IMMEDIATE")
	}
	return run(ctx, c, "BEGIN")
}
