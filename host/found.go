package host

import (
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/toolsearch"
)

const (
	mostHits    = 5     // of one query
	leastHits   = 3     // of each of many queries
	foundTokens = 1_100 // of what one search brings: definitions and answer
	foundEach   = 300   // of a definition; the texts of a longer one are cut
	aboutLength = 80    // bytes of a tool's description in the answer to a search
	maxFound    = 200   // tools that searches brought, at a time
)

// shortened is a definition as a search brings it: long texts are cut, what
// arguments are valid stays.
func shortened(t model.Tool) model.Tool {
	short := toolsearch.Rendered([]toolsearch.Tool{{Name: t.Name, Description: t.Description, Schema: t.Schema}}, foundEach)[0]
	t.Description, t.Schema = short.Description, short.Schema
	return t
}

// registered are the tools that searches brought, in their order. When they cost
// more than there is room for, the older half goes at once, so that the prefix of
// requests stays the same in between. A tool that went can be found again, and
// called even so.
func (r *run) registered() []*tool {
	room, most := r.roomForFound()
	var kept []*tool
	tokens, there := 0, map[*tool]bool{}
	for _, ref := range r.c.foundTools() {
		t := r.catalogue.find(ref)
		if t == nil || there[t] || r.h.budget.always(t.server.Name) {
			continue
		}
		cost := window.TokensOf([]model.Tool{t.brief()})
		if tokens+cost > room || len(kept) == most {
			for len(kept) > 0 && (tokens > room/2 || len(kept) > most/2) {
				tokens -= window.TokensOf([]model.Tool{kept[0].brief()})
				delete(there, kept[0])
				kept = kept[1:]
			}
		}
		kept, there[t] = append(kept, t), true
		tokens += cost
	}
	return kept
}

// roomForFound is how many tokens, and how many tools, searches may have brought.
func (r *run) roomForFound() (tokens, tools int) {
	tools = maxFound
	if most := r.h.options.Model.Info().MaxTools; most > 0 {
		tools = min(tools, most-len(builtins()))
		for _, t := range r.catalogue.tools {
			if r.h.budget.always(t.server.Name) {
				tools--
			}
		}
	}
	return max(r.h.budget.Tools, 2*foundTokens), max(tools, 1)
}

// A finding is the answer to a search while it is made.
type finding struct {
	tokens int
	most   int // tools that are not there yet: half of what there is room for, so that they do not drive each other out
	fresh  []ToolRef
	taken  map[*tool]bool
	lines  [][]string // by query
}

// register makes what a search found callable, the best hit of each query first,
// within a budget, and says what there is.
func (r *run) register(queries []string, results []toolsearch.Results) outcome {
	_, room := r.roomForFound()
	f := finding{most: max(room/2, 1), taken: map[*tool]bool{}, lines: make([][]string, len(queries))}
	there := map[*tool]bool{}
	for _, t := range r.given() {
		there[t] = true
	}
	for rank := range mostHits {
		for q := range results {
			if rank >= len(results[q].Hits) {
				continue
			}
			if t := r.catalogue.byID[results[q].Hits[rank].ID]; t != nil && f.add(t, q, rank, there[t]) {
				r.foundBy(t, queries[q])
			}
		}
	}
	if err := r.c.addFound(f.fresh); err != nil {
		return complained("%v", err)
	}
	return said("%s", f.text(queries, results))
}

// add adds a hit, if there is room for it; the best one of a query has room always.
func (f *finding) add(t *tool, query, rank int, known bool) bool {
	line := fmt.Sprintf("- %s: %s", t.sent.Name, clipped(firstLine(t.sent.Description), aboutLength))
	cost := model.EstimateTokens(len(line))
	if !known {
		cost += window.TokensOf([]model.Tool{t.brief()})
	}
	if f.taken[t] || rank > 0 && f.tokens+cost > foundTokens || !known && len(f.fresh) == f.most {
		return false
	}
	f.taken[t] = true
	f.tokens += cost
	f.lines[query] = append(f.lines[query], line)
	if !known {
		f.fresh = append(f.fresh, ToolRef{Server: t.server.Name, Tool: t.Name})
	}
	return true
}

func (f *finding) text(queries []string, results []toolsearch.Results) string {
	var text strings.Builder
	for q, query := range queries {
		fmt.Fprintf(&text, "%q:", clipped(query, 200))
		switch {
		case len(results[q].Hits) == 0:
			text.WriteString(" nothing was found; try other words.")
		case len(f.lines[q]) == 0:
			text.WriteString(" nothing more.")
		case results[q].Weak:
			text.WriteString(" no good match; the nearest:")
		}
		text.WriteString("\n")
		for _, line := range f.lines[q] {
			text.WriteString(line + "\n")
		}
	}
	if len(f.taken) > 0 {
		text.WriteString("These tools can be called now.")
	}
	return text.String()
}

// foundBy remembers which query brought the tool, until the tool is seen to do it.
// After text of strangers was read the query may be theirs.
func (r *run) foundBy(t *tool, query string) {
	if r.c.decider.Labels()&guard.Untrusted != 0 {
		return
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.queries[t.id] = query
}

// addFound records what searches brought.
func (c *Conversation) addFound(refs []ToolRef) error {
	if len(refs) == 0 {
		return nil
	}
	return c.add(Entry{Found: refs})
}
