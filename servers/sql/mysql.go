package sql

import (
	"context"
	dbsql "database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

func mysqlDialect(timeout time.Duration) *dialect {
	return &dialect{
		name: "MySQL", placeholder: "?",
		syntax: syntax{mysql: true, backtick: true, at: true},
		reads:  []string{"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC"},
		// Functions that wait, lock, read files of the machine, increment sequences, or run
		// programs.
		denied: []string{"get_lock", "release_lock", "release_all_locks", "sleep", "benchmark", "load_file",
			"nextval", "setval", "master_pos_wait", "master_gtid_wait", "source_pos_wait", "wait_for_executed_gtid_set", "sys_exec", "sys_eval", "sys_set"},
		begin: func(ctx context.Context, c *dbsql.Conn, write bool) error { return beginMySQL(ctx, c, write, timeout) },
		over: func(err error) bool {
			const mariaDB, mySQL = 1969, 3024 // error numbers for an exceeded time limit
			ended, ok := errors.AsType[*mysql.MySQLError](err)
			return ok && (ended.Number == mariaDB || ended.Number == mySQL)
		},
		tables: `SELECT table_schema, table_name, IF(DATABASE() IS NULL, CONCAT(table_schema, '.', table_name), table_name),
			IF(table_type LIKE '%VIEW', 'view', 'table'), IF(table_type LIKE '%VIEW', '', table_comment) FROM information_schema.tables
			WHERE table_schema = COALESCE(DATABASE(), table_schema) AND table_schema NOT IN ('mysql', 'information_schema', 'performance_schema', 'sys')
			AND table_type <> 'SEQUENCE' AND ? IN ('', table_name, CONCAT(table_schema, '.', table_name)) ORDER BY 1, 2 LIMIT ?`,
		columns: `SELECT column_name, column_type, is_nullable = 'YES', column_default, column_comment FROM information_schema.columns
			WHERE table_schema = ? AND table_name = ? ORDER BY ordinal_position`,
		primary: `SELECT column_name FROM information_schema.statistics
			WHERE table_schema = ? AND table_name = ? AND index_name = 'PRIMARY' ORDER BY seq_in_index`,
		indexes: `SELECT index_name, non_unique = 0, COALESCE(column_name, '(expression)') FROM information_schema.statistics
			WHERE table_schema = ? AND table_name = ? AND index_name <> 'PRIMARY' ORDER BY index_name, seq_in_index`,
		foreign: `SELECT constraint_name, column_name, referenced_table_name, referenced_column_name FROM information_schema.key_column_usage
			WHERE table_schema = ? AND table_name = ? AND referenced_table_name IS NOT NULL ORDER BY constraint_name, ordinal_position`,
	}
}

func mysqlTarget(u *url.URL, timeout time.Duration) (*target, error) {
	if err := checkParameters(u, "tls", "socket"); err != nil {
		return nil, err
	}
	c := mysql.NewConfig()
	c.Net, c.Addr = "tcp", u.Host
	if socket := u.Query().Get("socket"); socket != "" {
		c.Net, c.Addr = "unix", socket
	} else if u.Port() == "" {
		c.Addr = net.JoinHostPort(u.Hostname(), "3306")
	}
	if c.Net == "tcp" && u.Hostname() == "" {
		return nil, errors.New("the DSN names no host: expected mysql://USER:PASSWORD@HOST/DATABASE, or mysql://USER@/DATABASE?socket=PATH")
	}
	c.User, c.DBName = u.User.Username(), strings.TrimPrefix(u.Path, "/")
	c.Passwd, _ = u.User.Password()
	switch c.TLSConfig = u.Query().Get("tls"); c.TLSConfig {
	case "":
		c.TLSConfig = "preferred"
	case "true", "false", "skip-verify", "preferred":
	default:
		return nil, errors.New(`the parameter "tls" of the DSN: expected true, false, skip-verify or preferred`)
	}
	c.Logger = &mysql.NopLogger{} // errors already contain the driver's messages
	c.DialFunc = dialer{timeout}.DialContext
	connector, err := mysql.NewConnector(c)
	return &target{dialect: mysqlDialect(timeout), read: connector, write: connector}, err
}

// beginMySQL begins a transaction. It also sets the SQL mode, on which the syntax of statements
// depends. MariaDB limits the time of all statements, in seconds; MySQL limits only reading ones,
// in milliseconds. Each knows only its own variable.
func beginMySQL(ctx context.Context, c *dbsql.Conn, write bool, timeout time.Duration) error {
	err := run(ctx, c, "SET NAMES utf8mb4", "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'")
	if err != nil {
		return err
	}
	err = run(ctx, c, fmt.Sprintf("SET SESSION max_statement_time = %.3f", timeout.Seconds()))
	if unknown, ok := errors.AsType[*mysql.MySQLError](err); ok && unknown.Number == 1193 {
		err = run(ctx, c, fmt.Sprintf("SET SESSION max_execution_time = %d", timeout.Milliseconds()))
	}
	if err != nil {
		return err
	}
	if write {
		return run(ctx, c, "START TRANSACTION READ WRITE")
	}
	return run(ctx, c, "SET SESSION TRANSACTION READ ONLY", "START TRANSACTION READ ONLY")
}
