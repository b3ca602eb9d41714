package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/toolsearch"
	"golang.org/x/time/rate"
)

// Server is a server whose tools the model can be given.
type Server struct {
	// Name is the person's name for it: what tools are prefixed with, what rules and approvals are about.
	Name string
	// Handler answers for it where it is in this process: an [mcp.Server], an [mcp.Client]. It is
	// nil for a server of [Options].Gateway.
	Handler mcp.Handler
	// Trusted is for servers that the person would vouch for: their definitions need no review, their annotations are
	// believed, their results are not taken for somebody else's text (but where a tool says itself that it deals with
	// the outside world).
	Trusted bool
	// Public is for servers that have nothing private: a search engine, a weather service.
	Public bool
	// Origin is the command line or the URL, with the version of the package where
	// it is known. It is shown and pinned, and rules that cards write hold for it only.
	Origin []string
	// Local is for a program on this machine that runs as the person, so that what they attach is
	// no secret to it: no reason to ask about what claims to read, and to stay on this machine.
	Local bool
	// Stderr are the last lines that the server's program wrote to its standard error; nil means
	// that nobody keeps them.
	Stderr func() []string
	// Prefixed is for a gateway, whose tools are named SERVER__TOOL: cards and rules then name the server behind it.
	Prefixed bool
}

// The states of a server.
const (
	StateConnected  = "connected"
	StateConnecting = "connecting"
	StateFailed     = "failed"
	StateUnapproved = "unapproved" // a person must see its definitions first
)

// A server is a Server and what it offers.
type server struct {
	Server
	host    *Host
	client  *mcp.Client
	settled chan struct{} // closed when its lists were read, or could not be, once
	settle  func()        // closes it
	look    chan struct{} // of capacity 1: somebody waits for what it offers now

	vouched    atomic.Bool   // the person trusts it now
	unprompted atomic.Int32  // requests that belong to no call
	notices    *rate.Limiter // that its tools changed

	mu       sync.RWMutex
	offer    offer
	from     *definitions.Definitions // what that was made of; nil while it offers nothing
	taken    chan struct{}            // closed, and made new, when offer is replaced
	listed   bool
	err      error
	reported string // what is wrong with its lists, as the person was notified

	unlisted int // skills that were found by their URIs
}

// Capabilities are what a Host declares that servers can ask it. A connection
// that is made for a Host alone declares the same; see [mcp.ClientOptions.OneClient].
func Capabilities() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{
		Roots:       &mcp.RootsCapability{},
		Sampling:    &mcp.SamplingCapability{Tools: &struct{}{}},
		Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
	}
}

func newServer(h *Host, s Server) *server {
	srv := &server{Server: s, host: h, settled: make(chan struct{}), look: make(chan struct{}, 1), taken: make(chan struct{}), notices: rate.NewLimiter(rate.Every(toolNoticeTime), maxToolNotices)}
	srv.settle = sync.OnceFunc(func() { close(srv.settled) })
	srv.vouched.Store(s.Trusted)
	o := mcp.ClientOptions{
		Info:        mcp.Implementation{Name: "junction", Title: "Junction"},
		Name:        s.Name,
		OnElicit:    srv.elicit,
		ElicitURL:   true,
		OnSample:    srv.sample,
		SampleTools: true,
		OnRoots:     func(context.Context) ([]mcp.Root, error) { return h.options.Roots, nil },
		LogLevel:    mcp.LogInfo,
		OnLog:       func(mcp.LogMessage) {}, // attribution hears them
		Middleware:  []mcp.Middleware{attribute, tasks.Wait(tasks.WaitOptions{OnTask: srv.onTask, OnLook: srv.onLook, Leave: leavesTask})},
		Logger:      h.log,
	}
	if s.Name == OwnServer {
		o.Timeout = -1 // a sub-agent takes its time; the run's limits are for it
	}
	made, handler := false, h.gateway.Server(s.Name) // a client that is made asks what its handler is, and one that never answers would hold up everything
	srv.client = mcp.NewClientWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if !made {
			return mcp.Result{}, errors.New("not yet")
		}
		return handler.Handle(ctx, req)
	}), o)
	made = true
	return srv
}

// state tells how it stands with the server.
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

// watch keeps the offer fresh until ctx is done.
func (s *server) watch(ctx context.Context) {
	defer s.settle()
	for {
		changed := s.host.gateway.Changed()
		s.takeUp(ctx)
		select {
		case <-changed:
		case <-s.look:
		case <-ctx.Done():
			return
		}
	}
}

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

// takeUp has the offer be what the gateway knows of the server now.
func (s *server) takeUp(ctx context.Context) {
	status, _ := s.host.gateway.StatusOf(s.Name)
	offered := s.host.gateway.Offered(s.Name)
	from, _ := s.madeOf()
	switch {
	case offered == nil && status.State == gateway.Failed:
		s.failed(status.Err)
	case offered == nil && from != nil:
		s.hold(offer{}, nil)
		return
	case offered == nil:
		return
	case offered != from:
		s.replace(offered, s.read(ctx, offered))
	}
	s.tellLists(status.Err)
	if status.State != gateway.Connecting { // the gateway shows the lists a moment before the server counts as connected
		s.settle()
	}
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

func (s *server) replace(from *definitions.Definitions, fresh offer) {
	s.mu.Lock()
	known, lost := s.from != nil, s.err != nil
	before := s.offer.tools
	s.listed, s.err = true, nil
	s.mu.Unlock()
	s.hold(fresh, from)
	s.setAside(before, fresh.tools)
	switch {
	case lost:
		s.host.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("server %q is back, with %d tools", s.Name, len(fresh.tools))})
	case known:
		s.tellDifference(before, fresh.tools)
	}
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

// tellLists reports that a list cannot be read or is cut, once.
func (s *server) tellLists(err error) {
	text := ""
	if list, is := errors.AsType[*gateway.ListError](err); is {
		text = s.why(list)
	}
	s.mu.Lock()
	known := s.reported
	s.reported = text
	s.mu.Unlock()
	if text != "" && text != known {
		s.host.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("server %q lists not all that it has: %s", s.Name, text)})
	}
}

// why is an error of the server as a person reads it behind the server's name, which
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

func (h *Host) notice(n Notice) { h.tell(Event{Notice: &n}) }

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

// read makes an offer of what the server lists. Its views are read from it.
func (s *server) read(ctx context.Context, d *definitions.Definitions) offer {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	listed := decoded[mcp.Tool](s, "tools/list", d.Tools)
	tools := make([]*tool, 0, len(listed))
	seen := make(map[string]bool, len(listed))
	names := model.NewNames() // of this list only, so that a server that always has other names fills nothing
	for _, t := range listed {
		if t != nil && t.Name != "" && !seen[t.Name] { // of two with one name the first counts
			seen[t.Name] = true
			tools = append(tools, s.tool(t, names))
		}
	}
	fresh := offer{
		prompts: decoded[mcp.Prompt](s, "prompts/list", d.Prompts), resources: decoded[mcp.Resource](s, "resources/list", d.Resources),
		templates: decoded[mcp.ResourceTemplate](s, "resources/templates/list", d.Templates), tools: tools,
		instructions: d.Instructions,
	}
	if d.Capabilities != nil {
		_ = schema.DecodeLoose(d.Capabilities, &fresh.has) // what cannot be read is not offered
	}
	if info := new(mcp.Implementation); d.Server != nil && schema.DecodeLoose(d.Server, info) == nil {
		fresh.info = info
	}
	fresh.skills = s.readSkills(ctx, decoded[skills.Skill](s, skills.MethodList, d.Skills))
	fresh.views = s.readViews(ctx, fresh.tools)
	return fresh
}

// decoded decodes a list. An entry that cannot be read does not hide the others.
func decoded[T any](s *server, method string, list []json.RawMessage) []*T {
	var all []*T
	for _, raw := range list {
		entry := new(T)
		if err := schema.DecodeLoose(raw, entry); err != nil {
			s.host.log.Debug("an entry of a list cannot be read", "server", s.Name, "method", method, "error", err)
			continue
		}
		all = append(all, entry)
	}
	return all
}

// How often a person is notified that a server's tools are others now.
const (
	maxToolNotices = 5                // at once
	toolNoticeTime = 10 * time.Second // for one more
)

// maxFaultsListed is how many tools that are set aside are named one by one.
const maxFaultsListed = 10

// changeTime is how long a step waits for lists of which it is known that they changed.
const changeTime = 2 * time.Second

// refresh takes up what the servers offer now, if anything of it changed since the last time: the person is asked about
// what is new or different before the model sees it, and what went is taken out of the model's hands.
func (r *run) refresh(ctx context.Context) error {
	r.h.await(ctx, r.h.servers...)
	now := r.h.changes.Load() // before anything is looked at, so that no change falls in between
	if r.catalogue != nil && now == r.seen {
		return nil
	}
	if err := r.h.review(ctx, r.c); err != nil {
		return err
	}
	r.c.relabel()
	r.h.offered.forget() // pins are not the host's alone
	r.choose()
	r.seen = now
	return nil
}

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

// setAside reports tools that the model cannot be given, once.
func (s *server) setAside(old, fresh []*tool) {
	known := make(map[string]string, len(old))
	for _, t := range old {
		known[t.Name] = t.fault
	}
	found := 0
	for _, t := range fresh {
		if t.fault == "" || known[t.Name] == t.fault {
			continue
		}
		if found++; found <= maxFaultsListed {
			s.host.notice(Notice{Kind: NoticeLowered, Server: t.ref.Server, Tool: t.ref.Tool, Text: "was set aside: " + excerpt.Clean(t.fault)})
		}
	}
	if more := found - maxFaultsListed; more > 0 {
		s.host.notice(Notice{Kind: NoticeLowered, Server: s.Name, Text: fmt.Sprintf("%d more tools of server %q were set aside", more, s.Name)})
	}
}

// tellDifference reports how the tools changed, but not at every change of a server that changes all the time.
func (s *server) tellDifference(before, fresh []*tool) {
	what := difference(before, fresh)
	if what == "" {
		return
	}
	if !s.notices.Allow() {
		return
	}
	text := fmt.Sprintf("server %q has %d tools now: %s", s.Name, len(fresh), what)
	if s.notices.Tokens() < 1 {
		text += " (it changes them all the time; not every change is reported)"
	}
	s.host.notice(Notice{Kind: NoticeTools, Server: s.Name, Text: text})
}

// difference says how the tools of two offers differ; empty if they do not.
func difference(old, fresh []*tool) string {
	before := make(map[string]guard.Definition, len(old))
	for _, t := range old {
		before[t.Name] = t.definition
	}
	added, changed := 0, 0
	for _, t := range fresh {
		d, known := before[t.Name]
		delete(before, t.Name)
		switch {
		case !known:
			added++
		case d.Hash() != t.definition.Hash():
			changed++
		}
	}
	var words []string
	for _, c := range []struct {
		many int
		what string
	}{{added, "new"}, {len(before), "gone"}, {changed, "changed"}} {
		if c.many > 0 {
			words = append(words, fmt.Sprintf("%d %s", c.many, c.what))
		}
	}
	return strings.Join(words, ", ")
}

// identity is what a server is, apart from what it offers: how it is started or reached, and what it calls itself.
func (s *server) identity(o offer) []guard.Definition {
	var all []guard.Definition
	if len(s.Origin) > 0 {
		all = append(all, guard.Definition{Kind: guard.Command, Server: s.Name, Text: strings.Join(s.Origin, " ")})
	}
	version := guard.Definition{Kind: guard.Version, Server: s.Name, Text: "(the server does not name itself)"}
	if o.info != nil {
		version.Title, version.Text = o.info.Title, strings.TrimSpace(o.info.Name+" "+o.info.Version)
	}
	return append(all, version)
}

// accepted reports whether a server may be used at all. One that is started by another command or has another version
// is another server, whatever of its tools stayed the same.
func (h *Host) accepted(s *server) bool {
	return s.trusted() || !slices.ContainsFunc(s.identity(s.current()), func(d guard.Definition) bool { return !s.pinned(d) })
}

// pinned reports whether a definition of the server is one that the person approved, or need not be.
func (s *server) pinned(d guard.Definition) bool {
	d.Origin = cmp.Or(d.Origin, s.origin())
	return s.trusted() || s.host.pins.Check(d).State == guard.Same
}

// notAccepted says that a server cannot be used yet.
func (s *server) notAccepted() string {
	return fmt.Sprintf("server %q is not approved, or is not the one that was; a person has to approve it first", s.Name)
}

// withdrawn says why a call must not be made though it was allowed: the tool that
// the person agreed to is not the one that the server has now. Empty if it is.
func (t *tool) withdrawn(ctx context.Context) string {
	s := t.server
	if s.trusted() {
		return ""
	}
	s.host.await(ctx, s)
	for _, now := range s.current().tools {
		if now.Name != t.Name {
			continue
		}
		if now != t && now.definition.Hash() != t.definition.Hash() || !s.host.approved(s, now.definition) {
			return fmt.Sprintf("%s was not called: server %q changed its definition, and a person has to approve it first.", t.sent.Name, s.Name)
		}
		return ""
	}
	if _, err := s.state(); err != nil {
		return fmt.Sprintf("%s was not called: server %q does not answer: %s", t.sent.Name, s.Name, s.why(err))
	}
	return fmt.Sprintf("%s was not called: server %q does not have it any more.", t.sent.Name, s.Name)
}

// Trust has a server count as trusted until the Host is closed, or for good: see
// [Server].Trusted. The error says that there is no such server, or that it counts as trusted
// until then only, and why.
func (h *Host) Trust(server string, forever bool) error {
	s, found := h.serverNamed(server)
	if !found {
		return noServer(server)
	}
	s.vouched.Store(true)
	h.changes.Add(1)
	if !forever {
		return nil
	}
	err := errors.New("there is no place to keep it")
	if h.options.RememberTrust != nil {
		err = h.options.RememberTrust(policy.NameOf(server, s.origin()))
	}
	if err != nil {
		return fmt.Errorf("server %q is trusted until the end of the program only: %w", server, err)
	}
	return nil
}

// Trust is [Host.Trust] in this conversation: what was read of the server before counts as that of a trusted one, too.
func (c *Conversation) Trust(server string, forever bool) error {
	if _, found := c.host.serverNamed(server); !found {
		return noServer(server)
	}
	c.trust(server, forever) // it tells what went wrong
	return nil
}

// trust is [Host.Trust] in the middle of a conversation: of what was read before only what
// is somebody else's stays untrusted.
func (c *Conversation) trust(server string, forever bool) {
	if err := c.host.Trust(server, forever); err != nil {
		c.host.notice(Notice{Kind: NoticeServer, Server: server, Text: err.Error()})
	}
	s, found := c.host.serverNamed(server)
	if !found || !s.trusted() {
		return
	}
	c.decider.Trust(func(from guard.Source) bool {
		return slices.ContainsFunc(s.current().tools, func(t *tool) bool {
			return t.source() == from && guard.LabelsOf(s.trust(), hints(t.annotations()))&guard.Untrusted == 0
		})
	}, s.said)
}

// Distrust ends the trust in a server until the Host is closed, whoever gave it: what it
// defines is reviewed unless it was approved, and what was read of it counts as untrusted.
// The error says that there is no such server, or that it is the program's own.
func (c *Conversation) Distrust(server string) error {
	s, found := c.host.serverNamed(server)
	switch {
	case !found:
		return noServer(server)
	case isOwn(server):
		return fmt.Errorf("the tools of %q are the program's own", server)
	}
	s.vouched.Store(false)
	c.host.changes.Add(1)
	c.relabel()
	c.decider.Reconsider()
	return c.saveFlow()
}

// relabel has what servers that are not trusted said before, and those behind them, count as untrusted, also where it
// was read while they were: in an earlier session, or before another conversation ended the trust.
func (c *Conversation) relabel() {
	for _, s := range c.host.servers {
		if !s.trusted() {
			c.decider.Distrust(s.said)
		}
	}
}

func (h *Host) serverNamed(name string) (s *server, found bool) {
	i := slices.IndexFunc(h.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		return nil, false
	}
	return h.servers[i], true
}

// origin tells the server from others of its name.
func (s *server) origin() string { return policy.OriginOf(s.Origin) }

// memberOrigin tells the servers behind a gateway from others of their names: they are what this gateway calls so.
func (s *server) memberOrigin() string {
	return policy.OriginOf([]string{"(behind a gateway)", s.Name, s.origin()})
}

// source is the server, or something of it, as the flow of data knows it.
func (s *server) source(uri string) guard.Source {
	return guard.Source{Server: s.Name, Origin: s.origin(), URI: uri}
}

// said reports whether a source is the server's, or that of a server behind it.
func (s *server) said(from guard.Source) bool {
	return from.IsOf(s.Name, s.origin()) || s.Prefixed && from.Origin == s.memberOrigin()
}

// hasSaid reports whether a source is that of a server that is here.
func (h *Host) hasSaid(from guard.Source) bool {
	return slices.ContainsFunc(h.servers, func(s *server) bool { return s.said(from) })
}

func (s *server) trusted() bool { return s.vouched.Load() }

func (s *server) trust() guard.Trust { return guard.Trust{Trusted: s.trusted(), Public: s.Public} }
