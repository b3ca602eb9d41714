package archive

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What callers branch on, with errors.Is.
var (
	// ErrNewer is returned for a file of a newer Junction.
	ErrNewer = errors.New("it was written by a newer version of junction; update junction, or give another file")
	// ErrForeign is returned for a file that is no archive.
	ErrForeign = errors.New("it is not an archive of conversations; give another file, or move this one away")
	// ErrNotFound is returned where no conversation has the id.
	ErrNotFound = errors.New("no such conversation; list them to see which there are")
	// ErrAmbiguous is returned where several conversations' ids begin like this.
	ErrAmbiguous = errors.New("several conversations begin like this; give more of the id")
	// ErrNoEntry is returned where a conversation has fewer entries than were asked for.
	ErrNoEntry = errors.New("there is no such entry")
	// ErrContinued is returned to who appends to a conversation that somebody else
	// went on with since it was loaded.
	ErrContinued = errors.New("the conversation was continued elsewhere since it was loaded; load it again, or fork it to go on from here")
	// ErrTooLarge is returned for what exceeds a limit of the archive.
	ErrTooLarge = errors.New("it is larger than the archive takes")
	// ErrFull is returned where the disk has no room.
	ErrFull = errors.New("the disk is full; free some space and resume the conversation")
	// ErrReadOnly is returned where the file or its folder cannot be written.
	ErrReadOnly = errors.New("it cannot be written; check the permissions of the file and its folder")
	// ErrBusy is returned where another process does not let go of the file.
	ErrBusy = errors.New("another program keeps the file locked; close it and try again")
	// ErrDamaged is returned for a file that is broken.
	ErrDamaged = errors.New("the file is damaged; restore it from a backup, or move it away to begin a new one")
)

// fail names the file and what to do in an error.
func (a *Archive) fail(what string, err error) error {
	if err == nil {
		return nil
	}
	if cause := causeOf(err); cause != nil {
		return fmt.Errorf("archive %s: %s: %w (%w)", a.path, what, cause, err)
	}
	return fmt.Errorf("archive %s: %s: %w", a.path, what, err)
}

// causeOf tells errors of SQLite apart; nil is for those that speak for themselves.
func causeOf(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) || errors.Is(err, context.Canceled) {
		return nil
	}
	switch e.Code() & 0xff { // without what extends the code
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

// isTaken reports whether a row is there already that the new one excludes.
func isTaken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// isOrphan reports whether a row was to belong to another that is gone.
func isOrphan(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}

// isMissing reports whether a query found nothing.
func isMissing(err error) bool { return errors.Is(err, sql.ErrNoRows) }
