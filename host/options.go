package host

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/consent"
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

	// Person decides what must be decided by a user; nil is one who is not there, see [ErrNobody].
	Person Person
	// Policy says which calls may run; nil is the policy without rules, which asks
	// before whatever is not known to read only.
	Policy *policy.Policy
	// Remember makes a rule hold for good, beyond this process; nil means it cannot.
	Remember func(rule policy.Rule) error
	// RememberTrust makes the user's trust in a server hold for good, beyond this process;
	// nil means it cannot. It gets the server's name with its origin, as [policy.Named] has
	// them: another server of that name is not trusted. See [Host.Trust].
	RememberTrust func(name string) error
	// Pins are the definitions that a user approved; nil means none yet, and that
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

func (b Budget) withDefaults(info model.Info) Budget {
	b.Window = cmp.Or(b.Window, info.Window, defaultWindow)
	b.Tools = cmp.Or(b.Tools, min(b.Window/10, 8_000))
	b.Result = max(cmp.Or(b.Result, min(b.Window/8, 8_000)), leastResult)
	b.Sampling = cmp.Or(b.Sampling, defaultSampling)
	b.Always = append(b.Always[:len(b.Always):len(b.Always)], OwnServer)
	return b
}

// always reports whether the tools of a server are never left to search.
func (b Budget) always(server string) bool { return slices.Contains(b.Always, server) }

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

// Server is a server whose tools the model can be given.
type Server struct {
	// Name is the user's name for it: what tools are prefixed with, what rules and approvals are about.
	Name string
	// Handler answers for it where it is in this process: an [mcp.Server], an [mcp.Client]. It is
	// nil for a server of [Options].Gateway.
	Handler mcp.Handler
	// Trusted is for servers that the user would vouch for: their definitions need no review, their annotations are
	// believed, their results are not taken for somebody else's text (but where a tool says itself that it deals with
	// the outside world).
	Trusted bool
	// Public is for servers that have nothing private: a search engine, a weather service.
	Public bool
	// Origin is the command line or the URL, with the version of the package where
	// it is known. It is shown and pinned, and rules that cards write hold for it only.
	Origin []string
	// Local is for a program on this machine that runs as the user, so that what they attach is
	// no secret to it: no reason to ask about what claims to read, and to stay on this machine.
	Local bool
	// Stderr are the last lines that the server's program wrote to its standard error; nil means
	// that nobody keeps them.
	Stderr func() []string
	// Prefixed is for a gateway, whose tools are named SERVER__TOOL: cards and rules then name the server behind it.
	Prefixed bool
}

// A Step is a request to the model before it is made; see [Options].BeforeStep.
type Step struct {
	// Run and Number count as in [Event].
	Run, Number int
	// Agent is the name of the sub-agent whose step it is; empty: of none.
	Agent string
	// Instructions stand in the system prompt behind the host's: those of
	// [Options].System and [Agent].Instructions, unless they are changed here.
	Instructions string
	// Tools are what the model can have. What is taken out can be neither called nor
	// found in this step, and what is put in counts for nothing: only [Options] and the
	// person give tools. The built-in ones, to search and to read, are not among them.
	Tools []ToolInfo
	// Messages are the conversation as the model sees it. They are not to be changed.
	Messages []model.Message
}

// An Agent is whom a child conversation is with.
type Agent struct {
	// Name is shown to the user on cards and in events; required.
	Name string
	// Instructions are added to [Options].System.
	Instructions string
	// Limits end each of its runs, in addition to those of the run that it belongs to, which
	// count what it uses as well.
	Limits Limits
}

// OwnServer is the name under which [Options].Tools are shown, and which rules are about. No other server can have it.
const OwnServer = "host"

// isOwn reports whether a name is, or reads like, that of the program's own tools.
func isOwn(server string) bool { return strings.EqualFold(strings.TrimSpace(server), OwnServer) }

// Reserved reports whether a name is, or reads like, [OwnServer] or another one under which
// the user is shown what no server said. No server can have it.
func Reserved(server string) bool {
	return slices.ContainsFunc([]string{OwnServer, fromPerson, consent.FromBefore, FromNotes}, func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(server), name)
	})
}

// FromNotes is the source of what was noted in earlier conversations; see [Read].
const FromNotes = "what was remembered"

// fromPerson is where attached texts and pictures come from, for the flow of data.
const fromPerson = guard.Attached

// ServerName returns a name for a server that has none, of its command or of the host of its address.
func ServerName(origin string) string {
	if _, rest, isURL := strings.Cut(origin, "://"); isURL {
		origin, _, _ = strings.Cut(rest, "/")
	} else {
		origin = strings.TrimSuffix(filepath.Base(origin), filepath.Ext(origin))
	}
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '.' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '-'
	}, origin)
	switch {
	case name == "":
		return "server"
	case strings.EqualFold(name, OwnServer): // which Junction's tools are called
		return name + "-server"
	}
	return name
}
