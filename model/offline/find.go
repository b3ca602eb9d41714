package offline

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/toolsearch"
)

// maxCandidates is how many tools are tried for one step.
const maxCandidates = 8

// find returns the best plan for a step, or nil if no tool fits. A tool fits
// whose name the step says, or that the search does not call a weak match.
func (o *offline) find(ctx context.Context, tools []model.Tool, step string) *plan {
	index := o.indexed(tools)
	results := index.Search(ctx, toolsearch.Query{Text: spokenWords(step), Limit: maxCandidates})
	scores := make(map[string]float64, len(results.Hits))
	for _, hit := range results.Hits {
		scores[hit.ID] = hit.Score
	}
	var best *plan
	var most float64
	for i := range tools {
		score, hit := scores[tools[i].Name]
		if !hit && !saysName(step, tools[i].Name) {
			continue
		}
		p := fill(step, &tools[i])
		if p.named < sure && (results.Weak || !hit) {
			continue
		}
		if score += merit(p); best == nil || score > most {
			best, most = p, score
		}
	}
	if best != nil {
		best.other = otherTool(best, tools)
	}
	return best
}

// otherTool finds a second tool in a step: one whose verb the step begins with, or
// has behind "and". To take the first and forget the second could be wrong, and
// worse the other way round: read a.txt and delete it.
func otherTool(p *plan, tools []model.Tool) string {
	names := toolWords(p.tool.Name)
	first, behindAnd := true, false
	for _, piece := range p.pieces {
		w := strings.ToLower(piece.text)
		if piece.kind != word || slices.Contains(leading, w) {
			behindAnd = w == "and"
			continue
		}
		asked := first || behindAnd
		first, behindAnd = false, false
		if !asked || piece.used || slices.ContainsFunc(names, func(name string) bool { return same(name, w) }) {
			continue
		}
		for i := range tools {
			if words := split(own(tools[i].Name)); len(words) > 0 && same(words[0], w) {
				return tools[i].Name
			}
		}
	}
	return ""
}

// merit is what speaks for a plan in addition to its tool's score.
func merit(p *plan) float64 {
	merit := p.named + min(0.4, 0.2*float64(p.typed))
	if p.ready() {
		merit += 0.3
	}
	return merit - 0.15*float64(min(p.unused, 4)) - 0.3*float64(len(p.unknown)) - 0.1*float64(len(p.missing))
}

// saysName reports whether a step has all words of a tool's name; it is cheap,
// as all tools are asked.
func saysName(step, name string) bool {
	words := split(step)
	for _, w := range toolWords(name) {
		if !slices.ContainsFunc(words, func(said string) bool { return same(w, said) }) {
			return false
		}
	}
	return true
}

// spokenWords are the words of a step that may be about the tool: no values.
func spokenWords(step string) string {
	var words []string
	for _, p := range pieces(step) {
		switch p.kind {
		case word:
			words = append(words, p.text)
		case pair:
			words = append(words, p.key)
		}
	}
	if len(words) == 0 {
		return step
	}
	return strings.Join(words, " ")
}

// indexed returns an index of the tools, and keeps it for the next request,
// which mostly has the same.
func (o *offline) indexed(tools []model.Tool) *toolsearch.Index {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.index != nil && slices.EqualFunc(o.tools, tools, sameTool) {
		return o.index
	}
	byServer := map[string][]toolsearch.Tool{}
	for _, t := range tools {
		server, name, found := strings.Cut(t.Name, "__")
		if !found {
			server, name = "", t.Name
		}
		byServer[server] = append(byServer[server], toolsearch.Tool{
			ID: t.Name, Server: server, Name: name, Description: t.Description, Schema: t.Schema,
		})
	}
	index := toolsearch.New(toolsearch.Options{})
	for server, tools := range byServer {
		index.SetServer(server, "", tools)
	}
	o.tools, o.index = slices.Clone(tools), index
	return index
}

func sameTool(a, b model.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Schema, b.Schema)
}
