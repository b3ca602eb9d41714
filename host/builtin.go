package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/outcome"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/toolsearch"
)

// A builtin is a tool of the host itself.
type builtin struct {
	tool model.Tool
	run  func(ctx context.Context, r *run, call *model.Call) outcome.Outcome
}

const (
	searchName = "search_tools"
	readName   = "read_resource"

	maxQueries = 8 // of one search
)

// builtins are the tools of the host itself, in the order in which the model sees them.
func builtins() []*builtin {
	return []*builtin{
		{tool: model.Tool{
			Name:        searchName,
			Description: "Find tools among those of all servers and make them callable. One short query for each step of the task, in the words of what that step does, all in one call.",
			Schema:      json.RawMessage(`{"type":"object","properties":{"queries":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":8}},"required":["queries"]}`),
		}, run: searchTools},
		{tool: model.Tool{
			Name:        readName,
			Description: "Read a resource of a server, or the next page of a result that was too long (junction://result/…).",
			Schema:      json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"},"server":{"type":"string","description":"whose resource it is; not needed for junction://"},"offset":{"type":"integer","minimum":0,"description":"character to begin at"},"find":{"type":"string","description":"begin near the next place where this text stands"}},"required":["uri"]}`),
		}, run: readResource},
	}
}

func builtinNamed(name string) *builtin {
	for _, b := range builtins() {
		if b.tool.Name == name {
			return b
		}
	}
	return nil
}

// searchTools finds tools and registers them for the next requests.
func searchTools(ctx context.Context, r *run, call *model.Call) outcome.Outcome {
	in, err := argument[struct {
		Queries []string `json:"queries"`
	}](call.Arguments)
	if err != nil || len(in.Queries) == 0 {
		return outcome.Failed("queries is missing: a list of texts, one for each step")
	}
	if len(in.Queries) > maxQueries {
		return outcome.Failed("%d queries are more than %d; ask for some of them first", len(in.Queries), maxQueries)
	}
	queries := make([]toolsearch.Query, len(in.Queries))
	each := max(leastHits, mostHits+1-len(queries))
	for i, text := range in.Queries {
		queries[i] = toolsearch.Query{Text: text, Limit: each, Allow: func(id string) bool { return r.catalogue.byID[id] != nil }}
	}
	return r.register(in.Queries, r.h.search.SearchAll(ctx, queries))
}

// readResource reads a page of a long result or a resource.
func readResource(ctx context.Context, r *run, call *model.Call) outcome.Outcome {
	in, err := argument[struct {
		URI    string `json:"uri"`
		Server string `json:"server"`
		Offset int    `json:"offset"`
		Find   string `json:"find"`
	}](call.Arguments)
	if err != nil || in.URI == "" {
		return outcome.Failed("uri is missing")
	}
	if strings.HasPrefix(in.URI, keptScheme) {
		return r.readKept(in.URI, in.Offset, in.Find)
	}
	s, why := r.h.serverOf(in.Server, in.URI)
	if s == nil {
		return outcome.Failed("%s", why)
	}
	if r.catalogue.off[s.Name] {
		return outcome.Failed("server %q is switched off in this conversation; only the person can switch it on", s.Name)
	}
	if !r.catalogue.has(s) {
		return outcome.Failed("resources of server %q are not among what was chosen for this task", s.Name)
	}
	if !r.h.accepted(s) {
		return outcome.Failed("%s", s.notAccepted())
	}
	if refusal := s.unapprovedSkill(in.URI); refusal != "" {
		return outcome.Failed("%s", refusal)
	}
	ctx = hearing(ctx, r.noter(s, "resources/read", in.URI))
	if refusal := r.mayRead(ctx, call, s, in.URI); refusal != "" {
		return outcome.Failed("%s", refusal)
	}
	if r.c.isOff(s.Name) { // an answer takes its time
		return outcome.Failed("server %q was switched off; it was not read", s.Name)
	}
	if !r.h.accepted(s) {
		return outcome.Failed("%s", s.notAccepted())
	}
	ctx = withCall(ctx, &calling{run: r, id: call.ID, server: s})
	if s.skillOf(in.URI) != nil || skills.Declared(s.current().has) && strings.HasSuffix(in.URI, skillMain) {
		return r.readSkill(ctx, s, in.URI, in.Offset, in.Find)
	}
	contents, err := s.client.ReadResource(ctx, in.URI)
	if err != nil {
		return r.unread(ctx, s, in.URI, err)
	}
	return r.contents(ctx, s, in.URI, contents, in.Offset, in.Find)
}

// unread says why a resource cannot be read. An error's text is the server's text.
func (r *run) unread(ctx context.Context, s *server, uri string, err error) outcome.Outcome {
	text := excerpt.OfError(err)
	r.readText(ctx, s, uri, text, guard.InResult)
	return outcome.Failed("%s of server %q cannot be read: %s", uri, s.Name, text)
}

func (r *run) readKept(uri string, offset int, find string) outcome.Outcome {
	r.c.mu.Lock()
	kept, found := r.c.kept.get(uri)
	r.c.mu.Unlock()
	if !found {
		return outcome.Failed("there is no %s, or it is not kept any more", uri)
	}
	p, err := excerpt.PageOf(kept.Text, offset, r.page(), find)
	if err != nil {
		return outcome.Failed("%v", err)
	}
	got := outcome.Said("%s\n%s", p.Text, p.Note(uri))
	if p.From == 0 {
		for i := range kept.Pictures {
			got.Parts = append(got.Parts, model.Part{Media: &kept.Pictures[i]})
			got.Bytes += len(kept.Pictures[i].Data)
		}
	}
	return got
}

// contents is what the model gets of a resource.
func (r *run) contents(ctx context.Context, s *server, uri string, result *mcp.ReadResourceResult, offset int, find string) outcome.Outcome {
	blocks := make([]mcp.Content, len(result.Contents))
	for i := range result.Contents {
		blocks[i] = mcp.Content{Type: "resource", Resource: &result.Contents[i]}
	}
	got := outcome.Read(blocks...)
	whole := got.Whole
	got.Bytes += len(whole)
	r.readText(ctx, s, uri, whole, guard.InResource)
	if offset > 0 || find != "" {
		p, err := excerpt.PageOf(whole, offset, r.page(), find)
		if err != nil {
			return outcome.Failed("%v", err)
		}
		whole = p.Text + "\n" + p.Note(uri)
	} else {
		whole = r.paged(&got, whole, ToolRef{Server: s.Name, Tool: uri})
	}
	got.Parts = append([]model.Part{{Text: cmp.Or(whole, "(no content)")}}, got.Parts...)
	return got
}

// serverOf finds the server of a resource.
func (h *Host) serverOf(name, uri string) (s *server, why string) {
	var has []*server
	for _, s := range h.servers {
		if name == "" && h.accepted(s) && (slices.ContainsFunc(s.current().resources, func(r *mcp.Resource) bool { return r.URI == uri }) || s.skillOf(uri) != nil) || s.Name == name {
			has = append(has, s)
		}
	}
	switch {
	case len(has) == 1:
		return has[0], ""
	case len(has) > 1:
		return nil, fmt.Sprintf("several servers have %s; name the server", uri)
	case name != "":
		return nil, fmt.Sprintf("there is no server %q", name)
	}
	return nil, fmt.Sprintf("no server lists %s; name the server, if you know that it has it", uri)
}

// argument reads one argument of a tool of the host itself.
func argument[T any](arguments json.RawMessage) (T, error) {
	var in T
	err := schema.DecodeLoose(arguments, &in)
	return in, err
}
