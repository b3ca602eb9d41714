package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/inprocess"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/toolsearch"
	"golang.org/x/time/rate"
)

// New returns a host that reads the servers' features in the background. The error names the option
// or the server that is not valid.
func New(o Options) (*Host, error) {
	if o.Model == nil {
		return nil, errors.New("host: Options.Model is missing: set a model (package model/offline needs neither network nor key)")
	}
	h := &Host{options: o, budget: o.WindowShares.withDefaults(o.Model.Info()), log: o.Logger, search: o.Search, pins: o.Pins, rules: o.Policy, refused: map[string]string{}}
	if h.log == nil {
		h.log = slog.Default()
	}
	if h.search == nil {
		h.search = toolsearch.New(toolsearch.Options{})
	}
	if h.pins == nil {
		h.pins = new(guard.Pins)
	}
	if h.options.Person == nil {
		h.options.Person = nobody{}
	}
	if h.rules == nil {
		var err error
		if h.rules, err = policy.Compile(nil, policy.Options{}); err != nil {
			return nil, fmt.Errorf("host: the policy without rules: %w", err)
		}
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	h.reviewing, h.embed = make(chan struct{}, 1), make(chan struct{}, 1)
	if h.gateway = o.Gateway; h.gateway == nil {
		h.gateway = gateway.New(gateway.Options{OneClient: true, Logger: h.log})
	}
	servers := o.Servers
	if o.Tools != nil { // first, so that these tools take precedence over any server's
		servers = slices.Concat([]Server{{Name: OwnServer, Handler: o.Tools, Trusted: true}}, servers)
	}
	for i, s := range servers {
		if err := h.connect(s, o.Tools != nil && i == 0); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	h.running.Go(h.keepEmbedded)
	for _, s := range h.servers {
		h.running.Go(func() { s.watch(h.ctx) })
		h.running.Go(func() { // listening lets the server ask outside of calls
			for h.ctx.Err() == nil {
				_ = s.client.ListenWith(h.ctx, mcp.SubscriptionFilter{}, func(mcp.Notification) {}, func(mcp.SubscriptionFilter) {})
				wait(h.ctx, listenPause)
			}
		})
	}
	return h, nil
}

// connect adds a server, and also adds it to the gateway if it is in this process. own reports that
// its tools are Options.Tools.
func (h *Host) connect(s Server, own bool) error {
	switch {
	case own:
	case s.Name == "":
		return errors.New("host: a server has no name")
	case Reserved(s.Name):
		return fmt.Errorf("host: a server is called %q, a name that the host uses for its own texts; give it another name", s.Name)
	case slices.ContainsFunc(h.servers, func(other *server) bool { return other.Name == s.Name }):
		return fmt.Errorf("host: there are two servers called %q", s.Name)
	}
	if s.Handler != nil {
		if err := h.gateway.Add(s.Name, h.inProcess(s)); err != nil {
			return fmt.Errorf("host: %w", err)
		}
		h.added = append(h.added, s.Name)
	} else if _, found := h.gateway.StatusOf(s.Name); !found {
		return fmt.Errorf("host: server %q has no Handler, and is not a server of Options.Gateway", s.Name)
	}
	h.servers = append(h.servers, newServer(h, s))
	return nil
}

// Close stops the work in the background and waits for it. Runs end with the context of their
// caller. Close does not close the servers' Handlers and Options.Gateway, which belong to the
// caller.
func (h *Host) Close() error {
	h.cancel()
	h.running.Wait()
	var errs []error
	for _, s := range h.servers {
		errs = append(errs, s.client.Close())
	}
	if h.options.Gateway == nil {
		return errors.Join(append(errs, h.gateway.Close())...)
	}
	for _, name := range h.added {
		errs = append(errs, h.gateway.Remove(context.Background(), name))
	}
	return errors.Join(errs...)
}

// Model returns the model.
func (h *Host) Model() model.Model { return h.options.Model }

// inProcess returns the gateway's upstream for a server in this process. The gateway treats it like
// any other, and reconnects after a failure.
func (h *Host) inProcess(s Server) gateway.Upstream {
	if h.options.Middleware != nil {
		s.Handler = mcp.Chain(s.Handler, h.options.Middleware(s.Name))
	}
	return gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		ctx, cancel := context.WithTimeout(ctx, listTime)
		defer cancel()
		client, err := mcp.DialWith(ctx, inprocess.Transport{Name: s.Name, Handler: s.Handler}, mcp.ClientOptions{Name: s.Name, Logger: h.log})
		if err != nil {
			return nil, fmt.Errorf("server %q: %w", s.Name, err)
		}
		return client, nil
	}}
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
		OnLog:       func(mcp.LogMessage) {}, // the middleware handles log messages
		Middleware:  []mcp.Middleware{attribute, tasks.Wait(tasks.WaitOptions{OnTask: srv.onTask, OnLook: srv.onLook, Leave: leavesTask})},
		Logger:      h.log,
	}
	if s.Name == OwnServer {
		o.Timeout = -1 // sub-agents can take long; the limits of the run apply
	}
	made, handler := false, h.gateway.Server(s.Name) // NewClientWith calls the handler; a server that never answers would block it
	srv.client = mcp.NewClientWith(mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if !made {
			return mcp.Result{}, errors.New("not yet")
		}
		return handler.Handle(ctx, req)
	}), o)
	made = true
	return srv
}

// Capabilities returns the client capabilities of a Host. A connection used only by a Host declares
// the same; see [mcp.ClientOptions.OneClient].
func Capabilities() *mcp.ClientCapabilities {
	return &mcp.ClientCapabilities{
		Roots:       &mcp.RootsCapability{},
		Sampling:    &mcp.SamplingCapability{Tools: &struct{}{}},
		Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}, URL: &struct{}{}},
	}
}

// keepEmbedded computes the vectors of new tools, if the search also compares meanings. Until then
// a search finds these tools by their words.
func (h *Host) keepEmbedded() {
	for {
		select {
		case <-h.embed:
		case <-h.ctx.Done():
			return
		}
		if err := h.search.Embed(h.ctx); err != nil && h.ctx.Err() == nil {
			h.notice(Notice{Kind: NoticeTools, Text: "tools are found only by their words: " + excerpt.Clean(err.Error())})
		}
	}
}

// Restart ends the connection to a server and connects again, without waiting. The model has none
// of its tools until its lists were read again. The error reports that the server does not exist,
// or that it cannot be restarted.
func (h *Host) Restart(server string) error {
	s, found := h.serverNamed(server)
	switch {
	case !found:
		return noServer(server)
	case s.Handler != nil:
		return fmt.Errorf("server %q cannot be restarted: it is part of the program", server)
	}
	s.mu.Lock()
	s.listed, s.err = false, nil
	s.mu.Unlock()
	s.hold(offer{}, nil)
	return h.gateway.Restart(server)
}

// Stderr returns the last lines that a server's program wrote to its standard error, if they are
// stored.
func (h *Host) Stderr(server string) []string {
	if s, found := h.serverNamed(server); found && s.Stderr != nil {
		return s.Stderr()
	}
	return nil
}

// Definitions returns all definitions of a server that need approval, as last read. The error
// reports that the server does not exist, or the reason why nothing could be read.
func (h *Host) Definitions(server string) ([]guard.Definition, error) {
	s, found := h.serverNamed(server)
	if !found {
		return nil, noServer(server)
	}
	if !s.isReady() {
		_, err := s.state()
		if err == nil {
			err = errors.New("its lists were not requested")
		}
		return nil, fmt.Errorf("server %q: its lists could not be read: %w", server, err)
	}
	return s.definitions(), nil
}

// Prompts returns the approved prompts of all servers.
func (h *Host) Prompts() (all []PromptRef) {
	for _, s := range h.servers {
		for _, p := range s.current().prompts {
			if h.approved(s, review.Prompt(s.Name, p)) {
				all = append(all, PromptRef{s.Name, p})
			}
		}
	}
	return all
}

// Resources returns the resources of all approved servers.
func (h *Host) Resources() (all []ResourceRef) {
	for _, s := range h.usable() {
		for _, r := range s.current().resources {
			all = append(all, ResourceRef{s.Name, r})
		}
	}
	return all
}

// Templates returns the resource templates of all approved servers.
func (h *Host) Templates() (all []TemplateRef) {
	for _, s := range h.usable() {
		for _, t := range s.current().templates {
			all = append(all, TemplateRef{s.Name, t})
		}
	}
	return all
}

// usable returns the approved servers.
func (h *Host) usable() []*server {
	return slices.DeleteFunc(slices.Clone(h.servers), func(s *server) bool { return !h.accepted(s) })
}

// Complete asks a server to complete an argument of a prompt or of a template.
func (h *Host) Complete(ctx context.Context, server string, req mcp.CompletionRequest) (*mcp.Completion, error) {
	s, why := h.serverOf(server, "")
	if s == nil {
		return nil, fmt.Errorf("completion: %s", why)
	}
	if !h.accepted(s) {
		return nil, fmt.Errorf("completion: %s", s.notAccepted())
	}
	return s.client.Complete(ctx, req)
}

// PromptRef is a prompt of a server.
type PromptRef struct {
	Server string
	Prompt *mcp.Prompt
}

// ResourceRef is a resource of a server.
type ResourceRef struct {
	Server   string
	Resource *mcp.Resource
}

// TemplateRef is a resource template of a server.
type TemplateRef struct {
	Server   string
	Template *mcp.ResourceTemplate
}

// SetOff switches a server off or on in this conversation and its children. While it is off, the
// model has none of its tools, resources and instructions, and its definitions are not reviewed.
// The change is recorded. The error reports that the server does not exist, or that the record
// failed.
func (c *Conversation) SetOff(server string, off bool) error {
	if _, found := c.host.serverNamed(server); !found {
		return noServer(server)
	}
	if c.isOff(server) == off {
		return nil
	}
	err := c.add(Entry{ServerSwitched: &ServerSwitched{Server: server, Off: off}})
	c.host.changes.Add(1)
	if !off {
		c.takeIn() // take in results of its tasks that came meanwhile
	}
	return err
}

// ReviewAgain makes the host ask the user again, before the model's next step, about a server's
// definitions. It applies to definitions that the user refused, and to those that were set aside
// because the server changed too often. The error reports that the server does not exist, or that
// it needs no review.
func (c *Conversation) ReviewAgain(name string) error {
	h := c.host
	s, found := h.serverNamed(name)
	if !found {
		return noServer(name)
	}
	if s.trusted() || !slices.ContainsFunc(s.definitions(), func(d guard.Definition) bool { return !s.pinned(d) }) {
		return fmt.Errorf("nothing to review for server %q", name)
	}
	c.mu.Lock()
	delete(c.reviews, name)
	c.mu.Unlock()
	h.refuse(name, "")
	h.changes.Add(1)
	return nil
}
