package archive

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

// Archive is an open file of conversations. It is safe for concurrent use, by
// several goroutines and by several processes.
type Archive struct {
	db   *sql.DB
	path string
}

// Open opens the file at path, or makes it, and its folder, for its owner alone.
// A file of an older Junction is brought up to date; one of a newer is refused
// with [ErrNewer], and one that is no archive with [ErrForeign].
func Open(ctx context.Context, path string) (*Archive, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", path, err)
	}
	if err := private(absolute); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", source(absolute))
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", absolute, err)
	}
	// One connection: a file has one writer at a time anyway, and who waits for it
	// in this process waits in order.
	db.SetMaxOpenConns(1)
	a := &Archive{db: db, path: absolute}
	if err := a.begin(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return a, nil
}

// begin connects and brings the file up to date. While another process makes the file, or is
// the last to close it, SQLite says at once that it is busy, whatever its busy_timeout.
func (a *Archive) begin(ctx context.Context) error {
	for began := time.Now(); ; {
		err := a.migrate(ctx)
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

// Close closes the file.
func (a *Archive) Close() error { return a.fail("close", a.db.Close()) }

// Path is where the file is.
func (a *Archive) Path() string { return a.path }

// private makes the file, so that it never was readable for others, not even for
// the moment between its making and a chmod. SQLite gives the files next to it the
// same mode.
func private(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("archive %s: its folder cannot be made: %w; give a path below a folder that you can write to", path, err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("archive %s: %w; check that you may write to the file and its folder, or give another path", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("archive %s: %w", path, err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("archive %s: it is no regular file; give another path", path)
	case info.Mode().Perm()&0o077 == 0 || os.PathSeparator == '\\':
		return nil
	}
	if err := f.Chmod(0o600); err != nil {
		return fmt.Errorf("archive %s: others can read it, and that cannot be changed: %w", path, err)
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

// change runs f in a transaction that others see whole or not at all.
func (a *Archive) change(ctx context.Context, what string, f func(*sql.Tx) error) error {
	tx, err := a.db.BeginTx(ctx, nil)
	if err != nil {
		return a.fail(what, err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return a.fail(what, err)
	}
	return a.fail(what, tx.Commit())
}

// read runs f in a transaction that sees one state of the file, and keeps nobody
// from changing it.
func (a *Archive) read(ctx context.Context, what string, f func(*sql.Tx) error) error {
	tx, err := a.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return a.fail(what, err)
	}
	defer tx.Rollback()
	return a.fail(what, f(tx))
}
