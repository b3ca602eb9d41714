package archive

import (
	"context"
	"database/sql"
	"errors"

	"github.com/junction-mcp/junction/internal/sqlitefile"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Archive is an open file of conversations. It is safe for concurrent use by several goroutines and
// several processes.
type Archive struct {
	file *sqlitefile.File
}

// Open opens the file at path. If the file or its folder is missing, Open creates it, readable only
// by its owner. It migrates a file of an older Junction, refuses one of a newer Junction with
// [ErrNewer], and other files with [ErrForeign].
func Open(ctx context.Context, path string) (*Archive, error) {
	file, err := sqlitefile.Open(ctx, path, sqlitefile.Schema{Kind: "archive", Mark: mark, Migrations: migrations})
	if err != nil {
		return nil, err
	}
	return &Archive{file}, nil
}

// Close closes the file.
func (a *Archive) Close() error { return a.file.Close() }

// Path returns the path of the file.
func (a *Archive) Path() string { return a.file.Path() }

// mark is the application id in the header of an archive: "junc".
const mark = 0x6a756e63

// migrations lists the statements that bring each version of the file to the next one. Entries are
// only appended. The search index uses trigrams instead of words. It therefore finds parts of
// identifiers, and text in scripts without spaces.
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

// Errors that callers can test with errors.Is.
var (
	// ErrNewer reports a file of a newer Junction.
	ErrNewer = sqlitefile.ErrNewer
	// ErrForeign reports a file that is not an archive.
	ErrForeign = sqlitefile.ErrForeign
	// ErrNotFound reports that no conversation has the id.
	ErrNotFound = errors.New("there is no such conversation; list the conversations")
	// ErrAmbiguous reports that several ids begin with the given text.
	ErrAmbiguous = errors.New("the IDs of several conversations begin like this; give more of the ID")
	// ErrNoEntry reports that a conversation has fewer entries than requested.
	ErrNoEntry = errors.New("there is no such entry")
	// ErrContinued reports that another program appended to the conversation after it was loaded.
	ErrContinued = errors.New("the conversation was continued elsewhere since it was loaded; load it again, or fork it to continue from here")
	// ErrTooLarge reports that a limit of the archive is exceeded.
	ErrTooLarge = errors.New("it is larger than the archive allows")
	// ErrFull reports that the disk is full.
	ErrFull = sqlitefile.ErrFull
	// ErrReadOnly reports that the file or its folder is not writable.
	ErrReadOnly = sqlitefile.ErrReadOnly
	// ErrBusy reports that another process holds the lock of the file for too long.
	ErrBusy = sqlitefile.ErrBusy
	// ErrDamaged reports a corrupt file.
	ErrDamaged = sqlitefile.ErrDamaged
)

// isTaken reports whether a new row conflicts with an existing one.
func isTaken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// isOrphan reports whether a new row refers to a row that no longer exists.
func isOrphan(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}

// isMissing reports whether a query returned no rows.
func isMissing(err error) bool { return errors.Is(err, sql.ErrNoRows) }
