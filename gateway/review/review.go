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
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
)

// A Mode decides which definitions are withheld.
type Mode string

const (
	// Changes withholds definitions that changed since they were approved or, without approval,
	// first seen. It also withholds new ones of a known server that the scanner of
	// [github.com/junction-mcp/junction/guard] warns of. Other new definitions pass, and are noted
	// by [guard.Pins.See], which is not an approval.
	Changes Mode = "changes"
	// All withholds definitions that were never approved, even if they were seen.
	All Mode = "all"
)

// Options hold the server whose definitions are compared, and the approved definitions.
type Options struct {
	// Server is the name under which definitions were approved; it is required.
	Server string
	// Pins returns the approved definitions. It is called for each list, and must be safe for
	// concurrent use. It is required.
	Pins func() *guard.Pins
	// Mode is Changes by default.
	Mode Mode
	// Locked, if not nil, returns the hashes of definitions by a lock, with the keys "tool NAME"
	// and "prompt NAME"; nil if the server is not locked. A locked definition counts as approved.
	// All others are withheld unless a user approved them since. Locked is called for each list,
	// and must be safe for concurrent use.
	Locked func() map[string]string
	// Remedy is the action for the operator in errors, such as "run junction server approve files".
	Remedy string
	// Noter, if not nil, gets a [Change] when a list differs from those before it, regardless of
	// the request for which it was read.
	Noter mcp.Noter
}

// A Change is a note of the kind "review" about a list. One of its fields is empty.
type Change struct {
	Withheld []Withheld         // lists all withheld definitions, if one of them was not withheld before
	Added    []guard.Definition // lists definitions that the server did not offer before; clients get them
}

// Withheld is a definition that clients do not get.
type Withheld struct {
	Definition guard.Definition
	Verdict    guard.Verdict
	// Findings are the reasons why a new definition is withheld in the mode Changes.
	Findings []guard.Finding
	// Unlocked is set if it is withheld because it differs from the lock of this version of the
	// server.
	Unlocked bool
}

// Why returns the reason in a few words.
func (w *Withheld) Why() string {
	switch {
	case w.Unlocked:
		return "different from junction.lock for this version of the server"
	case w.Verdict.Seen || w.Verdict.State == guard.New && w.Verdict.Old.Kind != "":
		return "changed since it was first seen"
	case w.Verdict.State == guard.Changed:
		return "changed since it was approved"
	case len(w.Findings) > 0:
		return "new, and looks harmful (" + w.Findings[0].Why + ")"
	}
	return "new"
}

// Judge compares a definition with the pins, and returns nil if it passes. If more is set, the
// server offered definitions before, and a new one is scanned.
func (m Mode) Judge(pins *guard.Pins, d guard.Definition, more bool) *Withheld {
	w := &Withheld{Definition: d, Verdict: m.Compare(pins, d)}
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

// Compare compares a definition with the approved one and, in the mode Changes, with the one that
// was first seen.
func (m Mode) Compare(pins *guard.Pins, d guard.Definition) guard.Verdict {
	if m == All {
		return pins.Check(d)
	}
	return pins.CheckSeen(d)
}

// Middleware returns middleware that withholds tools and prompts.
func Middleware(o Options) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler { return New(o).Around(next) }
}

// A Reviewer withholds tools and prompts of one server. Its methods are safe for concurrent use.
type Reviewer struct {
	options Options

	mu     sync.RWMutex
	last   map[guard.Kind]judged // the result of the last list
	before map[guard.Kind]judged // of the list before, for names that may come on further pages of the last one
	first  map[guard.Kind]bool   // is set if the server was not known when the last list began
	noted  map[guard.Kind]int    // counts the noted pages
}

// judged holds the definitions of one list.
type judged struct {
	withheld map[string]Withheld // withheld definitions by name
	passed   map[string]bool     // the names of the others
}

// of returns the withheld definition of a name, and whether the list has the name as withheld or
// passed.
func (j judged) of(name string) (w Withheld, withheld, passed bool) {
	w, withheld = j.withheld[name]
	return w, withheld, j.passed[name]
}

// New returns a Reviewer that has seen no list yet.
func New(o Options) *Reviewer {
	return &Reviewer{options: o, last: map[guard.Kind]judged{}, before: map[guard.Kind]judged{}, first: map[guard.Kind]bool{}, noted: map[guard.Kind]int{}}
}

// update changes the names of a list to their state in a later one that has them.
func (j judged) update(later judged) {
	for name, w := range later.withheld {
		if _, withheld, passed := j.of(name); withheld || passed {
			delete(j.passed, name)
			j.withheld[name] = w
		}
	}
	for name := range later.passed {
		if _, withheld, _ := j.of(name); withheld {
			delete(j.withheld, name)
			j.passed[name] = true
		}
	}
}

// Around returns a Handler that withholds tools and prompts of the server next.
func (r *Reviewer) Around(next mcp.Handler) mcp.Handler { return &reviewed{r, next, false} }

// Lists is like Around, but passes calls on. It is for a server whose connections have a Reviewer
// each, as definitions may differ by user.
func (r *Reviewer) Lists(next mcp.Handler) mcp.Handler { return &reviewed{r, next, true} }

// Check returns the reason to refuse a call of a tool or a request for a prompt: the definition is
// withheld by the last list. The data of the error has "withheld": true. It is for callers that
// read the lists of a server that was started for this request, such as a gateway
// ([github.com/junction-mcp/junction/gateway.Upstream]). Other requests, and those before the first
// list, have no error.
func (r *Reviewer) Check(req *mcp.Request) error {
	_, err := r.check(req)
	return err
}

// check is like Check, and reports whether a list was seen.
func (r *Reviewer) check(req *mcp.Request) (known bool, err error) {
	list := listOf(req.Method)
	if list == nil || list.Name == req.Method {
		return true, nil
	}
	kind, noun := guard.Kind(list.Kind), list.Noun
	r.mu.RLock()
	_, listed := r.last[kind]
	w, withheld, passed := r.last[kind].of(req.Name)
	if !withheld && !passed {
		w, withheld, passed = r.before[kind].of(req.Name)
	}
	r.mu.RUnlock()
	if listed && !passed && !withheld { // a server may hide a tool, or define it so that it cannot be read
		return true, mcp.Errorf(mcp.CodeInvalidParams, "%s %q is not called: server %q does not list it, or its definition cannot be read, so it cannot be approved by the operator", noun, req.Name, r.options.Server)
	}
	if withheld {
		fault := mcp.Errorf(mcp.CodeInvalidParams, "%s %q is withheld until it is approved: it is %s; the operator of the gateway can %s", noun, req.Name, w.Why(), r.options.Remedy)
		fault.Data = refused.With(json.RawMessage(`{"withheld":true}`), refused.Review) // for a client that does not find it in a list
		return true, fault
	}
	return listed, nil
}

// maxNoted is the maximum number of withheld definitions in a note.
const maxNoted = 100

// noted is the note about a list.
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

// reviewed is a server whose definitions a Reviewer may withhold.
type reviewed struct {
	*Reviewer
	next      mcp.Handler
	listsOnly bool
}

// Handle implements [mcp.Handler].
func (r *reviewed) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	list := listOf(req.Method)
	switch {
	case list != nil && list.Name == req.Method:
		return r.list(ctx, req, list)
	case list == nil || r.listsOnly:
		return r.next.Handle(ctx, req)
	}
	known, err := r.check(req)
	if !known { // no list was read yet
		for _, err := range mcp.NewClientWith(r, mcp.ClientOptions{Name: r.options.Server}).List(ctx, list.Name, list.Member) {
			if err != nil {
				return mcp.Result{}, fmt.Errorf("read the definitions that may be withheld: %w", err)
			}
		}
		_, err = r.check(req)
	}
	if err != nil {
		note.Refuse(ctx, note.Review, note.Refusal{Server: r.options.Server, Rule: "review", Refused: err.Error()})
		return mcp.Result{}, err
	}
	return r.next.Handle(ctx, req)
}

// listOf returns the method that lists the tools or prompts that a request uses or lists; nil for
// other requests.
func listOf(method string) *revision.Method {
	m := revision.MethodNamed(method)
	if !m.Used && m.Key == "" || m.Kind != revision.OfTool && m.Kind != revision.OfPrompt {
		return nil
	}
	return revision.ListOf(m.Kind)
}

// list omits withheld definitions.
func (r *reviewed) list(ctx context.Context, req *mcp.Request, of *revision.Method) (mcp.Result, error) {
	kind, member := guard.Kind(of.Kind), of.Member
	noted := r.pagesNoted(kind)
	result, err := r.next.Handle(ctx, req)
	if err != nil {
		return result, err
	}
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	pins := r.options.Pins()
	locked := r.locked()
	var fresh []guard.Definition
	var withheld []Withheld
	var passed []string
	page := place{next: jsonrpc.Get(req.Params, "cursor") != nil, last: jsonrpc.Get(body, "nextCursor") == nil, noted: noted}
	more := r.more(kind, pins, page.next)
	w := jsonrpc.NewObject(make([]byte, 0, len(body)))
	w.Members(body, member)
	w.Array(member)
	jsonrpc.EachElement(jsonrpc.Get(body, member), func(raw []byte) bool {
		d, ok := read(kind, r.options.Server, raw)
		if !ok {
			return true // as an unreadable definition cannot be approved
		}
		if held := r.judge(pins, locked, d, more); held != nil {
			withheld = append(withheld, *held)
			return true
		}
		if pins.CheckSeen(d).State != guard.Same {
			fresh = append(fresh, d)
		}
		passed = append(passed, d.Name)
		w.Element(raw)
		return true
	})
	w.End()
	if n := mcp.NoterOf(ctx, note.Review); n != nil && len(withheld) > 0 {
		n.Note(note.Review, notedOf(r.options.Server, withheld))
	}
	if r.note(kind, withheld, passed, page) && r.options.Noter != nil {
		r.options.Noter.Note(note.Review, Change{Withheld: withheld})
	}
	if len(fresh) > 0 {
		if err := pins.See(fresh...); err != nil {
			return mcp.Result{}, fmt.Errorf("server %q: remember its offer: %w", r.options.Server, err)
		}
		if err := pins.Save(); err != nil {
			return mcp.Result{}, fmt.Errorf("server %q: remember its offer: %w", r.options.Server, err)
		}
		if more && locked == nil && r.options.Noter != nil {
			r.options.Noter.Note(note.Review, Change{Added: fresh})
		}
	}
	return result.WithJSON(w.Bytes()), nil
}

// locked returns the hashes of the lock.
func (r *Reviewer) locked() map[string]string {
	if r.options.Locked == nil {
		return nil
	}
	return r.options.Locked()
}

// judge is like [Mode.Judge], but uses the lock if there is one.
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

// more reports whether a list is compared with the earlier lists of the server. For a further page
// it returns the same as for the first one.
func (r *Reviewer) more(kind guard.Kind, pins *guard.Pins, next bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !next {
		_, listed := r.last[kind]
		r.first[kind] = !listed && !pins.Knows(r.options.Server, kind)
	}
	return !r.first[kind]
}

// A place is the position of a page among the lists of a server.
type place struct {
	next  bool // is set if it is not the first page of its list
	last  bool // is set if it is the last page of its list
	noted int  // counts the pages that were noted when it was requested
}

// pagesNoted returns the number of pages noted so far.
func (r *Reviewer) pagesNoted(kind guard.Kind) int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.noted[kind]
}

// note stores the withheld and passed names of a page, and reports whether a withheld one was not
// withheld before. A further page adds to the pages before it. Until the last page, names on no
// page keep their state. A page during which another one was noted also only adds, as either may be
// older, and names that one of them withholds are withheld.
func (r *Reviewer) note(kind guard.Kind, withheld []Withheld, passed []string, page place) (added bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	crossed := r.noted[kind] != page.noted
	r.noted[kind]++
	before := r.last[kind]
	now := judged{map[string]Withheld{}, map[string]bool{}}
	switch whole, pending := r.before[kind]; {
	case page.next || crossed:
		maps.Copy(now.withheld, before.withheld)
		maps.Copy(now.passed, before.passed)
	case pending: // the list that began last was not read to its end
		whole.update(before)
	default:
		r.before[kind] = before
	}
	if page.last && !crossed {
		delete(r.before, kind)
	}
	for _, d := range withheld {
		now.withheld[d.Definition.Name] = d
		was, _, _ := before.of(d.Definition.Name)
		added = added || was.Verdict.Hash != d.Verdict.Hash
	}
	for _, name := range passed {
		now.passed[name] = true
	}
	maps.DeleteFunc(now.passed, func(name string, _ bool) bool { _, held := now.withheld[name]; return held })
	r.last[kind] = now
	return added
}

// Definitions returns the tools and prompts of lists in the form of pins. It omits unreadable ones.
func Definitions(server string, tools, prompts []json.RawMessage) []guard.Definition {
	var all []guard.Definition
	for kind, list := range map[guard.Kind][]json.RawMessage{guard.Tool: tools, guard.Prompt: prompts} {
		for _, raw := range list {
			if d, ok := read(kind, server, raw); ok {
				all = append(all, d)
			}
		}
	}
	slices.SortFunc(all, func(a, b guard.Definition) int { return strings.Compare(string(a.Kind)+a.Name, string(b.Kind)+b.Name) })
	return all
}

// read returns a tool or prompt of a list in the form of a pin.
func read(kind guard.Kind, server string, raw json.RawMessage) (d guard.Definition, ok bool) {
	if kind == guard.Prompt {
		var p mcp.Prompt
		err := schema.DecodeLoose(raw, &p)
		return Prompt(server, &p), err == nil
	}
	var t mcp.Tool
	err := schema.DecodeLoose(raw, &t)
	return Tool(server, &t), err == nil
}

// Prompt returns a prompt of a server in the form of a pin.
func Prompt(server string, p *mcp.Prompt) guard.Definition {
	return guard.Definition{Kind: guard.Prompt, Server: server, Name: p.Name, Title: p.Title, Description: p.Description, Schema: encoded(p.Arguments), Icons: encoded(p.Icons)}
}

// Tool returns a tool of a server in the form of a pin. Its input schema is the one that gateways
// offer, and its text names the view that shows it.
func Tool(server string, t *mcp.Tool) guard.Definition {
	d := guard.Definition{Kind: guard.Tool, Server: server, Name: t.Name, Title: t.Title, Description: t.Description,
		Schema: schema.OfObject(t.InputSchema), OutputSchema: t.OutputSchema, Annotations: encoded(t.Annotations), Icons: encoded(t.Icons)}
	link := apps.Of(t.Meta)
	var said []string
	if link.URI != "" {
		said = append(said, "view "+link.URI)
	}
	if link.Visibility != nil {
		said = append(said, "for "+strings.Join(link.Visibility, ", "))
	}
	d.Text = strings.Join(said, "\n")
	return d
}

// encoded returns v as JSON, or nil if it is empty.
func encoded(v any) json.RawMessage {
	data, err := schema.Encode(nil, v)
	if err != nil || string(data) == "null" || string(data) == "[]" {
		return nil
	}
	return data
}
