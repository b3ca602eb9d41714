package sqlitefile

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors for errors.Is.
var (
	// ErrNewer is returned for a file of a newer Junction.
	ErrNewer = errors.New("it was written by a newer version of junction; update junction, or give another file")
	// ErrForeign is returned for a file of another program.
	ErrForeign = errors.New("it is a file of something else; give another, or move this one away")
	// ErrFull is returned if the disk is full.
	ErrFull = errors.New("the disk is full; free some space and try again")
	// ErrReadOnly is returned if the file or its folder cannot be written.
	ErrReadOnly = errors.New("it cannot be written; check the permissions of the file and its folder")
	// ErrBusy is returned if another process keeps the file locked.
	ErrBusy = errors.New("another program keeps the file locked; close it and try again")
	// ErrDamaged is returned for a damaged file.
	ErrDamaged = errors.New("the file is damaged; restore it from a backup, or move it away to begin a new one")
)

// Fail adds the file and a remedy to an error.
func (f *File) Fail(what string, err error) error {
	if err == nil {
		return nil
	}
	if cause := causeOf(err); cause != nil {
		return fmt.Errorf("%s %s: %s: %w (%w)", f.schema.Kind, f.path, what, cause, err)
	}
	return fmt.Errorf("%s %s: %s: %w", f.schema.Kind, f.path, what, err)
}

// causeOf returns the cause of an SQLite error, or nil for errors that explain themselves.
func causeOf(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return nil
	}
	switch e.Code() & 0xff { // without the extension of the code
	case sqlite3.SQLITE_FULL:
		return ErrFull
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return ErrReadOnly
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return ErrBusy
	case sqlite3.SQLITE_CORRUPT:
		return ErrDamaged
	case sqlite3.SQLITE_NOTADB:
		return ErrForeign
	}
	return nil
}
