package registry

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	// maxServers is the largest number of versions that are read from a source, and maxSourceBytes
	// their largest size together.
	maxServers     = 500_000
	maxSourceBytes = 2 << 30
	// maxPages is the largest number of pages that a sync reads from a source. A hash of each page's cursor
	// is kept in memory.
	maxPages = 50_000
	// overlapTime is how far before the newest known change a sync begins, because simultaneous
	// changes may become visible later.
	overlapTime = 5 * time.Minute
	// wholeTime is the time between two complete reads of a source. A complete read finds entries
	// that the source removed without a trace.
	wholeTime = 7 * 24 * time.Hour
	// againPause is the pause after a failed sync of a source that the mirror already has.
	againPause = 5 * time.Minute
	// forgetTime is how long the mirror keeps a source that is no longer configured.
	forgetTime = 60 * 24 * time.Hour
	// syncTime is the time limit for one source in a sync. The pages read by then are kept.
	syncTime = 30 * time.Minute
	// maxFaultText is the largest size of a stored error in bytes.
	maxFaultText = 1_000
)

// Sync reads the changes of each source whose last sync is older than olderThan, and all folders.
// If it cannot read a source, the mirror keeps the source's data, and [SourceState].Fault has the
// reason. Sync returns only errors of the mirror itself or of ctx.
func (m *Mirror) Sync(ctx context.Context, olderThan time.Duration) error {
	for i := range m.options.Sources {
		s := &m.options.Sources[i]
		var synced, tried int64
		if err := m.file.DB.QueryRowContext(ctx, `SELECT synced, tried FROM sources WHERE id = ?`, m.ids[i]).Scan(&synced, &tried); err != nil {
			return m.file.Fail("sync", err)
		}
		if s.Folder == "" && synced != 0 && (time.Since(timeOf(synced)) < olderThan || time.Since(timeOf(tried)) < min(olderThan, againPause)) {
			continue
		}
		run := syncing{mirror: m, source: s, id: m.ids[i], began: time.Now()}
		limited, cancel := context.WithTimeout(ctx, syncTime)
		err := run.sync(limited)
		if err != nil && limited.Err() != nil {
			err = fmt.Errorf("%s was not read completely within %v, only %d versions: %w", s.Name, syncTime, run.got, err)
		}
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := run.end(ctx, err); err != nil {
			return err
		}
	}
	return m.file.Change(ctx, "forget old sources", func(tx *sql.Tx) error {
		old := `source IN (SELECT id FROM sources WHERE tried < ? AND id NOT IN (` + m.sources() + `))`
		before := time.Now().Add(-forgetTime).UnixNano()
		for _, statement := range []string{`DELETE FROM texts WHERE rowid IN (SELECT id FROM listed WHERE ` + old + `)`, `DELETE FROM sources WHERE tried < ? AND id NOT IN (` + m.sources() + `)`} {
			if _, err := tx.ExecContext(ctx, statement, before); err != nil {
				return err
			}
		}
		return nil
	})
}

// syncing is one sync of one source.
type syncing struct {
	mirror *Mirror
	source *Source
	id     int64
	began  time.Time

	whole  bool  // whether to read the complete list instead of only the changes
	had    int   // number of versions in the mirror before the sync
	got    int   // number of entries read so far
	bytes  int64 // bytes of these entries
	newest int64 // time of the newest change
	unread int
	fault  error // error of an unreadable entry
}

func (s *syncing) sync(ctx context.Context) error {
	var whole, newest int64
	if err := s.mirror.file.DB.QueryRowContext(ctx, `SELECT whole, newest, (SELECT count(*) FROM versions WHERE source = s.id) FROM sources s WHERE id = ?`, s.id).
		Scan(&whole, &newest, &s.had); err != nil {
		return err
	}
	s.newest = newest
	s.whole = s.source.Folder != "" || newest == 0 || s.began.Sub(timeOf(whole)) > wholeTime
	if s.source.Folder != "" {
		p, err := readFolder(ctx, s.source.Folder)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(p.Entries, pageSize) {
			if err := s.put(ctx, &Page{Entries: part}); err != nil {
				return err
			}
		}
		return s.put(ctx, &Page{Faults: p.Faults, Unread: p.Unread})
	}
	client, err := NewClient(s.source.URL, ClientOptions{HTTP: s.mirror.options.HTTP, Token: s.source.Token})
	if err != nil {
		return err
	}
	r := ListRequest{IncludeDeleted: true}
	if !s.whole {
		r.UpdatedSince = timeOf(newest).Add(-overlapTime)
	}
	pages := trail{}
	for {
		p, err := client.List(ctx, r)
		if err != nil {
			return err
		}
		if err := s.put(ctx, p); err != nil {
			return err
		}
		if p.Next == "" {
			return nil
		}
		if err := pages.follow(p); err != nil {
			return fmt.Errorf("registry %s %w: its list %w", client, ErrGarbage, err)
		}
		r.Cursor = p.Next
	}
}

// A trail is the set of hashes of the cursors so far. Hashes are used because cursors can be long.
type trail map[[sha256.Size]byte]bool

// follow returns an error if the pages after p would never end.
func (t trail) follow(p *Page) error {
	next := sha256.Sum256([]byte(p.Next))
	switch {
	case t[next] || len(p.Entries)+p.Unread == 0:
		return errors.New("repeats the same page")
	case len(t) == maxPages:
		return fmt.Errorf("has more than %d pages", maxPages)
	}
	t[next] = true
	return nil
}

// put stores a page.
func (s *syncing) put(ctx context.Context, p *Page) error {
	s.got += len(p.Entries) + p.Unread
	s.unread += p.Unread
	if on := s.mirror.options.OnPage; on != nil {
		on(s.source.Name, s.got)
	}
	if s.fault == nil && len(p.Faults) > 0 {
		s.fault = p.Faults[0]
	}
	for _, e := range p.Entries {
		s.bytes += int64(len(e.Server.Raw) + len(e.Meta))
		// A server that is published during the sync may be on a page that was already read. A time
		// in the future would hide all changes until then. So the start of the sync limits the
		// newest change.
		s.newest = max(s.newest, min(nanoseconds(e.Updated), s.began.UnixNano()))
	}
	if s.got > maxServers || s.bytes > maxSourceBytes {
		return fmt.Errorf("it lists more than %d versions of servers or %d MiB; name a smaller registry", maxServers, maxSourceBytes>>20)
	}
	return s.mirror.file.Change(ctx, "store", func(tx *sql.Tx) error {
		changed := map[string]bool{}
		for _, e := range p.Entries {
			is, err := put(ctx, tx, s.id, s.began.UnixNano(), e)
			if err != nil {
				return err
			}
			if is {
				changed[e.Server.Name] = true
			}
		}
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			if err := list(ctx, tx, s.id, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// end stores the result of the sync. After a complete sync, it removes versions that the source no
// longer lists.
func (s *syncing) end(ctx context.Context, fault error) error {
	if fault == nil && s.whole && s.source.Folder == "" && s.got < s.had/2 {
		fault = fmt.Errorf("registry %s lists %d versions of servers, and listed %d before: the local copy kept them; if the new list is right, remove the file %s", s.source.URL, s.got, s.had, s.mirror.file.Path())
	}
	if fault == nil && s.unread > 0 && s.unread == s.got {
		fault = fmt.Errorf("%s: none of %d entries can be read: %w", s.source.Name, s.unread, s.fault)
	}
	return s.mirror.file.Change(ctx, "end of a sync", func(tx *sql.Tx) error {
		if fault != nil {
			_, err := tx.ExecContext(ctx, `UPDATE sources SET tried = ?, fault = ? WHERE id = ?`, s.began.UnixNano(), plaintext.Line(fault.Error(), maxFaultText), s.id)
			return err
		}
		whole := int64(0)
		if s.whole {
			whole = s.began.UnixNano()
			gone, err := namesOf(ctx, tx, `SELECT DISTINCT name FROM versions WHERE source = ? AND seen < ?`, s.id, whole)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `DELETE FROM versions WHERE source = ? AND seen < ?`, s.id, whole); err != nil {
				return err
			}
			for _, name := range gone {
				if err := list(ctx, tx, s.id, name); err != nil {
					return err
				}
			}
		}
		_, err := tx.ExecContext(ctx, `UPDATE sources SET tried = ?1, synced = max(synced, ?1), whole = max(whole, ?2), newest = max(newest, ?3), unread = ?4, fault = '' WHERE id = ?5`,
			s.began.UnixNano(), whole, s.newest, s.unread, s.id)
		return err
	})
}
