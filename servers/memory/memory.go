package memory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/junction-mcp/junction/mcp"
	_ "modernc.org/sqlite" // registers the driver
)

// Limits of a graph.
const (
	maxName    = 500     // bytes of a name or a kind
	maxText    = 8 << 10 // bytes of an observation
	maxChanges = 1_000   // changes of one call
	maxFound   = 100     // entities in the result of one call
	maxBytes   = 200_000 // bytes of the texts of these entities
)

const schema = `
CREATE TABLE IF NOT EXISTS entities (name TEXT PRIMARY KEY, kind TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS observations (entity TEXT NOT NULL REFERENCES entities(name) ON DELETE CASCADE, text TEXT NOT NULL, PRIMARY KEY (entity, text)) STRICT;
CREATE TABLE IF NOT EXISTS relations (source TEXT NOT NULL REFERENCES entities(name) ON DELETE CASCADE, target TEXT NOT NULL REFERENCES entities(name) ON DELETE CASCADE,
	kind TEXT NOT NULL, PRIMARY KEY (source, target, kind)) STRICT;
CREATE INDEX IF NOT EXISTS relations_by_target ON relations(target);`

// A Memory is a server with its file. The caller must close it.
type Memory struct {
	*mcp.Server
	db *sql.DB
}

// An Entity is a remembered thing.
type Entity struct {
	Name         string   `json:"name"`
	EntityType   string   `json:"entityType"`
	Observations []string `json:"observations"`
}

// A Relation describes one entity's relation to another, in the active voice.
type Relation struct {
	From         string `json:"from"`
	To           string `json:"to"`
	RelationType string `json:"relationType"`
}

// A Graph is a part of the stored graph.
type Graph struct {
	Entities  []Entity   `json:"entities"`
	Relations []Relation `json:"relations"` // only relations between entities of this part
	// More is the number of further entities; search_nodes finds them.
	More int `json:"more,omitempty"`
}

// Observed holds an entity's observations.
type Observed struct {
	EntityName string   `json:"entityName"`
	Contents   []string `json:"contents"`
}

// Open returns the server for a file. It creates a missing file with access only for its owner.
// Several processes may share the file.
func Open(ctx context.Context, path string) (*Memory, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite creates its other files with the same mode
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	options := url.Values{"_txlock": {"immediate"}, "_pragma": {"busy_timeout(5000)", "journal_mode(wal)", "foreign_keys(on)", "trusted_schema(off)"}}
	location := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: options.Encode(), OmitHost: true}
	db, err := sql.Open("sqlite", location.String())
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("memory: %s: %w", path, err), db.Close())
	}
	m := &Memory{db: db, Server: mcp.NewServerWith("memory", "1.0.0", mcp.ServerOptions{
		Title: "Memory", Description: "A knowledge graph that outlives conversations.", NoLogging: true,
		Instructions: "Search before you answer from memory, and before you create an entity that may exist. Write one fact per observation.",
	})}
	m.addTools()
	return m, nil
}

// Close closes the file.
func (m *Memory) Close() error { return m.db.Close() }

func (m *Memory) addTools() {
	read := func(name, title, description string) mcp.Tool {
		return mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}}
	}
	change := func(name, title, description string, destructive bool) mcp.Tool {
		return mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: new(false), DestructiveHint: new(destructive), IdempotentHint: new(true), OpenWorldHint: new(false),
		}}
	}
	mcp.AddToolWith(m.Server, read("search_nodes", "Search the memory", "Find entities by words in their names, types and observations. All words must match."), m.search)
	mcp.AddToolWith(m.Server, read("open_nodes", "Look up entities", "Return entities by their names, with the relations between them."), m.open)
	mcp.AddToolWith(m.Server, read("read_graph", "Read the memory", "Return the entities that were created last. If there are many, search instead."), m.read)
	mcp.AddToolWith(m.Server, change("create_entities", "Remember things", "Create entities. An existing one keeps its type, and gets the new observations.", false), m.createEntities)
	mcp.AddToolWith(m.Server, change("create_relations", "Remember relations", "Create relations between existing entities.", false), m.createRelations)
	mcp.AddToolWith(m.Server, change("add_observations", "Remember facts", "Add observations to existing entities.", false), m.addObservations)
	mcp.AddToolWith(m.Server, change("delete_entities", "Forget things", "Delete entities with their observations and relations.", true), m.deleteEntities)
	mcp.AddToolWith(m.Server, change("delete_observations", "Forget facts", "Delete observations of entities.", true), m.deleteObservations)
	mcp.AddToolWith(m.Server, change("delete_relations", "Forget relations", "Delete relations.", true), m.deleteRelations)
}

// change runs f in a transaction.
func (m *Memory) change(ctx context.Context, n int, f func(*sql.Tx) error) error {
	if n == 0 || n > maxChanges {
		return fmt.Errorf("expected 1 to %d changes, got %d", maxChanges, n)
	}
	tx, err := m.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	defer tx.Rollback()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// named returns an error for an invalid name or kind.
func named(field, name string) error {
	if strings.TrimSpace(name) == "" || len(name) > maxName {
		return fmt.Errorf("%s: expected 1 to %d bytes, got %d", field, maxName, len(name))
	}
	return nil
}

// exists returns an error if an entity is missing.
func exists(ctx context.Context, tx *sql.Tx, name string) error {
	var one int
	err := tx.QueryRowContext(ctx, `SELECT 1 FROM entities WHERE name = ?`, name).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("there is no entity %q; create_entities creates one, search_nodes finds existing ones", name)
	}
	return err
}

// observe adds observations and returns those that are new.
func observe(ctx context.Context, tx *sql.Tx, entity string, texts []string) (added []string, err error) {
	added = []string{}
	for _, text := range texts {
		if strings.TrimSpace(text) == "" || len(text) > maxText {
			return nil, fmt.Errorf("an observation of %q: expected 1 to %d bytes, got %d", entity, maxText, len(text))
		}
		result, err := tx.ExecContext(ctx, `INSERT OR IGNORE INTO observations VALUES (?, ?)`, entity, text)
		if err != nil {
			return nil, err
		}
		if n, _ := result.RowsAffected(); n > 0 {
			added = append(added, text)
		}
	}
	return added, nil
}
