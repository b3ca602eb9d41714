package host

import (
	"fmt"

	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/outcome"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// outcome makes what the model reads of a result: texts without what a person
// could not see, images as they are, and of long texts the first page.
func (r *run) outcome(t *tool, result *mcp.CallToolResult) outcome.Outcome {
	got := outcome.Of(result)
	got.Bytes += len(got.Whole)
	shown := r.paged(&got, got.Whole, t.ref)
	if shown == "" && len(got.Parts) == 0 {
		shown = "(no content)"
	}
	if shown != "" {
		got.Parts = append([]model.Part{{Text: shown}}, got.Parts...)
	}
	return got
}

// paged keeps a long text and returns its first page.
func (r *run) paged(got *outcome.Outcome, whole string, from ToolRef) string {
	most := r.page()
	if len(whole) <= most {
		return whole
	}
	r.c.shelving.Lock()
	defer r.c.shelving.Unlock()
	kept := Kept{URI: r.c.nextKept(), Server: from.Server, Tool: from.Tool, Text: excerpt.Clip(whole, maxKeptEach)}
	if err := r.c.add(Entry{Kept: &kept}); err != nil {
		return excerpt.Clip(whole, most) // the run ends with the next entry, for the same reason
	}
	got.Kept = kept.URI
	first, _ := excerpt.PageOf(kept.Text, 0, most, "")
	return first.Text + "\n" + first.Note(kept.URI)
}

// page is how many bytes the model is shown of a text: what comes together shares
// a third of the window, so that no turn can be larger than what there is.
func (r *run) page() int {
	return 4 * min(r.h.budget.Result, max(leastResult, r.h.budget.Window/3/max(1, r.sharing)))
}

func (c *Conversation) nextKept() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.name()
}

// What a keptResults may hold.
const (
	maxKept      = 200      // results
	maxKeptBytes = 32 << 20 // of all of them; the oldest go first
	maxKeptEach  = 4 << 20  // of one; the rest of it is cut off
	keptScheme   = "junction://result/"
)

// keptResults are results that are too long to be shown to the model whole.
type keptResults struct {
	all   []Kept
	bytes int
	next  int
}

// name is the URI of the next result.
func (s *keptResults) name() string { return fmt.Sprintf("%s%d", keptScheme, s.next+1) }

// put adds a result, and returns the URIs of those that had to go for it. One without its text had to go before.
func (s *keptResults) put(k Kept) (gone []string) {
	s.next++
	if k.Text == "" {
		return nil
	}
	s.all = append(s.all, k)
	s.bytes += k.size()
	for len(s.all) > maxKept || s.bytes > maxKeptBytes {
		gone = append(gone, s.all[0].URI)
		s.bytes -= s.all[0].size()
		s.all = s.all[1:]
	}
	return gone
}

func (s *keptResults) get(uri string) (Kept, bool) {
	for _, k := range s.all {
		if k.URI == uri {
			return k, true
		}
	}
	return Kept{}, false
}
