package host

import (
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
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
	full.sent = model.Tool{Name: names.Portable(prefixed), Description: describe(t), Schema: plain(t.InputSchema)}
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

// describe is what the model reads of a tool: without what a person could not see.
func describe(t *mcp.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	return guard.Clean(text)
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

// readsOnly reports whether the tool is said to change nothing, so that calls
// of it can run at the same time.
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
			h.notice(Notice{Kind: NoticeTools, Text: "tools are found by their words only: " + readable(err.Error())})
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

// Servers tells how it stands with every server, and how many of its tools the
// model can really be given.
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
	most := min(level(texts, maxAllInstructions), maxInstructions)
	for i := range texts {
		texts[i] = "# " + names[i] + "\n" + clipped(texts[i], most)
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

// clipped is text, at most so many bytes of it, with a mark where it is cut.
func clipped(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " […]"
}

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

// asOf is what was made of the servers' offers, as of a number of changes. It may be
// used from many goroutines.
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
