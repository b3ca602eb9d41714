package host

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/outcome"
	"github.com/junction-mcp/junction/host/internal/sampling"
	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/toolsearch"
)

// separator stands between server and tool in the name that the model sees.
const separator = "__"

// A tool is a tool of a server as the host knows it. It does not change.
type tool struct {
	*mcp.Tool
	server     *server
	ref        ToolRef // for people and rules: behind a gateway, the server there
	member     bool    // it is behind a gateway
	id         string  // unique among all tools: SERVER__TOOL
	sent       model.Tool
	tokens     int               // what its definition costs
	brief      func() model.Tool // what the model is sent where a search brought it
	fault      string            // why no provider takes it; empty if they do
	definition guard.Definition
	link       apps.Link                // what it says of a view
	valid      func() *schema.Validator // of arguments; nil where the schema cannot be used
}

func (s *server) tool(t *mcp.Tool, names *model.Names) *tool {
	full := &tool{Tool: t, server: s, ref: ToolRef{Server: s.Name, Tool: t.Name}, id: s.Name + separator + t.Name}
	prefixed := full.id
	if s.Prefixed {
		prefixed = t.Name
		behind, name, found := strings.Cut(t.Name, separator)
		if full.member = found && !Reserved(behind); full.member {
			full.ref = ToolRef{Server: behind, Tool: name}
		}
	}
	full.sent = model.Tool{Name: names.Portable(prefixed), Description: sampling.Describe(t), Schema: excerpt.CleanJSON(t.InputSchema)}
	full.tokens = model.EstimateTokens(len(full.sent.Name) + len(full.sent.Description) + len(full.sent.Schema))
	full.brief = sync.OnceValue(func() model.Tool { return shortened(full.sent) })
	full.fault = faultOf(full.sent)
	full.definition, full.link = review.Tool(s.Name, t), apps.Of(t.Meta)
	full.definition.Origin = full.origin()
	full.valid = sync.OnceValue(func() *schema.Validator {
		v, err := schema.Compile(t.InputSchema)
		if err != nil {
			return nil // the server will say itself what it thinks of the arguments
		}
		return v
	})
	return full
}

// origin tells the tool's server from others of its name.
func (t *tool) origin() string {
	if t.member {
		return t.server.memberOrigin()
	}
	return t.server.origin()
}

// source is where the text of its results comes from.
func (t *tool) source() guard.Source {
	return guard.Source{Server: t.ref.Server, Origin: t.origin(), Tool: t.ref.Tool}
}

// faultOf says why no provider takes a tool: one such tool would spoil the request.
func faultOf(t model.Tool) string {
	err := model.Check(&model.Request{Messages: []model.Message{model.UserText("-")}, Tools: []model.Tool{t}})
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), model.ErrInvalid.Error()+": ")
}

// annotations are what is said of the tool, in full.
func (t *tool) annotations() mcp.ToolAnnotations {
	if t.Annotations == nil {
		return mcp.ToolAnnotations{}
	}
	return *t.Annotations
}

// claimed are the annotations that count: where the server does not say whether the tool only
// reads, what the person said of this definition.
func (t *tool) claimed() mcp.ToolAnnotations {
	a := t.annotations()
	if t.heldToRead() {
		a.ReadOnlyHint = new(true)
	}
	return a
}

// heldToRead reports whether the person, and not the server, says that the tool only reads.
func (t *tool) heldToRead() bool {
	return t.annotations().ReadOnlyHint == nil && t.server.host.pins.Reads(t.definition, t.origin())
}

func (t *tool) title() string {
	if t.Title == "" && t.Annotations != nil {
		return t.Annotations.Title
	}
	return t.Title
}

// claims are the tool's annotations in the words of the policy.
func claims(a mcp.ToolAnnotations) policy.Annotations {
	return policy.Annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint, Idempotent: a.IdempotentHint, OpenWorld: a.OpenWorldHint}
}

// readsOnly reports whether the tool is said to change nothing, so that calls of it can run at the same time.
func (t *tool) readsOnly() bool {
	hint := t.claimed().ReadOnlyHint
	return hint != nil && *hint
}

// keepEmbedded computes the vectors of tools that are new, where tools are found by
// their meaning too. Until they are there, tools are found by their words.
func (h *Host) keepEmbedded() {
	for {
		select {
		case <-h.embed:
		case <-h.ctx.Done():
			return
		}
		if err := h.search.Embed(h.ctx); err != nil && h.ctx.Err() == nil {
			h.notice(Notice{Kind: NoticeTools, Text: "tools are found by their words only: " + excerpt.Clean(err.Error())})
		}
	}
}

// A catalogue is what the model can be given, at one moment: the tools that are
// approved and not denied, in a stable order.
type catalogue struct {
	tools   []*tool
	byName  map[string]*tool
	byID    map[string]*tool
	tokens  int
	of      map[*server]int             // of which there are so many tools, where they were chosen; nil: all
	off     map[string]bool             // servers that are switched off
	all     []listed                    // with what the model cannot have
	skills  map[*server][]*skills.Skill // that are approved
	servers []ServerTools               // but for how it stands with their connections
}

// listed is a tool that a server has, and whether the model can have it.
type listed struct {
	*tool
	state string // see ToolInfo
}

// catalogue tells what the model can be given now.
func (h *Host) catalogue() *catalogue { return h.offered.get(h.changes.Load(), h.survey) }

// survey looks at all that there is: which tools are approved takes a hash of each.
func (h *Host) survey() *catalogue {
	c := &catalogue{byName: map[string]*tool{}, byID: map[string]*tool{}, skills: map[*server][]*skills.Skill{}}
	rules := h.currentRules()
	for _, s := range h.servers {
		c.servers = append(c.servers, c.add(s, rules))
		c.skills[s] = h.approvedSkills(s)
	}
	return c
}

func (c *catalogue) add(s *server, rules *policy.Policy) ServerTools {
	tools, accepted := s.current().tools, s.host.accepted(s)
	counted := ServerTools{Server: s.Name, Tools: len(tools)}
	for _, t := range tools {
		state := ToolSent
		switch {
		case !t.link.For(apps.Model):
			state = ToolForViews
		case t.fault != "":
			state = ToolSetAside
		case !accepted || !s.pinned(t.definition):
			state = ToolUnapproved
		case rules.Hides(t.ref.Server, t.ref.Tool, claims(t.claimed())):
			state = ToolDenied
		case c.byName[t.sent.Name] != nil:
			state = ToolHidden
		default:
			c.tools = append(c.tools, t)
			c.byName[t.sent.Name], c.byID[t.id] = t, t
			c.tokens += t.tokens
			counted.Seen++
		}
		if state == ToolUnapproved {
			counted.State = StateUnapproved
		}
		counted.Tokens += t.tokens
		c.all = append(c.all, listed{t, state})
	}
	return counted
}

// standings tell how it stands with the servers of a catalogue now.
func (h *Host) standings(c *catalogue) []ServerTools {
	all := make([]ServerTools, len(h.servers))
	for i, s := range h.servers {
		all[i] = c.servers[i]
		state, err := s.state()
		if err != nil {
			all[i].Error, all[i].Remedy = s.why(err), remedy(err)
		}
		if state != StateConnected || all[i].State == "" || all[i].Seen > 0 {
			all[i].State = state
		}
		all[i].Off, all[i].Trusted = c.off[s.Name], s.trusted()
	}
	return all
}

// Servers tells how it stands with every server, and how many of its tools the model can really be given.
func (h *Host) Servers() []ServerTools { return h.standings(h.catalogue()) }

// approved reports whether the model may see a definition.
func (h *Host) approved(s *server, d guard.Definition) bool { return h.accepted(s) && s.pinned(d) }

// instructions are what the approved servers of a catalogue say about themselves.
func (h *Host) instructions(c *catalogue) []string {
	var names, texts []string
	for _, s := range h.servers {
		text := s.current().instructions
		if text != "" && c.has(s) && h.approved(s, instructionsOf(s, text)) {
			names, texts = append(names, s.Name), append(texts, guard.Clean(text))
		}
	}
	most := min(excerpt.Level(texts, maxAllInstructions), maxInstructions)
	for i := range texts {
		texts[i] = "# " + names[i] + "\n" + excerpt.Clip(texts[i], most)
	}
	return texts
}

func instructionsOf(s *server, text string) guard.Definition {
	return guard.Definition{Kind: guard.Instructions, Server: s.Name, Text: text}
}

// How much of what servers say about themselves the model reads, in bytes.
const (
	maxInstructions    = 4 << 10  // of one server
	maxAllInstructions = 16 << 10 // of all of them; the longest are cut first
)

// always reports whether the tools of a server are never left to search.
func (b Budget) always(server string) bool { return slices.Contains(b.Always, server) }

// ToolInfo is a tool as people list it.
type ToolInfo struct {
	ToolRef
	Title string `json:"title,omitempty"`
	// State says how the model can have it: ToolSent, ToolSearched, or why it cannot.
	State string `json:"state"`
	// ReadOnly is whether it says, or the person does, that it changes nothing. Whether it is believed, and may
	// run, is decided at each call.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Via is the server that it is reached through, where that is a gateway; see [Server].Prefixed.
	Via string `json:"via,omitempty"`
	// View is the URI of the document that hosts with views show its results in, if it has one.
	View string `json:"view,omitempty"`
	// Sent is the tool as a model gets it.
	Sent *model.Tool `json:"-"`
}

func (t *tool) info(state string) ToolInfo {
	info := ToolInfo{ToolRef: t.ref, Title: t.title(), State: state, ReadOnly: t.readsOnly(), View: t.link.URI, Sent: &t.sent}
	if t.server.Name != t.ref.Server {
		info.Via = t.server.Name
	}
	return info
}

// How the model can have a tool, or why it cannot.
const (
	ToolSent       = "sent"           // with every request
	ToolSearched   = "searched for"   // when a search finds it
	ToolDenied     = "denied"         // by a rule, whatever the arguments
	ToolUnapproved = "not approved"   // by the person
	ToolSetAside   = "set aside"      // as no provider takes its schema
	ToolHidden     = "hidden"         // behind another of the same name
	ToolForViews   = "for views only" // as it says itself: a view calls it, and no model
	ToolOff        = "off"            // as the person switched its server off in the conversation
)

// Tools tells which tools there are and how the model can have them.
func (h *Host) Tools() []ToolInfo { return h.toolsOf(h.catalogue()) }

func (h *Host) toolsOf(c *catalogue) []ToolInfo {
	deferred := h.deferred(c)
	all := make([]ToolInfo, len(c.all))
	for i, t := range c.all {
		all[i] = t.info(t.state)
		switch {
		case c.off[t.server.Name]:
			all[i].State = ToolOff
		case t.state == ToolSent && deferred && !h.budget.always(t.server.Name):
			all[i].State = ToolSearched
		}
	}
	return all
}

// asOf is what was made of the servers' offers, as of a number of changes. It may be used from many goroutines.
type asOf[T any] struct {
	mu   sync.Mutex
	made *T
	at   uint64
}

// get returns what was made as of so many changes, and makes it where it was not.
func (a *asOf[T]) get(now uint64, make func() *T) *T {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made == nil || a.at != now {
		a.made, a.at = make(), now
	}
	return a.made
}

// forget has it made again.
func (a *asOf[T]) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made = nil
}

const (
	mostHits    = 5     // of one query
	leastHits   = 3     // of each of many queries
	foundTokens = 1_100 // of what one search brings: definitions and answer
	foundEach   = 300   // of a definition; the texts of a longer one are cut
	aboutLength = 80    // bytes of a tool's description in the answer to a search
	maxFound    = 200   // tools that searches brought, at a time
)

// shortened is a definition as a search brings it: long texts are cut, what arguments are valid stays.
func shortened(t model.Tool) model.Tool {
	short := toolsearch.Rendered([]toolsearch.Tool{{Name: t.Name, Description: t.Description, Schema: t.Schema}}, foundEach)[0]
	t.Description, t.Schema = short.Description, short.Schema
	return t
}

// registered are the tools that searches brought, in their order. When they cost more than there is room for, the older
// half goes at once, so that the prefix of requests stays the same in between. A tool that went can be found again, and
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
func (r *run) register(queries []string, results []toolsearch.Results) outcome.Outcome {
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
		return outcome.Failed("%v", err)
	}
	return outcome.Said("%s", f.text(queries, results))
}

// add adds a hit, if there is room for it; the best one of a query has room always.
func (f *finding) add(t *tool, query, rank int, known bool) bool {
	about, _, _ := strings.Cut(strings.TrimSpace(t.sent.Description), "\n")
	line := fmt.Sprintf("- %s: %s", t.sent.Name, excerpt.Clip(about, aboutLength))
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
		fmt.Fprintf(&text, "%q:", excerpt.Clip(query, 200))
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

// Limits of what is read of one server's views, each time that its lists are read.
const (
	maxViews     = 32
	maxViewBytes = 16 << 20
	viewTime     = 5 * time.Second // for all of them
)

// A view is a document that a tool's results can be shown in (MCP Apps), as the person is asked about it.
type view struct {
	definition guard.Definition
	findings   []guard.Finding // in its text, where it is new or changed
}

// readViews reads the views of tools, so that a change of one is a change of a definition. Those of a server that is
// trusted, which nobody is asked about, are not read. One that cannot be read is not approved, and looked at the next time.
func (s *server) readViews(ctx context.Context, tools []*tool) []*view {
	if s.trusted() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, viewTime)
	defer cancel()
	var all []*view
	var seen []string
	size := 0
	for _, t := range tools {
		uri := t.link.URI
		if uri == "" || slices.Contains(seen, uri) || len(seen) == maxViews {
			continue
		}
		seen = append(seen, uri)
		document, err := apps.Read(ctx, s.client, uri)
		if err != nil {
			s.host.log.Debug("a view cannot be read", "server", s.Name, "tool", t.Name, "error", err)
			continue
		}
		if size += len(document.HTML); size > maxViewBytes {
			s.host.log.Debug("views are not read", "server", s.Name, "tool", t.Name, "error", fmt.Sprintf("they have more than %d MiB", maxViewBytes>>20))
			break
		}
		all = append(all, s.view(uri, document))
	}
	return all
}

func (s *server) view(uri string, document *apps.View) *view {
	encoded, _ := schema.Encode(nil, document) // without the HTML, which is texts, it always encodes
	v := &view{definition: guard.Definition{
		Kind: guard.View, Server: s.Name, Name: uri, Schema: encoded,
		Text: fmt.Sprintf("%d bytes of HTML, sha256:%x", len(document.HTML), sha256.Sum256([]byte(document.HTML))),
	}}
	if !s.pinned(v.definition) {
		v.findings = s.host.texts().Scan(document.HTML, guard.Where{Part: guard.InResource, Server: s.Name, Field: "html"})
	}
	return v
}

// viewFindings are what is suspicious about the text of a view.
func (s *server) viewFindings(uri string) []guard.Finding {
	for _, v := range s.current().views {
		if v.definition.Name == uri {
			return v.findings
		}
	}
	return nil
}
