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
	// since they were first seen. It also withholds new definitions of a known server if the
	// scanner of [github.com/junction-mcp/junction/guard] warns of them. Other new definitions
	// pass, and [guard.Pins.See] records them, which is not an approval.
	Changes Mode = "changes"
	// All withholds definitions that were never approved, even if they were seen.
	All Mode = "all"
)

// Options hold the server to review, and the approved definitions.
type Options struct {
	// Server is the name under which definitions were approved; it is required.
	Server string
	// Pins returns the approved definitions. It is called for each list and must be safe for
	// concurrent use. It is required.
	Pins func() *guard.Pins
	// Mode is [Changes] by default.
	Mode Mode
	// Locked, if not nil, returns the hashes of the locked definitions, with the keys "tool NAME"
	// and "prompt NAME". It returns nil if the server is not locked. A locked definition counts as
	// approved. All others are withheld unless a user has approved them since. Locked is called for
	// each list and must be safe for concurrent use.
	Locked func() map[string]string
	// Remedy completes the sentence "the operator can …" in errors, such as "run junction server
	// approve files".
	Remedy string
	// NoteObserver, if not nil, gets a [Change] when a list differs from earlier ones, regardless
	// of the request for which it was read.
	NoteObserver mcp.NoteObserver
}

// A Change is a note of the kind "review" about a list. One of its fields is empty.
type Change struct {
	Withheld []Withheld         // all withheld definitions, if one of them was not withheld before
	Added    []guard.Definition // definitions that the server did not offer before; clients get them
}

// Withheld is a definition that clients do not get.
type Withheld struct {
	Definition guard.Definition
	Verdict    guard.Verdict
	// Findings are the reasons why a new definition is withheld in the mode Changes.
	Findings []guard.Finding
	// Unlocked is set if the definition is withheld because it differs from the lock of this
	// version of the server.
	Unlocked bool
}

// Why returns the reason for withholding the definition in a few words.
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
// server has offered definitions before, so a new definition is scanned.
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

// Compare compares a definition with the approved definition. In the mode Changes, it also compares
// it with the first definition that was seen.
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
	last   map[guard.Kind]listState // names of the last list
	before map[guard.Kind]listState // names of the list before, which may follow on further pages of the last one
	first  map[guard.Kind]bool      // set if the server was not known when the last list began
	noted  map[guard.Kind]int       // number of recorded pages
}

// listState holds the names in one list.
type listState struct {
	withheld map[string]Withheld // by name
	passed   map[string]bool     // names of definitions that passed
}

// of returns the withheld definition with a name, and reports whether the list withheld or passed
// that name.
func (j listState) of(name string) (w Withheld, withheld, passed bool) {
	w, withheld = j.withheld[name]
	return w, withheld, j.passed[name]
}

// New returns a Reviewer that has seen no list yet.
func New(o Options) *Reviewer {
	return &Reviewer{options: o, last: map[guard.Kind]listState{}, before: map[guard.Kind]listState{}, first: map[guard.Kind]bool{}, noted: map[guard.Kind]int{}}
}

// update changes the state of each name in j to its state in later, if later contains the name.
func (j listState) update(later listState) {
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

// Around returns a Handler that passes requests on to next, and withholds its tools and prompts.
func (r *Reviewer) Around(next mcp.Handler) mcp.Handler { return &reviewed{r, next, false} }

// Lists is like Around, but passes calls on unchecked. It is meant for a server that has a Reviewer
// for each connection, because its definitions may differ by user.
func (r *Reviewer) Lists(next mcp.Handler) mcp.Handler { return &reviewed{r, next, true} }

// Check returns an error if the last list withheld the tool or prompt that a request uses. The data
// of the error contains "withheld": true. Check is meant for callers that read the lists after the
// server was started for the request, such as a gateway
// ([github.com/junction-mcp/junction/gateway.Upstream]). It returns nil for other requests, and
// before the first list.
func (r *Reviewer) Check(req *mcp.Request) error {
	_, err := r.check(req)
	return err
}

// check is like Check. It also reports whether a list was seen.
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
		return true, mcp.Errorf(mcp.CodeInvalidParams, "%s %q was refused: the operator cannot approve it, because server %q does not list it or its definition cannot be read", noun, req.Name, r.options.Server)
	}
	if withheld {
		fault := mcp.Errorf(mcp.CodeInvalidParams, "%s %q is withheld until it is approved: it is %s; the operator of the gateway can %s", noun, req.Name, w.Why(), r.options.Remedy)
		fault.Data = refused.With(json.RawMessage(`{"withheld":true}`), refused.Review) // for a client that does not find the tool in a list
		return true, fault
	}
	return listed, nil
}

// maxNoted is the maximum number of withheld definitions in a note.
const maxNoted = 100

// A listNote is the note about a list.
type listNote struct {
	Server   string         `json:"server"`
	Withheld []listNoteItem `json:"withheld"`
	More     int            `json:"more,omitempty"`
}

type listNoteItem struct {
	Kind guard.Kind `json:"kind"`
	Name string     `json:"name"`
	Why  string     `json:"why"`
}

func notedOf(server string, withheld []Withheld) listNote {
	n := listNote{Server: server, More: max(0, len(withheld)-maxNoted)}
	for _, w := range withheld[:len(withheld)-n.More] {
		n.Withheld = append(n.Withheld, listNoteItem{w.Definition.Kind, w.Definition.Name, w.Why()})
	}
	return n
}

// A reviewed is the Handler of a server whose definitions a Reviewer may withhold.
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

// listOf returns the method that lists the tools or prompts that a request uses or lists. It
// returns nil for other requests.
func listOf(method string) *revision.Method {
	m := revision.MethodNamed(method)
	if !m.Used && m.Key == "" || m.Kind != revision.OfTool && m.Kind != revision.OfPrompt {
		return nil
	}
	return revision.ListOf(m.Kind)
}

// list passes a list request on, and omits withheld definitions from the result.
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
			return true // an unreadable definition cannot be approved
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
	if n := mcp.NoteObserverOf(ctx, note.Review); n != nil && len(withheld) > 0 {
		n.Note(note.Review, notedOf(r.options.Server, withheld))
	}
	if r.note(kind, withheld, passed, page) && r.options.NoteObserver != nil {
		r.options.NoteObserver.Note(note.Review, Change{Withheld: withheld})
	}
	if len(fresh) > 0 {
		if err := pins.See(fresh...); err != nil {
			return mcp.Result{}, fmt.Errorf("server %q: remember its offer: %w", r.options.Server, err)
		}
		if err := pins.Save(); err != nil {
			return mcp.Result{}, fmt.Errorf("server %q: remember its offer: %w", r.options.Server, err)
		}
		if more && locked == nil && r.options.NoteObserver != nil {
			r.options.NoteObserver.Note(note.Review, Change{Added: fresh})
		}
	}
	return result.WithJSON(w.Bytes()), nil
}

// locked returns the hashes in the lock, or nil.
func (r *Reviewer) locked() map[string]string {
	if r.options.Locked == nil {
		return nil
	}
	return r.options.Locked()
}

// judge is like [Mode.Judge], but uses the lock if the server has one.
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

// more reports whether a list is compared with earlier lists of the server. For a further page it
// returns the result of the first page.
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
	next  bool // set unless it is the first page of its list
	last  bool // set if it is the last page of its list
	noted int  // number of pages recorded when it was requested
}

// pagesNoted returns the number of pages recorded so far.
func (r *Reviewer) pagesNoted(kind guard.Kind) int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.noted[kind]
}

// note records the withheld and passed names of a page, and reports whether a name is withheld that
// was not withheld before. A further page adds to the pages before it. Until the last page, names
// on no page keep their state. If another page was recorded while this one was read, either may be
// older. Then this page also only adds, and a name that one of them withholds is withheld.
func (r *Reviewer) note(kind guard.Kind, withheld []Withheld, passed []string, page place) (added bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	crossed := r.noted[kind] != page.noted
	r.noted[kind]++
	before := r.last[kind]
	now := listState{map[string]Withheld{}, map[string]bool{}}
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

// Definitions returns the tools and prompts in lists as definitions of package guard. It omits
// unreadable ones.
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

// read returns a tool or prompt in a list as a definition of package guard.
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

// Prompt returns a prompt of a server as a definition of package guard.
func Prompt(server string, p *mcp.Prompt) guard.Definition {
	return guard.Definition{Kind: guard.Prompt, Server: server, Name: p.Name, Title: p.Title, Description: p.Description, Schema: encoded(p.Arguments), Icons: encoded(p.Icons)}
}

// Tool returns a tool of a server as a definition of package guard. The input schema is the one
// that gateways offer, and the text names the view that shows the tool's results.
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
