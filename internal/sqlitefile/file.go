package sqlitefile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	_ "modernc.org/sqlite" // the driver
)

const (
	busyTime  = 5 * time.Second       // maximum time for which a process waits for a transaction of another one
	busyPause = 20 * time.Millisecond // pause before a file is opened again, for cases in which SQLite does not wait itself
)

// A Schema describes the content of a file.
type Schema struct {
	Kind string // description of the file in errors
	Mark int    // application id in the file's header
	// Migrations convert each version of the file to the next one. New migrations must be appended.
	Migrations []string
}

// A File is an open file. Several goroutines and several processes can use the file concurrently.
type File struct {
	DB     *sql.DB
	path   string
	schema Schema
}

// Open opens the file at path. If the file is missing, Open creates it, and its folder, so that
// only their owner can read them. It migrates a file of an older version of Junction. It returns
// [ErrNewer] for a file of a newer version, and [ErrForeign] for a file of another program.
func Open(ctx context.Context, path string, schema Schema) (*File, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", schema.Kind, path, err)
	}
	if err := private(absolute); err != nil {
		return nil, fmt.Errorf("%s %s: %w", schema.Kind, absolute, err)
	}
	db, err := sql.Open("sqlite", source(absolute))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", schema.Kind, absolute, err)
	}
	// A single connection is sufficient, as a file has only one writer at a time. With it, waiting
	// goroutines are served in order.
	db.SetMaxOpenConns(1)
	f := &File{db, absolute, schema}
	if err := f.begin(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return f, nil
}

// begin connects to the file and migrates it. While another process creates the file, or closes it
// as the last one, SQLite ignores busy_timeout and reports immediately that the file is busy. begin
// then tries again.
func (f *File) begin(ctx context.Context) error {
	for began := time.Now(); ; {
		err := f.migrate(ctx)
		if !errors.Is(err, ErrBusy) || time.Since(began) >= busyTime {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
			return err
		}
	}
}

// migrate migrates the file in one transaction, so that the file is migrated only once even if two
// processes open it concurrently.
func (f *File) migrate(ctx context.Context) error {
	return f.Change(ctx, "open", func(tx *sql.Tx) error {
		var version, application, tables int
		err := tx.QueryRowContext(ctx, `SELECT user_version, application_id, (SELECT count(*) FROM sqlite_schema)
			FROM pragma_user_version, pragma_application_id`).Scan(&version, &application, &tables)
		mark, migrations := f.schema.Mark, f.schema.Migrations
		switch {
		case err != nil:
			return err
		case application != mark && (tables > 0 || version != 0):
			return ErrForeign
		case version > len(migrations):
			return ErrNewer
		case version == len(migrations):
			return nil
		}
		for _, statements := range migrations[version:] {
			if _, err := tx.ExecContext(ctx, statements); err != nil {
				return fmt.Errorf("to bring it up to date: %w", err)
			}
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", mark, len(migrations)))
		return err
	})
}

// Close closes the file.
func (f *File) Close() error { return f.Fail("close", f.DB.Close()) }

// Path returns the path of the file.
func (f *File) Path() string { return f.path }

// Change runs do in a transaction that is atomic for other users of the file. what describes the
// change in errors.
func (f *File) Change(ctx context.Context, what string, do func(*sql.Tx) error) error {
	tx, err := f.DB.BeginTx(ctx, nil)
	if err != nil {
		return f.Fail(what, err)
	}
	defer tx.Rollback()
	if err := do(tx); err != nil {
		return f.Fail(what, err)
	}
	return f.Fail(what, tx.Commit())
}

// Read calls do within a transaction that sees a single state of the file and blocks no changes. In
// errors, what names the operation.
func (f *File) Read(ctx context.Context, what string, do func(*sql.Tx) error) error {
	tx, err := f.DB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return f.Fail(what, err)
	}
	defer tx.Rollback()
	return f.Fail(what, do(tx))
}

// private creates the file so that other users can never read it, not even before a chmod. SQLite
// gives the same mode to the files that it creates next to it.
func private(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("its folder cannot be made: %w; give a path below a folder that you can write to", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("%w; check that you may write to the file and its folder, or give another path", err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file; give another path")
	case info.Mode().Perm()&0o077 == 0 || os.PathSeparator == '\\':
		return nil
	}
	if err := f.Chmod(0o600); err != nil {
		return fmt.Errorf("others can read it, and that cannot be changed: %w", err)
	}
	return nil
}

// source returns the data source name of the file, with the settings of each connection.
func source(path string) string {
	options := url.Values{
		"_txlock": {"immediate"},
		"_pragma": {
			"busy_timeout(" + strconv.FormatInt(busyTime.Milliseconds(), 10) + ")",
			"journal_mode(wal)",
			"synchronous(full)",
			"foreign_keys(on)",
			"secure_delete(on)",
			"trusted_schema(off)",
		},
	}
	location := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: options.Encode(), OmitHost: true}
	return location.String()
}
