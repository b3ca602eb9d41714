package archive

import (
	"database/sql"
	"errors"

	"github.com/junction-mcp/junction/internal/sqlitefile"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// What callers branch on, with errors.Is.
var (
	// ErrNewer is returned for a file of a newer Junction.
	ErrNewer = sqlitefile.ErrNewer
	// ErrForeign is returned for a file that is no archive.
	ErrForeign = sqlitefile.ErrForeign
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
	ErrFull = sqlitefile.ErrFull
	// ErrReadOnly is returned where the file or its folder cannot be written.
	ErrReadOnly = sqlitefile.ErrReadOnly
	// ErrBusy is returned where another process does not let go of the file.
	ErrBusy = sqlitefile.ErrBusy
	// ErrDamaged is returned for a file that is broken.
	ErrDamaged = sqlitefile.ErrDamaged
)

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
