package registry

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/sqlitefile"
)

// mark is the SQLite application ID of mirror files: "jrrg".
const mark = 0x6a727267

// Times are Unix nanoseconds; 0 means none.
//
// Rows of versions are written page by page, so an interrupted sync keeps the pages that it has
// read. seen is the start of the last sync that found the row. After a complete sync, rows with an
// older seen are deleted. listed has a row for each server that has a version that is not deleted;
// the row describes the current version. texts has the search words of these servers.
var migrations = []string{`
	CREATE TABLE sources (
		id INTEGER PRIMARY KEY,
		key TEXT NOT NULL UNIQUE,
		tried INTEGER NOT NULL DEFAULT 0,
		synced INTEGER NOT NULL DEFAULT 0,
		whole INTEGER NOT NULL DEFAULT 0,
		newest INTEGER NOT NULL DEFAULT 0,
		unread INTEGER NOT NULL DEFAULT 0,
		fault TEXT NOT NULL DEFAULT ''
	) STRICT;
	CREATE TABLE versions (
		id INTEGER PRIMARY KEY,
		source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
		name TEXT NOT NULL,
		version TEXT NOT NULL,
		status TEXT NOT NULL,
		message TEXT NOT NULL,
		latest INTEGER NOT NULL,
		published INTEGER NOT NULL,
		updated INTEGER NOT NULL,
		seen INTEGER NOT NULL,
		server BLOB NOT NULL,
		meta BLOB,
		UNIQUE (source, name, version)
	) STRICT;
	CREATE INDEX versions_name ON versions (name);
	CREATE TABLE listed (
		id INTEGER PRIMARY KEY,
		source INTEGER NOT NULL REFERENCES sources ON DELETE CASCADE,
		name TEXT NOT NULL,
		version INTEGER NOT NULL,
		versions INTEGER NOT NULL,
		first INTEGER NOT NULL,
		care INTEGER NOT NULL,
		UNIQUE (source, name)
	) STRICT;
	CREATE INDEX listed_name ON listed (name);
	CREATE TABLE packages (
		listed INTEGER NOT NULL REFERENCES listed ON DELETE CASCADE,
		identifier TEXT NOT NULL
	) STRICT;
	CREATE INDEX packages_listed ON packages (listed);
	CREATE VIRTUAL TABLE texts USING fts5 (name, title, description, rest, tokenize = 'trigram');
`}

// A Source is a list of servers, from a registry or from a folder of server.json files.
type Source struct {
	Name   string // name to show to users, such as the host of URL
	URL    string // address of a registry, without the path of the API
	Folder string // path of a folder, instead of URL; links in it are not followed
	// Token returns the token for the registry. It is called for each request. Nil means no token.
	Token func(ctx context.Context) (string, error)
}

// key returns an identifier of the source that does not depend on its name.
func (s *Source) key() string {
	if s.Folder == "" {
		return "url " + strings.TrimRight(s.URL, "/")
	}
	folder, err := filepath.Abs(s.Folder)
	if err != nil { // the working folder no longer exists
		folder = s.Folder
	}
	return "folder " + folder
}

// MirrorOptions are the options of [OpenMirror].
type MirrorOptions struct {
	Sources []Source     // if several sources have a server, the first one defines it
	HTTP    *http.Client // nil means a new client with timeouts
	// OnPage is called with the number of versions that a sync has read from a source so far. It
	// may be nil.
	OnPage func(source string, read int)
}

// A Mirror is a copy of the lists of registries in a file. Several goroutines and processes can use
// it at the same time.
type Mirror struct {
	file    *sqlitefile.File
	options MirrorOptions
	ids     []int64 // row ids of options.Sources, in the same order
}

// maxSources is the largest number of sources of a mirror.
const maxSources = 100

// OpenMirror opens the mirror at path, and creates it if it is missing. It does not read the
// sources; [Mirror.Sync] does.
func OpenMirror(ctx context.Context, path string, o MirrorOptions) (*Mirror, error) {
	if len(o.Sources) == 0 || len(o.Sources) > maxSources {
		return nil, fmt.Errorf("expected 1 to %d registries, got %d", maxSources, len(o.Sources))
	}
	for i, s := range o.Sources {
		if (s.URL == "") == (s.Folder == "") {
			return nil, fmt.Errorf("registry %q: expected a URL or a folder", s.Name)
		}
		if slices.ContainsFunc(o.Sources[:i], func(other Source) bool { return other.Name == s.Name || other.key() == s.key() }) {
			return nil, fmt.Errorf("registry %q occurs twice; remove one, or rename it", s.Name)
		}
	}
	if o.HTTP == nil {
		o.HTTP = newHTTP()
	}
	file, err := sqlitefile.Open(ctx, path, sqlitefile.Schema{Kind: "mirror of registries", Mark: mark, Migrations: migrations})
	if err != nil {
		return nil, err
	}
	m := &Mirror{file: file, options: o}
	err = file.Change(ctx, "open", func(tx *sql.Tx) error {
		for _, s := range o.Sources {
			var id int64
			if _, err := tx.ExecContext(ctx, `INSERT INTO sources (key) VALUES (?) ON CONFLICT DO NOTHING`, s.key()); err != nil {
				return err
			}
			if err := tx.QueryRowContext(ctx, `SELECT id FROM sources WHERE key = ?`, s.key()).Scan(&id); err != nil {
				return err
			}
			m.ids = append(m.ids, id)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return m, nil
}

// Close closes the file.
func (m *Mirror) Close() error { return m.file.Close() }

// A SourceState is the state of a source in the mirror.
type SourceState struct {
	Source
	Servers int       // number of servers that are not deleted
	Tried   time.Time // start of the last sync; zero means never
	Synced  time.Time // start of the last successful sync; zero means never
	Unread  int       // number of unreadable entries in the last successful sync
	Fault   string    // error of the last sync; "" if it succeeded
}

// Sources returns the states of the sources, in order.
func (m *Mirror) Sources(ctx context.Context) ([]SourceState, error) {
	var states []SourceState
	err := m.file.Read(ctx, "read", func(tx *sql.Tx) error {
		for i, id := range m.ids {
			s := SourceState{Source: m.options.Sources[i]}
			var tried, synced int64
			if err := tx.QueryRowContext(ctx, `SELECT tried, synced, unread, fault, (SELECT count(*) FROM listed WHERE source = s.id) FROM sources s WHERE id = ?`, id).
				Scan(&tried, &synced, &s.Unread, &s.Fault, &s.Servers); err != nil {
				return err
			}
			s.Tried, s.Synced = timeOf(tried), timeOf(synced)
			states = append(states, s)
		}
		return nil
	})
	return states, err
}

func timeOf(nanoseconds int64) time.Time {
	if nanoseconds == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanoseconds)
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() || t.Year() < 1970 || t.Year() > 2200 { // outside of the range of Unix nanoseconds that the mirror stores
		return 0
	}
	return t.UnixNano()
}

// Lookup returns the newest version of a server that is not deleted, or the newest one if all are
// deleted. If several sources have the server, the first one counts. The error for an unknown name
// is [ErrNotFound].
func (m *Mirror) Lookup(ctx context.Context, name string) (Entry, error) {
	return m.lookup(ctx, name, "")
}

// LookupVersion returns one version of a server.
func (m *Mirror) LookupVersion(ctx context.Context, name, version string) (Entry, error) {
	return m.lookup(ctx, name, version)
}

func (m *Mirror) lookup(ctx context.Context, name, version string) (Entry, error) {
	var e Entry
	err := m.file.Read(ctx, "look up", func(tx *sql.Tx) error {
		var all, also [][]row
		var sources []string
		for i, id := range m.ids {
			rows, err := versionsOf(ctx, tx, id, name)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				continue
			}
			source := m.options.Sources[i].Name
			if current(rows).status == Deleted { // another source may have the server
				also, sources = append(also, rows), append(sources, source)
				continue
			}
			all = append(all, rows)
			sources = slices.Insert(sources, len(all)-1, source)
		}
		all = append(all, also...)
		if len(all) == 0 {
			return ErrNotFound
		}
		chosen := current(all[0])
		if version != "" {
			i := slices.IndexFunc(all[0], func(r row) bool { return r.version == version })
			if i < 0 {
				return ErrNotFound
			}
			chosen = &all[0][i]
		}
		var err error
		e, err = chosen.entry(ctx, tx)
		e.Source, e.Also = sources[0], sources[1:]
		e.IsLatest = chosen == current(all[0])
		for i := range all[0] {
			r := &all[0][i]
			e.Versions = append(e.Versions, Version{r.version, r.status, r == current(all[0]), timeOf(r.published)})
		}
		return err
	})
	if errors.Is(err, ErrNotFound) {
		what := "server " + name
		if version != "" {
			what += " " + version
		}
		err = fmt.Errorf("%s %w", what, ErrNotFound)
	}
	return e, err
}

// entry returns the entry of a row.
func (r *row) entry(ctx context.Context, tx *sql.Tx) (Entry, error) {
	var server, meta []byte
	if err := tx.QueryRowContext(ctx, `SELECT server, meta FROM versions WHERE id = ?`, r.id).Scan(&server, &meta); err != nil {
		return Entry{}, err
	}
	s, err := Parse(server)
	return Entry{Server: s, Status: r.status, StatusMessage: r.message, IsLatest: r.latest, Published: timeOf(r.published), Updated: timeOf(r.updated),
		Meta: json.RawMessage(meta)}, err
}

// maxNames is the largest number of names that [Mirror.Names] returns.
const maxNames = 100

// Names returns names of servers for completion in a shell. The name, or the part of it after the
// slash, begins with the given text.
func (m *Mirror) Names(ctx context.Context, beginning string) ([]string, error) {
	var all []string
	err := m.file.Read(ctx, "list names", func(tx *sql.Tx) (err error) {
		all, err = namesOf(ctx, tx, `SELECT DISTINCT name FROM listed WHERE source IN (`+m.sources()+`) AND
			(substr(name, 1, length(?1)) = ?1 OR substr(name, instr(name, '/') + 1, length(?1)) = ?1) ORDER BY name LIMIT ?2`, beginning, maxNames)
		return err
	})
	return all, err
}

// sources returns the ids of the sources as a list for an SQL statement. The ids are numbers, so
// they need no escaping.
func (m *Mirror) sources() string {
	var ids []string
	for _, id := range m.ids {
		ids = append(ids, fmt.Sprint(id))
	}
	return strings.Join(ids, ",")
}
