package host

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/toolsearch"
)

// A tool is a tool of a server as the host knows it. It does not change.
type tool struct {
	*mcp.Tool
	server     *server
	ref        ToolRef // for people and rules: behind a gateway, the server there
	id         string  // unique among all tools: SERVER__TOOL
	sent       model.Tool
	tokens     int               // what its definition costs
	brief      func() model.Tool // what the model is sent where a search brought it
	fault      string            // why no provider takes it; empty if they do
	definition guard.Definition
	valid      func() *schema.Validator // of arguments; nil where the schema cannot be used
}

// tools makes tools of what a server listed. Of two with one name the first counts.
func (s *server) tools(listed []*mcp.Tool) []*tool {
	tools := make([]*tool, 0, len(listed))
	seen := make(map[string]bool, len(listed))
	for _, t := range listed {
		if t != nil && t.Name != "" && !seen[t.Name] {
			seen[t.Name] = true
			tools = append(tools, s.tool(t))
		}
	}
	return tools
}

func (s *server) tool(t *mcp.Tool) *tool {
	full := &tool{Tool: t, server: s, ref: ToolRef{Server: s.Name, Tool: t.Name}, id: s.Name + separator + t.Name}
	prefixed := full.id
	if s.Prefixed {
		prefixed = t.Name
		if behind, name, found := strings.Cut(t.Name, separator); found {
			full.ref = ToolRef{Server: behind, Tool: name}
		}
	}
	full.sent = model.Tool{Name: s.host.names.portable(prefixed), Description: describe(t), Schema: plain(t.InputSchema)}
	full.tokens = model.EstimateTokens(len(full.sent.Name) + len(full.sent.Description) + len(full.sent.Schema))
	full.brief = sync.OnceValue(func() model.Tool { return shortened(full.sent) })
	full.fault = faultOf(full.sent)
	full.definition = definitionOf(s.Name, t)
	full.valid = sync.OnceValue(func() *schema.Validator {
		v, err := schema.Compile(t.InputSchema)
		if err != nil {
			return nil // the server will say itself what it thinks of the arguments
		}
		return v
	})
	return full
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

func definitionOf(server string, t *mcp.Tool) guard.Definition {
	return guard.Definition{
		Kind: guard.Tool, Server: server, Name: t.Name, Title: t.Title, Description: t.Description,
		Schema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: encoded(t.Annotations), Icons: encoded(t.Icons),
	}
}

// encoded is v as JSON, or nil where there is nothing.
func encoded(v any) json.RawMessage {
	b, err := schema.Encode(nil, v)
	if err != nil || string(b) == "null" || string(b) == "[]" {
		return nil
	}
	return b
}

// annotations are what is said of the tool, in full.
func (t *tool) annotations() mcp.ToolAnnotations {
	if t.Annotations == nil {
		return mcp.ToolAnnotations{}
	}
	return *t.Annotations
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

// readsOnly reports whether the tool says that it changes nothing, so that calls
// of it can run beside each other.
func (t *tool) readsOnly() bool {
	hint := t.annotations().ReadOnlyHint
	return hint != nil && *hint
}

// index puts the server's tools where searches find them.
func (h *Host) index(s *server) {
	offer := s.current()
	entries := make([]toolsearch.Tool, len(offer.tools))
	for i, t := range offer.tools {
		entries[i] = toolsearch.Tool{ID: t.id, Server: t.ref.Server, Name: t.Name, Title: t.title(), Description: t.sent.Description, Schema: t.InputSchema}
	}
	h.search.SetServer(s.Name, offer.instructions, entries)
	select {
	case h.embed <- struct{}{}:
	default: // what is to be done will see this server's tools too
	}
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
	servers []ServerTools
	tokens  int
}

// catalogue tells what the model can be given now.
func (h *Host) catalogue() *catalogue {
	c := &catalogue{byName: map[string]*tool{}, byID: map[string]*tool{}}
	rules := h.currentRules()
	for _, s := range h.servers {
		c.servers = append(c.servers, c.add(h, s, rules))
	}
	return c
}

func (c *catalogue) add(h *Host, s *server, rules *policy.Policy) ServerTools {
	offer := s.current()
	state, err := s.state()
	told := ServerTools{Server: s.Name, State: state, Tools: len(offer.tools)}
	if err != nil {
		told.Error = err.Error()
	}
	unapproved := 0
	for _, t := range offer.tools {
		told.Tokens += t.tokens
		switch {
		case t.fault != "":
		case !h.approved(s, t.definition):
			unapproved++
		case rules.Hides(t.ref.Server, t.ref.Tool, claims(t.annotations())), c.byName[t.sent.Name] != nil:
		default:
			c.tools = append(c.tools, t)
			c.byName[t.sent.Name], c.byID[t.id] = t, t
			c.tokens += t.tokens
			told.Seen++
		}
	}
	if state == StateConnected && unapproved > 0 && told.Seen == 0 {
		told.State = StateUnapproved
	}
	return told
}

// Servers tells how it stands with every server, and how many of its tools the
// model can really be given.
func (h *Host) Servers() []ServerTools { return h.catalogue().servers }

// approved reports whether the model may see a definition.
func (h *Host) approved(s *server, d guard.Definition) bool {
	return s.Trusted || h.accepted(s) && h.pins.Check(d).State == guard.Same
}

// instructions are what the approved servers say about themselves.
func (h *Host) instructions() []string {
	var names, texts []string
	for _, s := range h.servers {
		text := s.current().instructions
		if text != "" && h.approved(s, instructionsOf(s, text)) {
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

// names makes the names that the model sees, and keeps them.
type names struct {
	mu sync.Mutex
	of *model.Names
}

func newNames() *names { return &names{of: model.NewNames()} }

// portable is the name that every provider takes; the same for the same name.
func (n *names) portable(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.of.Portable(name)
}

// ToolInfo is a tool as people list it.
type ToolInfo struct {
	ToolRef
	Title string `json:"title,omitempty"`
	// State says how the model can have it: ToolSent, ToolSearched, or why it cannot.
	State string `json:"state"`
}

// How the model can have a tool, or why it cannot.
const (
	ToolSent       = "sent"         // with every request
	ToolSearched   = "searched for" // when a search finds it
	ToolDenied     = "denied"       // by a rule, whatever the arguments
	ToolUnapproved = "not approved" // by the person
	ToolSetAside   = "set aside"    // as no provider takes its schema
	ToolHidden     = "hidden"       // behind another of the same name
)

// Tools tells which tools there are and how the model can have them.
func (h *Host) Tools() []ToolInfo {
	c := h.catalogue()
	rules := h.currentRules()
	deferred := h.deferred(c)
	var all []ToolInfo
	for _, s := range h.servers {
		for _, t := range s.current().tools {
			info := ToolInfo{ToolRef: t.ref, Title: t.title(), State: ToolSent}
			switch {
			case t.fault != "":
				info.State = ToolSetAside
			case !h.approved(s, t.definition):
				info.State = ToolUnapproved
			case rules.Hides(t.ref.Server, t.ref.Tool, claims(t.annotations())):
				info.State = ToolDenied
			case c.byName[t.sent.Name] != t:
				info.State = ToolHidden
			case deferred && !h.budget.always(s.Name):
				info.State = ToolSearched
			}
			all = append(all, info)
		}
	}
	return all
}
