package registry

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
)

// A row is a row of the table versions: one version of a server.
type row struct {
	id                 int64
	version            string
	status             Status
	message            string
	latest             bool
	published, updated int64
}

// each runs a query and calls do for each row of the result.
func each(ctx context.Context, tx *sql.Tx, do func(scan func(...any) error) error, statement string, arguments ...any) error {
	rows, err := tx.QueryContext(ctx, statement, arguments...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// namesOf runs a query and returns the strings in its rows.
func namesOf(ctx context.Context, tx *sql.Tx, statement string, arguments ...any) (all []string, err error) {
	err = each(ctx, tx, func(scan func(...any) error) error {
		var name string
		if err := scan(&name); err != nil {
			return err
		}
		all = append(all, name)
		return nil
	}, statement, arguments...)
	return all, err
}

// versionsOf returns all versions of a server in a source, newest first.
func versionsOf(ctx context.Context, tx *sql.Tx, source int64, name string) ([]row, error) {
	var rows []row
	err := each(ctx, tx, func(scan func(...any) error) error {
		var r row
		if err := scan(&r.id, &r.version, &r.status, &r.message, &r.latest, &r.published, &r.updated); err != nil {
			return err
		}
		rows = append(rows, r)
		return nil
	}, `SELECT id, version, status, message, latest, published, updated FROM versions WHERE source = ? AND name = ?`, source, name)
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(-compareVersions(a.version, b.version), -cmp.Compare(a.published, b.published))
	})
	return rows, err
}

// current returns the current version: the latest one according to the registry, or else the newest
// one that is not deleted. A registry removes the mark of the latest version only when it marks
// another one. If the latest version is deleted, it may mark none.
func current(rows []row) *row {
	var best *row
	for i := range rows {
		r := &rows[i]
		switch {
		case best == nil, best.status == Deleted && r.status != Deleted:
			best = r
		case r.status != Deleted && r.latest && !best.latest:
			best = r
		}
	}
	return best
}

// put adds or changes a version of a server. seen is the start of the sync. changed reports whether
// the search data of the server must be updated.
func put(ctx context.Context, tx *sql.Tx, source, seen int64, e *Entry) (changed bool, err error) {
	s := e.Server
	var id int64
	var was row
	var server, meta []byte
	err = tx.QueryRowContext(ctx, `SELECT id, status, message, latest, published, updated, server, meta FROM versions WHERE source = ? AND name = ? AND version = ?`, source, s.Name, s.Version).
		Scan(&id, &was.status, &was.message, &was.latest, &was.published, &was.updated, &server, &meta)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	is := row{0, "", e.Status, e.StatusMessage, e.IsLatest, nanoseconds(e.Published), nanoseconds(e.Updated)}
	if err == nil && was == is && bytes.Equal(server, s.Raw) && bytes.Equal(meta, e.Meta) {
		_, err = tx.ExecContext(ctx, `UPDATE versions SET seen = max(seen, ?) WHERE id = ?`, seen, id)
		return false, err
	}
	if e.IsLatest {
		if _, err := tx.ExecContext(ctx, `UPDATE versions SET latest = 0 WHERE source = ? AND name = ? AND latest`, source, s.Name); err != nil {
			return false, err
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO versions (source, name, version, status, message, latest, published, updated, seen, server, meta)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (source, name, version) DO UPDATE SET status = excluded.status, message = excluded.message,
		latest = excluded.latest, published = excluded.published, updated = excluded.updated, seen = max(seen, excluded.seen), server = excluded.server, meta = excluded.meta`,
		source, s.Name, s.Version, is.status, is.message, is.latest, is.published, is.updated, seen, []byte(s.Raw), []byte(e.Meta))
	return true, err
}

// list rebuilds the search data of a server after its versions have changed.
func list(ctx context.Context, tx *sql.Tx, source int64, name string) error {
	var id int64
	err := tx.QueryRowContext(ctx, `SELECT id FROM listed WHERE source = ? AND name = ?`, source, name).Scan(&id)
	switch {
	case errors.Is(err, sql.ErrNoRows):
	case err != nil:
		return err
	default:
		for _, statement := range []string{`DELETE FROM texts WHERE rowid = ?`, `DELETE FROM listed WHERE id = ?`} { // the second also deletes the rows of its packages
			if _, err := tx.ExecContext(ctx, statement, id); err != nil {
				return err
			}
		}
	}
	rows, err := versionsOf(ctx, tx, source, name)
	if err != nil || len(rows) == 0 {
		return err
	}
	is := current(rows)
	if is.status == Deleted {
		return nil
	}
	var raw []byte
	if err := tx.QueryRowContext(ctx, `SELECT server FROM versions WHERE id = ?`, is.id).Scan(&raw); err != nil {
		return err
	}
	s, err := Parse(raw)
	if err != nil {
		return err
	}
	first := is.published
	for _, r := range rows {
		if r.published != 0 && r.published < first {
			first = r.published
		}
	}
	added, err := tx.ExecContext(ctx, `INSERT INTO listed (source, name, version, versions, first, care) VALUES (?, ?, ?, ?, ?, ?)`,
		source, name, is.id, len(rows), first, care(s, len(rows)))
	if err != nil {
		return err
	}
	if id, err = added.LastInsertId(); err != nil {
		return err
	}
	for _, p := range s.Packages {
		if _, err := tx.ExecContext(ctx, `INSERT INTO packages VALUES (?, ?)`, id, p.Identifier); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO texts (rowid, name, title, description, rest) VALUES (?, ?, ?, ?, ?)`,
		id, padded(s.Name), padded(s.Title), padded(s.Description), padded(strings.Join(s.words(), " ")))
	return err
}

// padded returns a folded text with a space at each end, so that a search for a word between spaces
// finds whole words.
func padded(text string) string { return " " + fold(text) + " " }

// words returns the search words of a server that are not in its name, title or description.
func (s *Server) words() []string {
	var words []string
	for _, p := range s.Packages {
		words = append(words, p.RegistryType, p.Identifier)
		for _, v := range p.EnvironmentVariables {
			words = append(words, v.Name)
		}
	}
	for _, r := range s.Remotes {
		words = append(words, "remote", r.URL)
	}
	if s.Repository != nil {
		words = append(words, s.Repository.URL)
	}
	return append(words, s.WebsiteURL)
}

// care returns the number of signs that a server is maintained.
func care(s *Server, versions int) int {
	n := 0
	for _, sign := range []bool{
		s.Repository != nil && s.Repository.URL != "",
		len(s.Description) >= 20,
		s.Title != "" || s.WebsiteURL != "",
		versions > 1,
		versions > 4,
		len(s.Packages) > 0 && !slices.ContainsFunc(s.Packages, func(p Package) bool { return p.FileSHA256 == "" }),
		slices.ContainsFunc(s.Packages, func(p Package) bool { return p.Version != "" }),
	} {
		if sign {
			n++
		}
	}
	return n
}
