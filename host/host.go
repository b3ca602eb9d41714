package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/consent"
	"github.com/junction-mcp/junction/host/internal/inprocess"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
	"github.com/junction-mcp/junction/toolsearch"
)

// Options are optional but for Model; the zero value of each field means its default.
type Options struct {
	// Model answers and asks for calls.
	Model model.Model
	// Gateway connects to the servers; nil means that all of Servers have a Handler. It is for this host
	// alone, with [gateway.Options].OneClient, and belongs to whoever made it.
	Gateway *gateway.Gateway
	// Servers are whose tools the model can be given, in the order in which it sees them: those of
	// Gateway, by their names there, and those that have a Handler, which are added to it.
	Servers []Server
	// Tools are the program's own, which [mcp.AddTool] adds as to any server; nil means none. They stand before those
	// of the servers, as tools of the server [OwnServer], and are never left to search. As the program vouches for them
	// they need no review, and their annotations are believed; consent, labels, traces and limits are those of any
	// trusted server. Its prompts and resources count as the program's own text. What a tool can do with the
	// conversation that calls it: [Child], [Labels], [Read].
	Tools *mcp.Server
	// System is added to the host's own system prompt.
	System string
	// BeforeStep is called before each request to the model that is a step of a run, of child
	// conversations too, and may be called by several of them at once. It may change what the
	// model is sent; an error ends the run, which returns it.
	BeforeStep func(ctx context.Context, step *Step) error

	// Person decides what must be decided by a person; nil is one who is not there, see [ErrNobody].
	Person Person
	// Policy says which calls may run; nil is the policy without rules, which asks
	// before whatever is not known to read only.
	Policy *policy.Policy
	// Remember makes a rule hold for good, beyond this process; nil means it cannot.
	Remember func(rule policy.Rule) error
	// RememberTrust makes the person's trust in a server hold for good, beyond this process;
	// nil means it cannot. It gets the server's name with its origin, as [policy.Named] has
	// them: another server of that name is not trusted. See [Host.Trust].
	RememberTrust func(name string) error
	// Pins are the definitions that a person approved; nil means none yet, and that
	// approvals are forgotten with the Host.
	Pins *guard.Pins
	// Search finds tools that are not sent along; nil means an index of its own.
	Search *toolsearch.Index

	// Roots are what servers may work in.
	Roots []mcp.Root
	// Limits end a run.
	Limits Limits
	// Budget says how much of the model's window may be used for what.
	Budget Budget

	// OnEvent is called with what happens, by one goroutine at a time, and holds it up
	// while it runs. It may ask the Host and its conversations what they know, but
	// must not wait for anything that tells events: a run, a new Conversation.
	OnEvent func(Event)
	// Trace fills the parts of events that are only for a trace.
	Trace bool
	// Noter, if not nil, is asked at each call of a tool and reading of a resource who hears what its messages do not say: what
	// was decided, as "policy", and the labels of what the conversation had read and of what it brought, as "labels". Nil: nobody.
	Noter func(server, method, name string) mcp.Noter
	// Middleware goes around the connection of each server that has a Handler. For one of Gateway, its
	// [gateway.Upstream].Dial can do the same.
	Middleware func(server string) mcp.Middleware
	// Logger gets what goes wrong with servers; default slog.Default().
	Logger *slog.Logger
}

// Limits end a run, each where it is not zero but for Steps, whose zero means 50.
// A run that was ended goes on with the next question.
type Limits struct {
	Steps  int           // requests to the model
	Time   time.Duration // from the question on
	Tokens int           // input and output
	Money  float64       // US dollars; counts only where the model's price is known
}

// Budget says how much of the model's window may be used for what, in tokens. The
// zero value of each field means its default.
type Budget struct {
	// Window is what the model can see; default what the model says, or 32,000.
	Window int
	// Tools is how much the definitions of tools may take before all of them are left to tool search; default a tenth
	// of the window, at most 8,000. Negative: none are left to search.
	Tools int
	// Result is how much of one result the model is shown at a time; default an eighth of the window, at most 8,000.
	Result int
	// Sampling is what one server may use of the model in one conversation; default 50,000.
	Sampling int
	// Always are servers whose tools are never left to tool search.
	Always []string
}

// Limits and times.
const (
	defaultSteps    = 50
	defaultWindow   = 32_000
	defaultSampling = 50_000
	leastResult     = 64               // tokens of a page
	maxParallel     = 8                // calls of one turn at the same time
	listTime        = 30 * time.Second // for what a server in this process says of itself, and for reading the views of one
	listenPause     = time.Minute      // before a server that ended listening is listened to again
)

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
	reviewing chan struct{} // holds one while a person reviews
	telling   sync.Mutex    // one event after the other
	mu        sync.Mutex
	rules     *policy.Policy
	refused   map[string]string // definitions of a server that the person refused: by server, their hash

	offered asOf[catalogue]       // what the model can be given
	guarded asOf[guard.Catalogue] // what the guard knows of all servers
}

// New returns a host that reads in the background what the servers offer. The error says which option is wrong.
func New(o Options) (*Host, error) {
	if o.Model == nil {
		return nil, errors.New("host: Options.Model is missing: without a model nobody answers (package model/offline needs neither network nor key)")
	}
	h := &Host{options: o, budget: o.Budget.withDefaults(o.Model.Info()), log: o.Logger, search: o.Search, pins: o.Pins, rules: o.Policy, refused: map[string]string{}}
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
	if err := h.addServers(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	h.running.Go(h.keepEmbedded)
	for _, s := range h.servers {
		h.running.Go(func() { s.watch(h.ctx) })
		h.running.Go(func() { // lets the server ask outside of calls
			for h.ctx.Err() == nil {
				_ = s.client.ListenWith(h.ctx, mcp.SubscriptionFilter{}, func(mcp.Notification) {}, func(mcp.SubscriptionFilter) {})
				wait(h.ctx, listenPause)
			}
		})
	}
	return h, nil
}

// addServers adds the program's own tools, before those of any server, so that none of these
// can stand in front of one, and the servers.
func (h *Host) addServers() error {
	if tools := h.options.Tools; tools != nil {
		if err := h.connect(Server{Name: OwnServer, Handler: tools, Trusted: true}); err != nil {
			return err
		}
	}
	for _, s := range h.options.Servers {
		if err := h.add(s); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) add(s Server) error {
	switch {
	case s.Name == "":
		return errors.New("host: a server without a name")
	case Reserved(s.Name):
		return fmt.Errorf("host: a server is called %q, under which the host shows what no server said; give it another name", s.Name)
	case slices.ContainsFunc(h.servers, func(other *server) bool { return other.Name == s.Name }):
		return fmt.Errorf("host: there are two servers called %q", s.Name)
	}
	return h.connect(s)
}

// connect adds a server, and to the gateway where it is in this process.
func (h *Host) connect(s Server) error {
	if s.Handler != nil {
		if err := h.gateway.Add(s.Name, h.within(s)); err != nil {
			return fmt.Errorf("host: %w", err)
		}
		h.added = append(h.added, s.Name)
	} else if _, found := h.gateway.StatusOf(s.Name); !found {
		return fmt.Errorf("host: server %q has no Handler, and is none of Options.Gateway", s.Name)
	}
	h.servers = append(h.servers, newServer(h, s))
	return nil
}

// Close ends what the host does in the background and waits for it. A run belongs to who asked, and ends with its
// context. The servers' Handlers and Options.Gateway are not closed: they belong to whoever made them.
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

// Model returns the model.
func (h *Host) Model() model.Model { return h.options.Model }

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

func (b Budget) withDefaults(info model.Info) Budget {
	b.Window = cmp.Or(b.Window, info.Window, defaultWindow)
	b.Tools = cmp.Or(b.Tools, min(b.Window/10, 8_000))
	b.Result = max(cmp.Or(b.Result, min(b.Window/8, 8_000)), leastResult)
	b.Sampling = cmp.Or(b.Sampling, defaultSampling)
	b.Always = append(b.Always[:len(b.Always):len(b.Always)], OwnServer)
	return b
}

// OwnServer is the name under which [Options].Tools are shown, and which rules are about. No other server can have it.
const OwnServer = "host"

// isOwn reports whether a name is, or reads like, that of the program's own tools.
func isOwn(server string) bool { return strings.EqualFold(strings.TrimSpace(server), OwnServer) }

// Reserved reports whether a name is, or reads like, [OwnServer] or another one under which
// the person is shown what no server said. No server can have it.
func Reserved(server string) bool {
	return slices.ContainsFunc([]string{OwnServer, fromPerson, consent.FromBefore, FromNotes}, func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(server), name)
	})
}

// FromNotes is the source of what was noted in earlier conversations; see [Read].
const FromNotes = "what was remembered"

// Labels are what the conversation has read in which the tool of [Options].Tools is called
// that ctx belongs to. Elsewhere they are all there are, as nothing is known then.
func Labels(ctx context.Context) guard.Labels {
	if c, err := ownCall(ctx); err == nil {
		return c.run.c.decider.Labels()
	}
	return guard.Private | guard.Untrusted
}

// Read notes, for the tool of [Options].Tools that ctx belongs to, from where the text is that it returns: a note that
// was taken while a stranger's page was read is a stranger's text still. A tool that says so is not labelled by its
// annotations. A source without an origin is that of no server, whatever its name is.
func Read(ctx context.Context, from guard.Source, labels guard.Labels, text string) error {
	c, err := ownCall(ctx)
	if err != nil {
		return err
	}
	c.labelled.Store(true)
	if labels != 0 {
		c.run.c.decider.Read(from, labels, text)
	}
	noteResult(ctx, from, labels)
	return nil
}

var errNotOwn = errors.New("the context is not that of a call of one of Options.Tools; pass on the one that the tool was called with")

// ownCall is the call of an own tool that runs with this context.
func ownCall(ctx context.Context) (*calling, error) {
	c := callFrom(ctx)
	if c == nil || c.run == nil || c.server.Name != OwnServer {
		return nil, errNotOwn
	}
	if c.over.Load() {
		return nil, fmt.Errorf("the call of %s is over", c.toolName())
	}
	return c, nil
}

// within says how the gateway reaches a server in this process: as any other, so that one that fails is tried again.
func (h *Host) within(s Server) gateway.Upstream {
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

// Person decides what the host must not decide alone. Its methods may be called from several goroutines; an
// implementation asks one thing after the other. Each waits until the person has answered or ctx is done. They are
// called while a run waits for them, so they must not wait for one themselves. What returns [ErrNobody] has said no;
// other errors end the review, the question or the call they belong to.
type Person interface {
	// Consent is asked whether a call may run.
	Consent(ctx context.Context, card Card) (Verdict, error)
	// Review is asked whether the definitions of servers may be used: at the first connection to each, and again for
	// whatever changed since. All that wait for a review come together, each server once, and the answers are in their
	// order. A yes to a server holds whatever error comes with it.
	Review(ctx context.Context, reviews []Review) ([]ReviewAnswer, error)
	// Elicit is asked to fill in a server's form or to visit its page.
	Elicit(ctx context.Context, form Form) (*mcp.ElicitResult, error)
	// Sample is asked whether a server may use the model. It may change the request.
	Sample(ctx context.Context, s Sampling) (bool, error)
}

// ErrNobody is what a [Person] returns where nobody can be asked. The answer is no
// then, and the model learns that nobody has given it.
var ErrNobody = errors.New("nobody is there to be asked")

// nobody is the Person of a Host that has none.
type nobody struct{}

func (nobody) Consent(context.Context, Card) (Verdict, error) { return Verdict{}, ErrNobody }

func (nobody) Review(context.Context, []Review) ([]ReviewAnswer, error) { return nil, ErrNobody }

func (nobody) Elicit(context.Context, Form) (*mcp.ElicitResult, error) { return nil, ErrNobody }

func (nobody) Sample(context.Context, Sampling) (bool, error) { return false, ErrNobody }

// Card is all that a person needs to say yes or no to a call. Texts are the
// server's own: whoever shows them cleans them.
type Card struct {
	CallID      string
	Agent       string // the sub-agent that wants it; empty: the conversation's own model
	Server      string // empty: a tool of the host itself
	Tool        string // as the server names it
	Title       string
	Description string
	Arguments   json.RawMessage // in full
	Annotations mcp.ToolAnnotations
	Trusted     bool // whether the server's annotations are believed
	// Reads is whether the person said, in a review, that the tool only reads, as its server does not say what it does.
	Reads bool
	// Reasons say why the person is asked: the rule, text of which untrusted
	// servers was read before, secrets among the arguments.
	Reasons []string
	// NoRule, where no rule is for the call, is the first of Reasons without what the call
	// does: for whoever shows that by Annotations.
	NoRule string
	// Allowed is the rule that allows the call, where what was read before, or what the call carries, asks for a yes
	// all the same; nil where the rules ask. It is not to be changed.
	Allowed *policy.Rule
	// Secret is whether the arguments hold what looks like a secret.
	Secret bool
	// Always are the rules that "always" could write, the narrowest first: those that would
	// save the next such question. Where there are none, Once says why.
	Always []AlwaysRule
	Once   string
	// Never are the rules that "never" could write, the narrowest first.
	Never []AlwaysRule
	// CanTrust is whether the person could trust the server, with [Verdict].Trust or
	// [Host.Trust].
	CanTrust bool
	// Resource is set where this is not a call but the reading of a resource.
	Resource string
}

// AlwaysRule is a rule that a person can have written.
type AlwaysRule struct {
	Label string // for people, such as "this tool with any arguments"
	Rule  policy.Rule
}

// Verdict is what a person said to a Card.
type Verdict struct {
	Allow bool
	// Rule, if not nil, is one of the card's Always rules (or of its Never rules, where
	// Allow is false): it holds until the host closes, or for good if Forever is set.
	Rule    *policy.Rule
	Forever bool
	// Question has the rule, if it allows, hold until the question is answered and no longer, and
	// only for the conversation that the call belongs to, with its parents and children.
	Question bool
	// Trust is whether the server is to be trusted from now on, for good if Forever is set.
	Trust bool
	// Note goes to the model where Allow is false: what to do instead.
	Note string
}

// Review shows a person what a server brings before the model sees it.
type Review struct {
	Server string
	// First is whether the server was never approved.
	First bool
	// Items are the definitions that are new or changed.
	Items []ReviewItem
}

// ReviewAnswer is what a person said to a Review. The zero ReviewAnswer is a no.
type ReviewAnswer struct {
	// Approve is whether the model may use what was shown.
	Approve bool
	// Trust is whether the server is to be trusted from now on, for good if Forever is set.
	// It counts with Approve only.
	Trust, Forever bool
	// Reads is whether the person holds those of the items to only read that are Silent. It
	// holds as long as they are what was shown, and for this server only; with Approve only.
	Reads bool
}

// ReviewItem is one definition that is new or changed.
type ReviewItem struct {
	Kind string // tool, prompt, instructions, command, ...
	Name string
	// Text is the whole definition where it is new, a diff where it changed, with hidden characters made visible.
	Text string
	// Value is the command or the version that is defined; empty for other kinds.
	Value    string
	Changed  bool
	Reads    bool // a tool that says that it only reads
	Silent   bool // a tool of which the server does not say whether it only reads
	Findings []guard.Finding
}

// Form is a question of a server to the person.
type Form struct {
	Server, Tool string // Tool is empty where the question belongs to no call
	Request      mcp.ElicitRequest
	// Warnings say what is suspicious about it, such as asking for a secret.
	Warnings []string
}

// Sampling is a server's wish to use the model.
type Sampling struct {
	Server, Tool string
	Request      *mcp.CreateMessageRequest
	Tokens       int // what it may cost at most: the request's estimate and its MaxTokens
	Budget       int // what the server may still use in this conversation
	Warnings     []string
}
