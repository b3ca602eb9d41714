package registry

import (
	"context"
	"net/http"

	"github.com/junction-mcp/junction/internal/sqlitefile"
)

// A Source is where servers are listed: a registry, or a folder of server.json files.
type Source struct {
	Name   string // for people, such as the host of its URL
	URL    string // of a registry, without the path of the API
	Folder string // in place of a URL; links in it are not followed
	// Token is sent to a registry that wants one; nil: none is. It is asked for anew for each sync.
	Token func(ctx context.Context) (string, error)
}

// MirrorOptions are those of [OpenMirror].
type MirrorOptions struct {
	Sources []Source     // the first one that has a server says what it is
	HTTP    *http.Client // nil: a client of its own, with timeouts
}

// A Mirror is a copy of what registries list, in a file. It is safe for concurrent use, by several processes too.
type Mirror struct {
	file    *sqlitefile.File
	options MirrorOptions
}

// OpenMirror opens the copy at path, or makes it. Nothing is read from a source before [Mirror.Sync].
func OpenMirror(ctx context.Context, path string, o MirrorOptions) (*Mirror, error) { return nil, nil }

// Close closes the file.
func (m *Mirror) Close() error { return m.file.Close() }

// Lookup is the newest version of a server that is not deleted, or where all are, the newest; the error of an unknown name
// is [ErrNotFound].
func (m *Mirror) Lookup(ctx context.Context, name string) (Entry, error) { return Entry{}, nil }

// LookupVersion is one version of a server.
func (m *Mirror) LookupVersion(ctx context.Context, name, version string) (Entry, error) {
	return Entry{}, nil
}
