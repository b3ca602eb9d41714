package sql

import (
	"bytes"
	"fmt"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

const (
	maxKept  = 32 << 20         // total bytes of stored results
	keepTime = 15 * time.Minute // lifetime of a stored result
)

// finish returns the result of the collected rows. It stores the rows as CSV if some were cut or
// keep is set.
func (d *Database) finish(c *collector, keep bool) *Result {
	r := &c.result
	if !keep && !c.full && !c.shortens {
		return r
	}
	r.size = c.csv.Len()
	r.CSV = d.results.Put(".csv", "text/csv; charset=utf-8", true, bytes.Clone(c.csv.Bytes()))
	switch {
	case c.csvFull:
		r.Notice = fmt.Sprintf("The first %d rows are here, and the first %d in the resource %s. The result has more; ask for fewer rows.", len(r.Rows), c.csvRows, r.CSV)
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

// Content returns the result as content for models: a table, and a link to the whole result.
func (r *Result) Content() []mcp.Content {
	all := []mcp.Content{mcp.Text(r.table())}
	if r.CSV != "" {
		size := int64(r.size)
		all = append(all, mcp.Link(mcp.Resource{URI: r.CSV, Name: "result.csv", MIMEType: "text/csv", Size: &size}))
	}
	return all
}
