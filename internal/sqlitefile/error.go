package sqlitefile

import (
	"context"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that the errors of this package wrap.
var (
	// ErrNewer means that a newer version of Junction wrote the file.
	ErrNewer = errors.New("it was written by a newer version of junction; update junction, or give another file")
	// ErrForeign means that another program wrote the file.
	ErrForeign = errors.New("it is a file of something else; give another, or move this one away")
	// ErrFull means that the disk is full.
	ErrFull = errors.New("the disk is full; free some space and try again")
	// ErrReadOnly means that the file or its folder cannot be written.
	ErrReadOnly = errors.New("it cannot be written; check the permissions of the file and its folder")
	// ErrBusy means that another process keeps the file locked.
	ErrBusy = errors.New("another program keeps the file locked; close it and try again")
	// ErrDamaged means that the file is damaged.
	ErrDamaged = errors.New("the file is damaged; restore it from a backup, or move it away to begin a new one")
)

// Fail adds the name of the file and, if possible, a remedy to an error.
func (f *File) Fail(what string, err error) error {
	if err == nil {
		return nil
	}
	if cause := causeOf(err); cause != nil {
		return fmt.Errorf("%s %s: %s: %w (%w)", f.schema.Kind, f.path, what, cause, err)
	}
	return fmt.Errorf("%s %s: %s: %w", f.schema.Kind, f.path, what, err)
}

// causeOf returns the cause of an SQLite error. It returns nil for errors that need no further
// explanation.
func causeOf(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return nil
	}
	switch e.Code() & 0xff { // without the extended part of the code
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
