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

// A server is a Server with its connection and its current features.
type server struct {
	Server
	host    *Host
	client  *mcp.Client
	settled chan struct{} // closed after the lists were read, or failed to be, for the first time
	settle  func()        // closes settled
	look    chan struct{} // capacity 1; asks watch to update the offer

	vouched    atomic.Bool   // the user trusts the server now
	unprompted atomic.Int32  // number of requests that belong to no call
	notices    *rate.Limiter // limits notices about changed tools

	mu       sync.RWMutex
	offer    offer
	from     *definitions.Definitions // definitions that offer was made from; nil if there is no offer
	taken    chan struct{}            // closed and replaced when offer is replaced
	listed   bool
	err      error
	reported string // the last reported problem with its lists

	unlisted int // number of skills that were found by URI
}

// state returns the state of the server, and its error.
func (s *server) state() (string, error) {
	status, _ := s.host.gateway.StatusOf(s.Name)
	s.mu.RLock()
	defer s.mu.RUnlock()
	switch {
	case s.err != nil: // also while it reconnects
		return StateFailed, s.err
	case status.State != gateway.Connected:
		return status.State.String(), status.Err
	case !s.listed:
		return StateConnecting, nil
	}
	return StateConnected, status.Err
}

// await waits until the offer matches the gateway's current definitions.
func (s *server) await(ctx context.Context) {
	for {
		from, taken := s.currentDefinitions()
		if s.host.gateway.Offered(s.Name) == from {
			return
		}
		select {
		case s.look <- struct{}{}:
		default: // a request is pending already
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return
		}
	}
}

// currentDefinitions returns the definitions that the offer was made from, and a channel that is
// closed when the offer is replaced.
func (s *server) currentDefinitions() (*definitions.Definitions, <-chan struct{}) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.from, s.taken
}

// hold replaces the offer by o, which was made from the definitions from. It wakes waiting steps
// after the search knows the new tools.
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
	default: // the pending work will include this server's tools
	}
	s.mu.Lock()
	s.from = from
	close(s.taken)
	s.taken = make(chan struct{})
	s.mu.Unlock()
}

// failed records the error of the server and removes its offer, because the model must not have
// tools that cannot be called.
func (s *server) failed(err error) {
	s.mu.Lock()
	first, offered, what := s.err == nil, s.from != nil, "does not answer"
	if !s.listed && s.Handler == nil { // it was never connected
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

// why returns an error of the server as text that follows the server's name. It removes the name,
// which several layers have put before the error.
func (s *server) why(err error) string {
	named := fmt.Sprintf("server %q", s.Name)
	return excerpt.Clip(excerpt.Clean(strings.NewReplacer(named+": ", "", named+" is not connected: ", "").Replace(err.Error())), excerpt.MaxError)
}

// isReady reports whether the server's features were read and the server is connected.
func (s *server) isReady() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.listed && s.err == nil
}

// current returns the current offer.
func (s *server) current() offer {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.offer
}

// An offer holds the features of a server. It is replaced as a whole.
type offer struct {
	tools        []*tool
	prompts      []*mcp.Prompt
	resources    []*mcp.Resource
	templates    []*mcp.ResourceTemplate
	skills       []*skills.Skill // skills of the list, and those that the model found by URI
	instructions string
	views        []*view
	info         *mcp.Implementation
	has          mcp.ServerCapabilities
}

// changeTime is the maximum wait of a step for lists that have changed.
const changeTime = 2 * time.Second

// origin distinguishes servers with the same name.
func (s *server) origin() string { return policy.OriginOf(s.Origin) }

// memberOrigin distinguishes servers behind this gateway from servers with the same names
// elsewhere. All members of the gateway share it.
func (s *server) memberOrigin() string {
	return policy.OriginOf([]string{"(behind a gateway)", s.Name, s.origin()})
}

// source returns the guard's source for the server, or for one of its resources.
func (s *server) source(uri string) guard.Source {
	return guard.Source{Server: s.Name, Origin: s.origin(), URI: uri}
}

// isSource reports whether a source is the server or a server behind it.
func (s *server) isSource(from guard.Source) bool {
	return from.IsOf(s.Name, s.origin()) || s.Prefixed && from.Origin == s.memberOrigin()
}

func (s *server) trusted() bool { return s.vouched.Load() }

func (s *server) trust() guard.Trust { return guard.Trust{Trusted: s.trusted(), Public: s.Public} }

// A Host holds connections to servers and their features. All methods are safe for concurrent use.
// The caller must close it.
type Host struct {
	options Options
	budget  WindowShares
	log     *slog.Logger
	search  *toolsearch.Index
	pins    *guard.Pins
	servers []*server
	gateway *gateway.Gateway
	added   []string // servers that the host added to the gateway

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	embed     chan struct{} // has a value while new tools need vectors
	changes   atomic.Uint64 // counts changes that can affect the tools of the model
	reviewing chan struct{} // holds a token while the user reviews
	telling   sync.Mutex    // held while one event is sent
	mu        sync.Mutex
	rules     *policy.Policy
	refused   map[string]string // the hash of the definitions that the user refused, by server

	offered asOf[catalogue]       // tools and skills that the model can be given
	guarded asOf[guard.Catalogue] // tool names of all servers, for the guard
}

// asOf caches a value computed for a number of changes. It is safe for concurrent use.
type asOf[T any] struct {
	mu   sync.Mutex
	made *T
	at   uint64
}

// tell sends an event.
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

// await waits up to changeTime until outdated lists of these servers are read again.
func (h *Host) await(ctx context.Context, servers ...*server) {
	ctx, cancel := context.WithTimeout(ctx, changeTime)
	defer cancel()
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	h.gateway.Fresh(ctx, names...)
	for _, s := range servers {
		if s.isReady() { // a server that never answered is not awaited
			s.await(ctx)
		}
	}
}

// A tool is a server's tool with the host's data about it. It is immutable.
type tool struct {
	*mcp.Tool
	server     *server
	ref        ToolRef // name for users and rules; behind a gateway it names the member
	member     bool    // the tool belongs to a server behind a gateway
	id         string  // unique among all tools: SERVER__TOOL
	sent       model.Tool
	tokens     int               // estimate for its definition
	brief      func() model.Tool // the tool with a shortened definition, for results of searches
	fault      string            // reason why no provider accepts the tool; empty if they do
	definition guard.Definition
	link       apps.Link                // link to a view
	valid      func() *schema.Validator // validates arguments; nil if the schema is invalid
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
			return nil // the server will judge the arguments
		}
		return v
	})
	return full
}

// origin distinguishes servers with the name of the tool's server.
func (t *tool) origin() string {
	if t.member {
		return t.server.memberOrigin()
	}
	return t.server.origin()
}

// source returns the guard's source for the tool's results.
func (t *tool) source() guard.Source {
	return guard.Source{Server: t.ref.Server, Origin: t.origin(), Tool: t.ref.Tool}
}

// annotations returns the annotations of the server.
func (t *tool) annotations() mcp.ToolAnnotations {
	if t.Annotations == nil {
		return mcp.ToolAnnotations{}
	}
	return *t.Annotations
}

// claimed returns the annotations that count. They include the user's declaration that the tool
// only reads, if the server has no such annotation.
func (t *tool) claimed() mcp.ToolAnnotations {
	a := t.annotations()
	if t.heldToRead() {
		a.ReadOnlyHint = new(true)
	}
	return a
}

// heldToRead reports whether the user, and not the server, declares the tool to be read-only.
func (t *tool) heldToRead() bool {
	return t.annotations().ReadOnlyHint == nil && t.server.host.pins.Reads(t.definition, t.origin())
}

func (t *tool) title() string {
	if t.Title == "" && t.Annotations != nil {
		return t.Annotations.Title
	}
	return t.Title
}

// policyAnnotations converts annotations for package policy.
func policyAnnotations(a mcp.ToolAnnotations) policy.Annotations {
	return policy.Annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint, Idempotent: a.IdempotentHint, OpenWorld: a.OpenWorldHint}
}

// hints converts annotations for package guard.
func hints(a mcp.ToolAnnotations) guard.Annotations {
	return guard.Annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint, OpenWorld: a.OpenWorldHint}
}

// readsOnly reports whether the tool counts as read-only, so that its calls can run concurrently.
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

// separator joins server and tool in the name that the model sees.
const separator = "__"

const foundEach = 300 // tokens of a definition found by a search; longer texts are cut

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

// A view is a document that shows a tool's results (MCP Apps), in the form for approval.
type view struct {
	definition guard.Definition
	findings   []guard.Finding // findings in its text, if it is new or changed
}

// remedy returns advice for an error in which a server refused authorization, or "" for other
// errors.
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

// described finds the address of a server's description of its authorization.
var described = regexp.MustCompile(`resource_metadata="(https?://[^"\s]+)"`)

// get returns the cached value, and computes it with make if the number of changes differs.
func (a *asOf[T]) get(now uint64, make func() *T) *T {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.made == nil || a.at != now {
		a.made, a.at = make(), now
	}
	return a.made
}

// forget drops the cached value.
func (a *asOf[T]) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.made = nil
}

// Settle waits until the lists of every server were read, or failed to be, for the first time.
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

// A catalogue holds the tools and skills that the model can be given at one moment. Its tools are
// approved and not denied, and have a stable order.
type catalogue struct {
	tools   []*tool
	byName  map[string]*tool
	byID    map[string]*tool
	tokens  int
	of      map[*server]int             // number of each server's tools, if the tools were chosen; nil: all
	off     map[string]bool             // servers that the user switched off
	all     []listedTool                // all tools, including those that the model cannot have
	skills  map[*server][]*skills.Skill // approved skills
	servers []ServerTools               // without the state of the connections
}

// listedTool is a server's tool and its state for the model.
type listedTool struct {
	*tool
	state string // see ToolInfo
}
