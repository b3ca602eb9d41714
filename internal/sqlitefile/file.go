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
	busyTime  = 5 * time.Second       // how long one process waits for another's transaction
	busyPause = 20 * time.Millisecond // before a file is opened again that SQLite would not wait for
)

// A Schema says what is in a file.
type Schema struct {
	Kind string // what errors call the file
	Mark int    // the application id in its header
	// Migrations make of each version of the file the next one. They are only ever added to.
	Migrations []string
}

// A File is open. It is safe for concurrent use, by several goroutines and by several processes.
type File struct {
	DB     *sql.DB
	path   string
	schema Schema
}

// Open opens the file at path, or makes it, and its folder, for its owner alone. A file of an older Junction is
// brought up to date; one of a newer is refused with [ErrNewer], and one of something else with [ErrForeign].
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
	// One connection: a file has one writer at a time anyway, and who waits for it
	// in this process waits in order.
	db.SetMaxOpenConns(1)
	f := &File{db, absolute, schema}
	if err := f.begin(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return f, nil
}

// begin connects and brings the file up to date. While another process makes the file, or is
// the last to close it, SQLite says at once that it is busy, whatever its busy_timeout.
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

// migrate brings the file up to date, in one transaction, so that two processes
// that open it at once do it once.
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

// Path is where the file is.
func (f *File) Path() string { return f.path }

// Change runs do in a transaction that others see whole or not at all. what is what errors call it.
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

// Read runs do in a transaction that sees one state of the file, and keeps nobody
// from changing it.
func (f *File) Read(ctx context.Context, what string, do func(*sql.Tx) error) error {
	tx, err := f.DB.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return f.Fail(what, err)
	}
	defer tx.Rollback()
	return f.Fail(what, do(tx))
}

// private makes the file, so that it never was readable for others, not even for
// the moment between its making and a chmod. SQLite gives the files next to it the
// same mode.
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
		return errors.New("it is no regular file; give another path")
	case info.Mode().Perm()&0o077 == 0 || os.PathSeparator == '\\':
		return nil
	}
	if err := f.Chmod(0o600); err != nil {
		return fmt.Errorf("others can read it, and that cannot be changed: %w", err)
	}
	return nil
}

// source names the file to the driver, with what each connection begins with.
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
