package archive

import (
	"context"
	"database/sql"
	"errors"

	"github.com/junction-mcp/junction/internal/sqlitefile"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Archive is an open file of conversations. It is safe for concurrent use, by
// several goroutines and by several processes.
type Archive struct {
	file *sqlitefile.File
}

// Open opens the file at path, or makes it, and its folder, for its owner alone. A file of an older Junction is brought
// up to date; one of a newer is refused with [ErrNewer], and one that is no archive with [ErrForeign].
func Open(ctx context.Context, path string) (*Archive, error) {
	file, err := sqlitefile.Open(ctx, path, sqlitefile.Schema{Kind: "archive", Mark: mark, Migrations: migrations})
	if err != nil {
		return nil, err
	}
	return &Archive{file}, nil
}

// Close closes the file.
func (a *Archive) Close() error { return a.file.Close() }

// Path returns where the file is.
func (a *Archive) Path() string { return a.file.Path() }

// mark is the application id in the header of our files: "junc".
const mark = 0x6a756e63

// migrations make of each version of the file the next one. They are only ever added to. The texts are searched by
// their trigrams, which needs no words: so parts of identifiers and scripts without spaces are found too.
var migrations = []string{`
	CREATE TABLE conversations (
		id TEXT PRIMARY KEY,
		model TEXT NOT NULL,
		folder TEXT NOT NULL,
		title TEXT NOT NULL,
		parent TEXT NOT NULL,
		created INTEGER NOT NULL,
		changed INTEGER NOT NULL,
		entries INTEGER NOT NULL,
		bytes INTEGER NOT NULL,
		questions INTEGER NOT NULL,
		calls INTEGER NOT NULL,
		tokens INTEGER NOT NULL,
		cost REAL NOT NULL
	) STRICT;
	CREATE INDEX conversations_changed ON conversations (changed);
	CREATE TABLE entries (
		row INTEGER PRIMARY KEY,
		conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
		number INTEGER NOT NULL,
		entry TEXT NOT NULL CHECK (json_valid(entry)),
		UNIQUE (conversation, number)
	) STRICT;
	CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'trigram');
	INSERT INTO texts (texts, rank) VALUES ('secure-delete', 1);
	CREATE TABLE memory (
		key TEXT PRIMARY KEY,
		value TEXT NOT NULL CHECK (json_valid(value))
	) STRICT, WITHOUT ROWID;
`, `
	CREATE TABLE notes (
		row INTEGER PRIMARY KEY AUTOINCREMENT,
		at INTEGER NOT NULL,
		labels TEXT NOT NULL,
		text TEXT NOT NULL
	) STRICT;
	CREATE VIRTUAL TABLE note_texts USING fts5 (text, tokenize = 'trigram');
	INSERT INTO note_texts (note_texts, rank) VALUES ('secure-delete', 1);
`, `
	ALTER TABLE conversations ADD COLUMN setup TEXT NOT NULL DEFAULT '';
`}

// What callers branch on, with errors.Is.
var (
	// ErrNewer is returned for a file of a newer Junction.
	ErrNewer = sqlitefile.ErrNewer
	// ErrForeign is returned for a file that is no archive.
	ErrForeign = sqlitefile.ErrForeign
	// ErrNotFound is returned where no conversation has the id.
	ErrNotFound = errors.New("there is no such conversation; list the conversations")
	// ErrAmbiguous is returned where several conversations' ids begin like this.
	ErrAmbiguous = errors.New("the IDs of several conversations begin like this; give more of the ID")
	// ErrNoEntry is returned where a conversation has fewer entries than were asked for.
	ErrNoEntry = errors.New("there is no such entry")
	// ErrContinued is returned to who appends to a conversation that somebody else went on with since it was loaded.
	ErrContinued = errors.New("the conversation was continued elsewhere since it was loaded; load it again, or fork it to go on from here")
	// ErrTooLarge is returned for what exceeds a limit of the archive.
	ErrTooLarge = errors.New("it is larger than the archive allows")
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
