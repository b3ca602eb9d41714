package sql

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

const (
	maxKept  = 32 << 20         // bytes of all results that can be read
	keepTime = 15 * time.Minute // how long a result can be read
)

// A store keeps results for a time, the newest of them.
type store struct {
	uri    string // what the URIs of results begin with; what follows cannot be guessed
	mu     sync.Mutex
	kept   []*kept // the oldest first
	size   int
	closed bool
}

type kept struct {
	uri  string
	text string
	ends *time.Timer
}

// keep keeps a result and returns its URI.
func (s *store) keep(text string) string {
	k := &kept{uri: s.uri + rand.Text() + ".csv", text: text}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return k.uri
	}
	k.ends = time.AfterFunc(keepTime, func() { s.drop(k) })
	s.kept, s.size = append(s.kept, k), s.size+len(text)
	for s.size > maxKept {
		s.dropLocked(s.kept[0])
	}
	return k.uri
}

func (s *store) drop(k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(k)
}

func (s *store) dropLocked(k *kept) {
	if i := slices.Index(s.kept, k); i >= 0 {
		s.kept, s.size = slices.Delete(s.kept, i, i+1), s.size-len(k.text)
		k.ends.Stop()
	}
}

// find returns a result that is kept.
func (s *store) find(uri string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range s.kept {
		if k.uri == uri {
			return k.text, true
		}
	}
	return "", false
}

func (s *store) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for len(s.kept) > 0 {
		s.dropLocked(s.kept[0])
	}
}

// readResult is for resources/read.
func (d *Database) readResult(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
	text, ok := d.results.find(uri)
	if !ok {
		return nil, mcp.ErrResourceNotFound
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "text/csv; charset=utf-8", text)}}, nil
}

// finish makes the answer of what was collected. keep has the result kept as CSV even where nothing was cut.
func (d *Database) finish(c *collector, keep bool) *Result {
	r := &c.result
	if !keep && !c.full && !c.shortens {
		return r
	}
	r.size = c.csv.Len()
	r.CSV = d.results.keep(c.csv.String())
	switch {
	case c.csvFull:
		r.Notice = fmt.Sprintf("The first %d rows are here, and the first %d in the resource %s; there are more than fit. Ask for fewer.", len(r.Rows), c.csvRows, r.CSV)
	case c.full:
		r.Notice = fmt.Sprintf("The first %d of %d rows are here; the resource %s has all of them as CSV for %d minutes.", len(r.Rows), c.all, r.CSV, int(keepTime.Minutes()))
	case keep:
		r.Notice = fmt.Sprintf("All %d rows are here, and in the resource %s as CSV for %d minutes.", c.all, r.CSV, int(keepTime.Minutes()))
	}
	if c.shortens {
		r.Notice += fmt.Sprintf(" Values longer than %d bytes are cut here, where they end with …; the resource %s has them whole.", maxCell, r.CSV)
	}
	return r
}

// Content is what a model reads: the result as a table, and a link to the whole of it.
func (r *Result) Content() []mcp.Content {
	all := []mcp.Content{mcp.Text(r.table())}
	if r.CSV != "" {
		size := int64(r.size)
		all = append(all, mcp.Link(mcp.Resource{URI: r.CSV, Name: "result.csv", MIMEType: "text/csv", Size: &size}))
	}
	return all
}

var errNoDSN = errors.New("sql: there is no DSN")
