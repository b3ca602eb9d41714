package archive

import (
	"context"

	"github.com/junction-mcp/junction/internal/sqlitefile"
)

// Archive is an open file of conversations. It is safe for concurrent use, by
// several goroutines and by several processes.
type Archive struct {
	file *sqlitefile.File
}

// Open opens the file at path, or makes it, and its folder, for its owner alone.
// A file of an older Junction is brought up to date; one of a newer is refused
// with [ErrNewer], and one that is no archive with [ErrForeign].
func Open(ctx context.Context, path string) (*Archive, error) {
	file, err := sqlitefile.Open(ctx, path, sqlitefile.Schema{Kind: "archive", Mark: mark, Migrations: migrations})
	if err != nil {
		return nil, err
	}
	return &Archive{file}, nil
}

// Close closes the file.
func (a *Archive) Close() error { return a.file.Close() }

// Path is where the file is.
func (a *Archive) Path() string { return a.file.Path() }
