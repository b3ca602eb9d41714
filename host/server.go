package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/sampling"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/toolsearch"
	"golang.org/x/time/rate"
)

// A server is a Server and what it offers.
type server struct {
	Server
	host    *Host
	client  *mcp.Client
	settled chan struct{} // closed when its lists were read, or could not be, once
	settle  func()        // closes it
	look    chan struct{} // of capacity 1: somebody waits for what it offers now

	vouched    atomic.Bool   // the user trusts it now
	unprompted atomic.Int32  // requests that belong to no call
	notices    *rate.Limiter // that its tools changed

	mu       sync.RWMutex
	offer    offer
	from     *definitions.Definitions // what that was made of; nil while it offers nothing
	taken    chan struct{}            // closed, and made new, when offer is replaced
	listed   bool
	err      error
	reported string // what is wrong with its lists, as the user was notified

	unlisted int // skills that were found by their URIs
}

// state returns how it stands with the server.
func (s *server) state() (string, error) {
	status, _ := s.host.gateway.StatusOf(s.Name)
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.err != nil: // also while it is tried again
		return StateFailed, s.err
	case status.State != gateway.Connected:
		return status.State.String(), status.Err
	case !s.listed:
		return StateConnecting, nil
	}
	return StateConnected, status.Err
}

// await waits until the offer is what the gateway knows of the server now.
func (s *server) await(ctx context.Context) {
	for {
		from, taken := s.madeOf()
		if s.host.gateway.Offered(s.Name) == from {
			return
		}
		select {
		case s.look <- struct{}{}:
		default: // it is looked at
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return
		}
	}
}

// madeOf returns what the offer was made of, and what is closed when it is replaced.
func (s *server) madeOf() (*definitions.Definitions, <-chan struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.from, s.taken
}

// hold has an offer be what the server has, which was made of from. A step that waits for it goes on when it can be found.
func (s *server) hold(o offer, from *definitions.Definitions) {
	s.mu.Lock()
	s.offer = o
	s.mu.Unlock()
	s.host.changes.Add(1)
	entries := make([]toolsearch.Tool, len(o.tools))
	for i, t := range o.tools {
		entries[i] = toolsearch.Tool{ID: t.id, Server: t.ref.Server, Name: t.Name, Title: t.title(), Description: t.sent.Description, Schema: t.InputSchema}
	}
	s.host.search.SetServer(s.Name, o.instructions, entries)
	select {
	case s.host.embed <- struct{}{}:
	default: // what is to be done will see this server's tools too
	}
	s.mu.Lock()
	s.from = from
	close(s.taken)
	s.taken = make(chan struct{})
	s.mu.Unlock()
}

// failed remembers why the server does not answer. What it offered is taken back:
// a tool that cannot be called must not be in the model's hands.
func (s *server) failed(err error) {
	s.mu.Lock()
	first, offered, what := s.err == nil, s.from != nil, "does not answer"
	if !s.listed && s.Handler == nil { // nobody has asked it anything: it was not started, or not reached
		what = "is not connected"
	}
	s.err = err
	s.mu.Unlock()
	if offered {
		s.hold(offer{}, nil)
	}
	if first {
		s.host.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("server %q %s: %s", s.Name, what, s.why(err))})
	}
}

// why returns an error of the server as a user reads it behind the server's name, which
// everybody on the way has put before it.
func (s *server) why(err error) string {
	named := fmt.Sprintf("server %q", s.Name)
	return excerpt.Clip(excerpt.Clean(strings.NewReplacer(named+": ", "", named+" is not connected: ", "").Replace(err.Error())), excerpt.MaxError)
}

// answers reports whether what the server offers was read, and is not lost.
func (s *server) answers() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.listed && s.err == nil
}

// current returns what the server offers now.
func (s *server) current() offer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.offer
}

// An offer is what a server has. It is replaced as a whole.
type offer struct {
	tools        []*tool
	prompts      []*mcp.Prompt
	resources    []*mcp.Resource
	templates    []*mcp.ResourceTemplate
	skills       []*skills.Skill // those of its list, and those that the model found by their URIs
	instructions string
	views        []*view
	info         *mcp.Implementation
	has          mcp.ServerCapabilities
}

// changeTime is how long a step waits for lists of which it is known that they changed.
const changeTime = 2 * time.Second

// origin tells the server from others of its name.
func (s *server) origin() string { return policy.OriginOf(s.Origin) }

// memberOrigin tells the servers behind a gateway from others of their names: they are what this gateway calls so.
func (s *server) memberOrigin() string {
	return policy.OriginOf([]string{"(behind a gateway)", s.Name, s.origin()})
}

// source returns the server, or something of it, as the flow of data knows it.
func (s *server) source(uri string) guard.Source {
	return guard.Source{Server: s.Name, Origin: s.origin(), URI: uri}
}

// said reports whether a source is the server's, or that of a server behind it.
func (s *server) said(from guard.Source) bool {
	return from.IsOf(s.Name, s.origin()) || s.Prefixed && from.Origin == s.memberOrigin()
}

func (s *server) trusted() bool { return s.vouched.Load() }

func (s *server) trust() guard.Trust { return guard.Trust{Trusted: s.trusted(), Public: s.Public} }

// A Host holds connections to servers and what they offer. All methods are safe for concurrent use. Close it when done.
type Host struct {
	options Options
	budget  Budget
	log     *slog.Logger
	search  *toolsearch.Index
	pins    *guard.Pins
	servers []*server
	gateway *gateway.Gateway
	added   []string // to it

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	embed     chan struct{} // holds one while there are tools to be embedded
	changes   atomic.Uint64 // counts whatever can change what the model may be given
	reviewing chan struct{} // holds one while a user reviews
	telling   sync.Mutex    // one event after the other
	mu        sync.Mutex
	rules     *policy.Policy
	refused   map[string]string // definitions of a server that the user refused: by server, their hash

	offered asOf[catalogue]       // what the model can be given
	guarded asOf[guard.Catalogue] // what the guard knows of all servers
}

// asOf is what was made of the servers' offers, as of a number of changes. It may be used from many goroutines.
type asOf[T any] struct {
	mu   sync.Mutex
	made *T
	at   uint64
}

// tell tells an event.
func (h *Host) tell(e Event) {
	if h.options.OnEvent == nil {
		return
	}
	h.telling.Lock()
	defer h.telling.Unlock()
	e.At = time.Now()
	h.options.OnEvent(e)
}

func (h *Host) notice(n Notice) { h.tell(Event{Notice: &n}) }

func (h *Host) serverNamed(name string) (s *server, found bool) {
	i := slices.IndexFunc(h.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return h.servers[i], true
}

func noServer(name string) error { return fmt.Errorf("there is no server %q", name) }

// await waits, for a moment, until lists of these servers that are known to be old were read and taken up.
func (h *Host) await(ctx context.Context, servers ...*server) {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	h.gateway.Fresh(ctx, names...)
	for _, s := range servers {
		if s.answers() { // one that never answered is not waited for again
			s.await(ctx)
		}
	}
}

// A tool is a tool of a server as the host knows it. It does not change.
type tool struct {
	*mcp.Tool
	server     *server
	ref        ToolRef // for users and rules: behind a gateway, the server there
	member     bool    // it is behind a gateway
	id         string  // unique among all tools: SERVER__TOOL
	sent       model.Tool
	tokens     int               // what its definition costs
	brief      func() model.Tool // what the model is sent where a search brought it
	fault      string            // why no provider takes a request with it; empty if they do
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
	full.brief = sync.OnceValue(func() model.Tool {
		t := full.sent
		short := toolsearch.Rendered([]toolsearch.Tool{{Name: t.Name, Description: t.Description, Schema: t.Schema}}, foundEach)[0]
		t.Description, t.Schema = short.Description, short.Schema
		return t
	})
	if err := model.Check(&model.Request{Messages: []model.Message{model.UserText("-")}, Tools: []model.Tool{full.sent}}); err != nil {
		full.fault = strings.TrimPrefix(err.Error(), model.ErrInvalid.Error()+": ")
	}
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

// source returns where the text of its results comes from.
func (t *tool) source() guard.Source {
	return guard.Source{Server: t.ref.Server, Origin: t.origin(), Tool: t.ref.Tool}
}

// annotations returns what is said of the tool, in full.
func (t *tool) annotations() mcp.ToolAnnotations {
	if t.Annotations == nil {
		return mcp.ToolAnnotations{}
	}
	return *t.Annotations
}

// claimed returns the annotations that count: where the server does not say whether the tool only
// reads, what the user said of this definition.
func (t *tool) claimed() mcp.ToolAnnotations {
	a := t.annotations()
	if t.heldToRead() {
		a.ReadOnlyHint = new(true)
	}
	return a
}

// heldToRead reports whether the user, and not the server, says that the tool only reads.
func (t *tool) heldToRead() bool {
	return t.annotations().ReadOnlyHint == nil && t.server.host.pins.Reads(t.definition, t.origin())
}

func (t *tool) title() string {
	if t.Title == "" && t.Annotations != nil {
		return t.Annotations.Title
	}
	return t.Title
}

// claims returns the tool's annotations in the words of the policy.
func claims(a mcp.ToolAnnotations) policy.Annotations {
	return policy.Annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint, Idempotent: a.IdempotentHint, OpenWorld: a.OpenWorldHint}
}

// hints returns annotations in the words of the guard.
func hints(a mcp.ToolAnnotations) guard.Annotations {
	return guard.Annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint, OpenWorld: a.OpenWorldHint}
}

// readsOnly reports whether the tool is said to change nothing, so that calls of it can run at the same time.
func (t *tool) readsOnly() bool {
	hint := t.claimed().ReadOnlyHint
	return hint != nil && *hint
}

func (t *tool) info(state string) ToolInfo {
	info := ToolInfo{ToolRef: t.ref, Title: t.title(), State: state, ReadOnly: t.readsOnly(), View: t.link.URI, Sent: &t.sent}
	if t.server.Name != t.ref.Server {
		info.Via = t.server.Name
	}
	return info
}

// separator stands between server and tool in the name that the model sees.
const separator = "__"

const foundEach = 300 // of a definition; the texts of a longer one are cut

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// A view is a document that a tool's results can be shown in (MCP Apps), as the user is asked about it.
type view struct {
	definition guard.Definition
	findings   []guard.Finding // in its text, where it is new or changed
}

// remedy returns what to do about an error that is a refused authorization; empty for others.
func remedy(err error) string {
	var status *mcp.StatusError
	if !errors.As(err, &status) {
		return ""
	}
	text := "it needs a token: get one"
	switch status.Status {
	case http.StatusUnauthorized:
	case http.StatusForbidden:
		text = "your token does not allow this: get another one"
	default:
		return ""
	}
	text += ` and put it into "headers" of the server's entry in its configuration ("Authorization": "Bearer …"), or give it with --header, and start again`
	if m := described.FindStringSubmatch(strings.Join(status.Header.Values("Www-Authenticate"), ", ")); m != nil {
		text += ". Sign-in is described at " + excerpt.Clip(excerpt.Clean(m[1]), excerpt.MaxError)
	}
	return text
}

// described finds where a server says how to sign in to it.
var described = regexp.MustCompile(`resource_metadata="(https?://[^"\s]+)"`)

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

// Settle waits until the lists of every server were read, or could not be, once.
func (h *Host) Settle(ctx context.Context) error {
	for _, s := range h.servers {
		select {
		case <-s.settled:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
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
