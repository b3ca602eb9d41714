package review

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// A Mode says what is withheld.
type Mode string

const (
	// Changes withholds what changed since it was approved, and what a server adds that the scanner of
	// [github.com/junction-mcp/junction/guard] warns of. What else is seen for the first time is approved by that.
	Changes Mode = "changes"
	// All withholds what was never approved, too.
	All Mode = "all"
)

// Options say whose definitions are compared, and with what.
type Options struct {
	// Server is the name under which definitions were approved; it is required.
	Server string
	// Pins returns the approved definitions. It is called for each list, and must be safe for concurrent use;
	// it is required.
	Pins func() *guard.Pins
	// Mode is Changes by default.
	Mode Mode
	// Locked, if not nil, returns the hashes that definitions have by a lock, as "tool NAME" and "prompt NAME"; nil where nothing of the
	// server is locked. What is locked counts as approved, and all else is withheld unless somebody approved it since. It is called
	// for each list, and must be safe for concurrent use.
	Locked func() map[string]string
	// Remedy is what whoever runs the gateway has to do, for errors, such as "run junction approve files".
	Remedy string
	// OnWithheld, if not nil, is called after a list was read in which something is withheld that was not
	// before. It must be safe for concurrent use.
	OnWithheld func(withheld []Withheld)
	// OnAdded, if not nil, is called with what a server offers beyond what it offered before, and is approved by
	// that. It must be safe for concurrent use.
	OnAdded func(added []guard.Definition)
}

// Withheld is a definition that clients do not get.
type Withheld struct {
	Definition guard.Definition
	Verdict    guard.Verdict
	// Findings are why a new one is withheld in the mode Changes.
	Findings []guard.Finding
	// Unlocked says that it is withheld because it is not the one that was locked for this version of the server.
	Unlocked bool
}

// Why says in a few words why it is withheld.
func (w *Withheld) Why() string {
	switch {
	case w.Unlocked:
		return "not what junction.lock has for this version of the server"
	case w.Verdict.State == guard.Changed:
		return "changed since it was approved"
	case len(w.Findings) > 0:
		return "new, and looks harmful (" + w.Findings[0].Why + ")"
	}
	return "new"
}

// Judge says of a definition whether it is withheld, by what is approved; nil if it is not. Where the server offered
// others before, more says so: what it adds then is looked at by the scanner.
func (m Mode) Judge(pins *guard.Pins, d guard.Definition, more bool) *Withheld {
	w := &Withheld{Definition: d, Verdict: pins.Check(d)}
	switch {
	case w.Verdict.State == guard.Changed || w.Verdict.State == guard.New && m == All:
		return w
	case w.Verdict.State == guard.New && more:
		for _, f := range new(guard.Catalogue).ScanDefinition(d) {
			if f.Severity >= guard.Warn {
				w.Findings = append(w.Findings, f)
			}
		}
		if len(w.Findings) > 0 {
			return w
		}
	}
	return nil
}

// Middleware returns middleware that withholds tools and prompts.
func Middleware(o Options) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler { return New(o).Around(next) }
}

// A Reviewer withholds tools and prompts of one server. Its methods are safe for concurrent use.
type Reviewer struct {
	options Options

	mu       sync.RWMutex
	withheld map[guard.Kind]map[string]Withheld // by name, as of the last list
	passed   map[guard.Kind]map[string]bool     // the names of the others
	first    map[guard.Kind]bool                // nothing was known of the server when the last list began
}

// New returns a Reviewer that has seen no list yet.
func New(o Options) *Reviewer {
	return &Reviewer{options: o, withheld: map[guard.Kind]map[string]Withheld{}, passed: map[guard.Kind]map[string]bool{}, first: map[guard.Kind]bool{}}
}

// Around returns a Handler that withholds tools and prompts of next, which is the server.
func (r *Reviewer) Around(next mcp.Handler) mcp.Handler { return &reviewed{r, next, false} }

// Lists is Around for lists only: calls are passed on. It is for a server of which each connection has a Reviewer of its own, as
// definitions may differ by user.
func (r *Reviewer) Lists(next mcp.Handler) mcp.Handler { return &reviewed{r, next, true} }

// Check returns why a call of a tool, or a request for a prompt, is refused: the definition is withheld as of
// the last list, and the error's data says so with "withheld": true. It is for who reads the lists of a server that was started for this request, as a gateway does
// ([github.com/junction-mcp/junction/gateway.Upstream]). Other requests, and those before the first list, have no error.
func (r *Reviewer) Check(req *mcp.Request) error {
	_, err := r.check(req)
	return err
}

// check is Check, and reports whether a list was seen.
func (r *Reviewer) check(req *mcp.Request) (known bool, err error) {
	kind, noun := guard.Tool, "tool"
	switch req.Method {
	case "tools/call":
	case "prompts/get":
		kind, noun = guard.Prompt, "prompt"
	default:
		return true, nil
	}
	r.mu.RLock()
	list := r.withheld[kind]
	w, withheld := list[req.Name]
	passed := r.passed[kind][req.Name]
	r.mu.RUnlock()
	if list != nil && !passed && !withheld { // a server may hide what it has, or define it so that nobody can read that
		return true, mcp.Errorf(mcp.CodeInvalidParams, "%s %q is not called: server %q does not list it, or its definition cannot be read, so nobody can approve it", noun, req.Name, r.options.Server)
	}
	if withheld {
		fault := mcp.Errorf(mcp.CodeInvalidParams, "%s %q is withheld: it is %s, and nobody approved that; whoever runs the gateway can %s", noun, req.Name, w.Why(), r.options.Remedy)
		fault.Data = json.RawMessage(`{"withheld":true}`) // for a client that finds it in no list
		return true, fault
	}
	return list != nil, nil
}

// maxNoted is how many definitions that are withheld one who watches hears of.
const maxNoted = 100

// noted is what one who watches hears of a list.
type noted struct {
	Server   string      `json:"server"`
	Withheld []notedItem `json:"withheld"`
	More     int         `json:"more,omitempty"`
}

type notedItem struct {
	Kind guard.Kind `json:"kind"`
	Name string     `json:"name"`
	Why  string     `json:"why"`
}

func notedOf(server string, withheld []Withheld) noted {
	n := noted{Server: server, More: max(0, len(withheld)-maxNoted)}
	for _, w := range withheld[:len(withheld)-n.More] {
		n.Withheld = append(n.Withheld, notedItem{w.Definition.Kind, w.Definition.Name, w.Why()})
	}
	return n
}

// reviewed is a server of which a Reviewer withholds something.
type reviewed struct {
	*Reviewer
	next      mcp.Handler
	listsOnly bool
}

// Handle implements [mcp.Handler].
func (r *reviewed) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	kind := guard.Tool
	switch req.Method {
	case "prompts/list", "prompts/get":
		kind = guard.Prompt
	case "tools/list", "tools/call":
	default:
		return r.next.Handle(ctx, req)
	}
	if strings.HasSuffix(req.Method, "/list") {
		return r.list(ctx, req, kind)
	}
	if r.listsOnly {
		return r.next.Handle(ctx, req)
	}
	known, err := r.check(req)
	if !known { // nobody listed yet
		if err := r.read(ctx, kind); err != nil {
			return mcp.Result{}, err
		}
		_, err = r.check(req)
	}
	if err != nil {
		return mcp.Result{}, err
	}
	return r.next.Handle(ctx, req)
}

// read reads all pages of a list, for what is withheld.
func (r *reviewed) read(ctx context.Context, kind guard.Kind) error {
	method, member := "tools/list", "tools"
	if kind == guard.Prompt {
		method, member = "prompts/list", "prompts"
	}
	for _, err := range mcp.NewClientWith(r, mcp.ClientOptions{Name: r.options.Server}).List(ctx, method, member) {
		if err != nil {
			return fmt.Errorf("read the definitions that may be withheld: %w", err)
		}
	}
	return nil
}

// list leaves out what is withheld.
func (r *reviewed) list(ctx context.Context, req *mcp.Request, kind guard.Kind) (mcp.Result, error) {
	result, err := r.next.Handle(ctx, req)
	if err != nil {
		return result, err
	}
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	member := "tools"
	if kind == guard.Prompt {
		member = "prompts"
	}
	pins := r.options.Pins()
	locked := r.locked()
	var fresh []guard.Definition
	var withheld []Withheld
	var passed []string
	next := jsonrpc.Get(req.Params, "cursor") != nil
	more := r.more(kind, pins, next)
	w := jsonrpc.NewObject(make([]byte, 0, len(body)))
	w.Members(body, member)
	w.Array(member)
	jsonrpc.EachElement(jsonrpc.Get(body, member), func(raw []byte) bool {
		d, ok := definitionOf(kind, r.options.Server, raw)
		if !ok {
			return true // what cannot be read cannot be approved
		}
		if held := r.judge(pins, locked, d, more); held != nil {
			withheld = append(withheld, *held)
			return true
		}
		if pins.Check(d).State != guard.Same {
			fresh = append(fresh, d)
		}
		passed = append(passed, d.Name)
		w.Element(raw)
		return true
	})
	w.End()
	if n := mcp.NoterOf(ctx); n != nil && len(withheld) > 0 {
		n.Note("review", notedOf(r.options.Server, withheld))
	}
	if r.note(kind, withheld, passed, next) && r.options.OnWithheld != nil {
		r.options.OnWithheld(withheld)
	}
	if len(fresh) > 0 {
		if err := pins.Approve(fresh...); err != nil {
			return mcp.Result{}, fmt.Errorf("server %q: remember what it offers: %w", r.options.Server, err)
		}
		if err := pins.Save(); err != nil {
			return mcp.Result{}, fmt.Errorf("server %q: remember what it offers: %w", r.options.Server, err)
		}
		if more && locked == nil && r.options.OnAdded != nil {
			r.options.OnAdded(fresh)
		}
	}
	return result.WithJSON(w.Bytes()), nil
}

// locked are the hashes that a lock has.
func (r *Reviewer) locked() map[string]string {
	if r.options.Locked == nil {
		return nil
	}
	return r.options.Locked()
}

// judge is [Mode.Judge] with what is locked.
func (r *Reviewer) judge(pins *guard.Pins, locked map[string]string, d guard.Definition, more bool) *Withheld {
	if locked == nil {
		return r.options.Mode.Judge(pins, d, more)
	}
	verdict := pins.Check(d)
	if verdict.State == guard.Same || locked[string(d.Kind)+" "+d.Name] == verdict.Hash {
		return nil
	}
	return &Withheld{Definition: d, Verdict: verdict, Unlocked: true}
}

// more reports whether a list is compared with what the server offered before. A further page is as its first one was.
func (r *Reviewer) more(kind guard.Kind, pins *guard.Pins, next bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !next {
		_, listed := r.withheld[kind]
		r.first[kind] = !listed && !Known(pins, r.options.Server, kind)
	}
	return !r.first[kind]
}

// Known reports whether anything of a kind is approved of a server.
func Known(pins *guard.Pins, server string, kind guard.Kind) bool {
	return slices.ContainsFunc(pins.Approved(server), func(d guard.Definition) bool { return d.Kind == kind })
}

// note keeps what is withheld, and what is not, and reports whether something is that was not before. A further page adds to
// the pages before it.
func (r *Reviewer) note(kind guard.Kind, withheld []Withheld, passed []string, more bool) (added bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.withheld[kind]
	now, names := map[string]Withheld{}, map[string]bool{}
	if more {
		maps.Copy(now, before)
		maps.Copy(names, r.passed[kind])
	}
	for _, name := range passed {
		names[name] = true
	}
	for _, d := range withheld {
		now[d.Definition.Name] = d
		added = added || before[d.Definition.Name].Verdict.Hash != d.Verdict.Hash
	}
	r.withheld[kind], r.passed[kind] = now, names
	return added
}

// Definitions are the tools and prompts of lists, as they are pinned; what cannot be read is left out.
func Definitions(server string, tools, prompts []json.RawMessage) []guard.Definition {
	var all []guard.Definition
	for kind, list := range map[guard.Kind][]json.RawMessage{guard.Tool: tools, guard.Prompt: prompts} {
		for _, raw := range list {
			if d, ok := definitionOf(kind, server, raw); ok {
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, func(a, b guard.Definition) int { return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name) })
	return all
}

// definitionOf is a tool or prompt as it is pinned; the host pins the same.
func definitionOf(kind guard.Kind, server string, raw json.RawMessage) (d guard.Definition, ok bool) {
	encoded := func(v any) json.RawMessage {
		data, err := schema.Encode(nil, v)
		if err != nil || string(data) == "null" || string(data) == "[]" {
			return nil
		}
		return data
	}
	if kind == guard.Prompt {
		var p mcp.Prompt
		if schema.DecodeLoose(raw, &p) != nil {
			return d, false
		}
		return guard.Definition{Kind: kind, Server: server, Name: p.Name, Title: p.Title, Description: p.Description, Schema: encoded(p.Arguments), Icons: encoded(p.Icons)}, true
	}
	var t mcp.Tool
	if schema.DecodeLoose(raw, &t) != nil {
		return d, false
	}
	return guard.Definition{Kind: kind, Server: server, Name: t.Name, Title: t.Title, Description: t.Description,
		Schema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: encoded(t.Annotations), Icons: encoded(t.Icons)}, true
}
