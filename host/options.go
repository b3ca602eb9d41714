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

// Options configures a Host. Only Model is required; the zero value of every other field means its
// default. Values of the context given to [Conversation.Ask] reach BeforeStep, the Model's Generate
// and the handlers of Tools.
type Options struct {
	// Model answers questions and requests calls.
	Model model.Model
	// Gateway connects to the servers. With nil, every one of Servers must have a Handler. A
	// Gateway must serve only this host, with [gateway.Options].OneClient, and the caller closes
	// it.
	Gateway *gateway.Gateway
	// Servers lists the servers whose tools the model can use, in the order in which the model sees
	// them. A server of Gateway is listed by its name in Gateway; a server with a
	// Handler is added to Gateway.
	Servers []Server
	// Tools holds the program's own tools, which [mcp.AddTool] adds; nil means none. They come
	// before those of the servers, as tools of the server [OwnServer], and are always sent with the
	// request. They need no review, and their annotations are accepted. Consent, labels, traces and
	// limits apply as for any trusted server. Its prompts and resources count as the program's own
	// text. Handlers can use the calling conversation: see [Child], [Labels] and [Read].
	Tools *mcp.Server
	// System is appended to the host's own system prompt.
	System string
	// BeforeStep is called before each request to the model that is a step of a run, also of child
	// conversations. Several runs may call it concurrently. It may change the request. An error
	// ends the run, which returns it.
	BeforeStep func(ctx context.Context, step *Step) error

	// Person answers questions to the user. With nil, every answer is [ErrNobody].
	Person Person
	// Policy decides which calls may run. With nil, the user is asked about every call that is not
	// known to be read-only.
	Policy *policy.Policy
	// Remember stores a rule permanently; nil means that rules cannot be stored.
	Remember func(rule policy.Rule) error
	// RememberTrust stores the user's trust in a server permanently; nil means that trust cannot be
	// stored. The name includes the server's origin, in the form of [policy.Named], so that another
	// server of that name is not trusted. See [Host.Trust].
	RememberTrust func(name string) error
	// Pins holds the definitions that the user approved. With nil, there are none, and approvals
	// are forgotten with the Host.
	Pins *guard.Pins
	// Search finds tools that requests do not include; nil means a new index.
	Search *toolsearch.Index

	// Roots lists the folders that servers may work in.
	Roots []mcp.Root
	// Limits limits the resources of a run.
	Limits Limits
	// WindowShares divides the model's window.
	WindowShares WindowShares

	// OnEvent is called with each event, by one goroutine at a time, and blocks that goroutine. It
	// may read the state of the Host and its conversations. It must not wait for anything that
	// sends events, such as a run or a new Conversation.
	OnEvent func(Event)
	// Trace sets the fields of events that only a trace needs.
	Trace bool
	// NoteObserver, if not nil, is called at each call of a tool and each read of a resource. Its
	// result gets notes about facts that the messages do not contain. "policy" is the decision, and
	// "labels" are the labels of the texts that the conversation had read, or of the result.
	NoteObserver func(server, method, name string) mcp.NoteObserver
	// Middleware wraps the connection of each server that has a Handler. For a server of Gateway,
	// its [gateway.Upstream].Dial can do this.
	Middleware func(server string) mcp.Middleware
	// Logger logs errors of servers; default slog.Default().
	Logger *slog.Logger
}

// Limits limits the resources of a run. A zero field means no limit, except for Steps, where it
// means 50. The next question continues a run that a limit ended.
type Limits struct {
	Steps  int           // requests to the model
	Time   time.Duration // from the question to the answer
	Tokens int           // input and output together
	Money  float64       // US dollars; ignored if the model's price is unknown
}

// WindowShares divides the model's window, in tokens. The zero value of each field means its
// default.
type WindowShares struct {
	// Window is the size of the model's window. The default is the size that the model reports, or
	// 32,000.
	Window int
	// Tools is the maximum size of all tool definitions in a request. If they exceed it, the model
	// must search for tools. The default is a tenth of the window, at most 8,000. If it is
	// negative, all tools are sent.
	Tools int
	// Result is the size of the part of one result that the model sees at a time. The default is an
	// eighth of the window, at most 8,000.
	Result int
	// Sampling is the number of tokens that one server may use of the model in one conversation;
	// default 50,000.
	Sampling int
	// Always lists servers whose tools are always sent.
	Always []string
}

func (b WindowShares) withDefaults(info model.Info) WindowShares {
	b.Window = cmp.Or(b.Window, info.Window, defaultWindow)
	b.Tools = cmp.Or(b.Tools, min(b.Window/10, 8_000))
	b.Result = max(cmp.Or(b.Result, min(b.Window/8, 8_000)), leastResult)
	b.Sampling = cmp.Or(b.Sampling, defaultSampling)
	b.Always = append(b.Always[:len(b.Always):len(b.Always)], OwnServer)
	return b
}

// isAlwaysSent reports whether the tools of a server are always sent.
func (b WindowShares) isAlwaysSent(server string) bool { return slices.Contains(b.Always, server) }

// Defaults and limits.
const (
	defaultSteps    = 50
	defaultWindow   = 32_000
	defaultSampling = 50_000
	leastResult     = 64               // minimum tokens of a page
	maxParallel     = 8                // concurrent calls of one turn
	listTime        = 30 * time.Second // time for requests about the features of a server in this process, and for one server's views
	listenPause     = time.Minute      // pause before listening to a server again
)

// Server is a server whose tools the model can be given.
type Server struct {
	// Name is the user's name for the server. It prefixes the names of tools, and identifies the
	// server in rules and approvals.
	Name string
	// Handler answers the requests if the server is in this process: an [mcp.Server] or an
	// [mcp.Client] with [mcp.ClientOptions.Bridge]. A Client without Bridge declares only its own
	// callbacks to a legacy server, which then cannot ask the user. It is nil for a server of
	// [Options].Gateway.
	Handler mcp.Handler
	// Trusted marks a server that the user would vouch for. Its definitions need no review, and its
	// annotations are accepted. Its results count as trusted text, except those of tools that
	// contact the outside world. A tool that declares nothing about that counts as one that does.
	Trusted bool
	// Public marks a server without private data, such as a search engine or a weather service.
	Public bool
	// Origin is the command line or the URL, with the version of the package if it is known. Users
	// see it, approvals pin it, and rules that cards create apply to this origin only.
	Origin []string
	// Local marks a program on this machine that runs as the user and can read the user's
	// attachments anyway. A call that claims to read and to stay on this machine is therefore not a
	// reason to ask about them.
	Local bool
	// Stderr returns the last lines that the server's program wrote to its standard error; nil
	// means that they are not stored.
	Stderr func() []string
	// Prefixed marks a gateway with tools named SERVER__TOOL. Cards and rules then name the server
	// behind it.
	Prefixed bool
}

// A Step is a request to the model before it is made; see [Options].BeforeStep.
type Step struct {
	// Run and Number are the Run and Step of [Event].
	Run, Number int
	// Agent is the name of the sub-agent that the step belongs to, or "".
	Agent string
	// Instructions is the part of the system prompt after the host's own: [Options].System and
	// [Agent].Instructions, unless BeforeStep changes it.
	Instructions string
	// Tools lists the tools that the model can use. Removed tools can be neither called nor found
	// in this step. Added tools are ignored: only [Options] and the user provide tools. The
	// built-in tools for searching and reading are not in the list.
	Tools []ToolInfo
	// Messages is the model's view of the conversation. BeforeStep must not change it.
	Messages []model.Message
	// Totals counts the resources that the run used before this step.
	Totals Totals
}

// An Agent describes the sub-agent of a child conversation.
type Agent struct {
	// Name is shown to the user on cards and in events. It is required.
	Name string
	// Instructions is appended to [Options].System.
	Instructions string
	// Limits applies to each run of the agent. The limits of the parent's run apply too, and that
	// run's totals include the agent's.
	Limits Limits
}

// OwnServer is the server name of [Options].Tools, for users and in rules. Other servers cannot
// have it.
const OwnServer = "host"

// isOwn reports whether a server name equals OwnServer, ignoring case and spaces.
func isOwn(server string) bool { return strings.EqualFold(strings.TrimSpace(server), OwnServer) }

// Reserved reports whether a server name equals a name that the host shows for its own texts,
// ignoring case and spaces. Servers cannot have such a name.
func Reserved(server string) bool {
	return slices.ContainsFunc([]string{OwnServer, fromPerson, consent.FromBefore, FromNotes}, func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(server), name)
	})
}

// FromNotes is the source of notes from earlier conversations; see [Read].
const FromNotes = "what was remembered"

// fromPerson is the source of attached texts and pictures in the flow of data.
const fromPerson = guard.Attached

// ServerName derives a name for a server without one, from its command or from the host of its
// address.
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
	case strings.EqualFold(name, OwnServer): // the name is used for Junction's own tools
		return name + "-server"
	}
	return name
}
