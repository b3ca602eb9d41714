package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/filename"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/sandbox"
)

// A Target is a server that can be connected to.
type Target struct {
	Name         string // empty means the name of the transport
	Origin       string // place of the definition; empty for a target that the command line gives
	Transport    mcp.Transport
	By           *Transport    // nil for a server in this process or in another junction
	Timeout      time.Duration // for one request; 0 means the default
	StartTimeout time.Duration // 0: the default
	Revision     string        // the only revision to use; empty means any that the server supports
	// Server is the resolved entry; nil without an entry.
	Server      *config.Server
	IsInstalled bool                  // whether a program of junction.lock replaces the one in the entry
	Locked      *install.LockedServer // lock of the server; nil without one
	Through     string                // the junction up that serves it; empty if this process connects to the server itself
	Connected   func()                // called by a gateway after it connects; may be nil
	IsGateway   bool                  // whether the entry leads to a gateway of this program, whose refusals are reported as such
}

// Title returns the server's name for users.
func (t *Target) Title() string { return cmp.Or(t.Name, t.Transport.String()) }

// IsProgram reports whether the server is a program that is started.
func (t *Target) IsProgram() bool { return t.By != nil && t.By.IsProgram }

// IsWeb reports whether the server is reached over HTTP, where requests have headers.
func (t *Target) IsWeb() bool { return t.By != nil && t.By.IsWeb }

// Connect connects to the server of an entry after the user consents. A program must start within
// the startTimeout of its entry; a package runner may take longer while it works.
func (l *Launcher) Connect(ctx context.Context, e Entry) (*mcp.Client, error) {
	if err := l.Consent(ctx, e); err != nil {
		return nil, err
	}
	t, err := l.Target(ctx, e)
	if err != nil {
		return nil, err
	}
	return Dial(ctx, t.Transport, l.Options(t), unwatched{}, t.StartTimeout, false)
}

// Target returns the target of an entry that the user consented to. Its variables are replaced, its
// lock is applied, and its sandbox is set up.
func (l *Launcher) Target(ctx context.Context, e Entry) (Target, error) {
	return l.TargetWith(ctx, e, l.AuthorizedAs)
}

// TargetWith is like [Launcher.Target], but a server with a URL gets its requests through send.
func (l *Launcher) TargetWith(ctx context.Context, e Entry, send Sender) (Target, error) {
	d := e.Definition
	if d == nil {
		h, err := l.open(ctx, e.Name)
		if err != nil {
			return Target{}, err
		}
		return Target{Name: e.Name, Origin: e.Origin(l.Place), Transport: stream.PipeWith(h, mcp.ServeOptions{Logger: l.logger()})}, nil
	}
	if slices.Contains(l.Chain(), EntryMark(d)) {
		return Target{}, fmt.Errorf("server %q would start itself: its entry in %s runs junction again", e.Name, d.Source)
	}
	s, err := d.Resolve(ctx)
	if err != nil {
		return Target{}, err
	}
	started, locked, err := l.Started(ctx, e, s)
	if err != nil {
		return Target{}, err
	}
	by := Of(started.Kind)
	t, err := l.connect(by, started, d, send)
	if c, is := t.(*command.Command); is && err == nil {
		err = l.confine(c, e, locked)
	}
	return Target{Name: s.Name, Origin: e.Origin(l.Place), By: by, Transport: t, Timeout: s.Timeout, Server: s, IsInstalled: started != s, Locked: locked, StartTimeout: d.StartTimeout, Revision: d.Revision}, err
}

// confine sets up the sandbox of an entry's program from the settings, or else from the lock.
func (l *Launcher) confine(c *command.Command, e Entry, locked *install.LockedServer) error {
	if e.Sandbox == nil {
		return nil
	}
	s, err := e.Sandbox()
	if err != nil {
		return fmt.Errorf("server %q: the settings cannot be read, which may confine it: %w", e.Name, err)
	}
	var p *sandbox.Profile
	if locked != nil {
		p = locked.Sandbox
	}
	return l.ConfineBy(c, e.Name, s, p, sandbox.Options{Package: l.InstalledFolders(locked), Folder: e.Definition.Cwd != ""})
}

// Options returns the options for a client of t.
func (l *Launcher) Options(t Target) mcp.ClientOptions {
	o := mcp.ClientOptions{
		Info: l.Info, Name: t.Name, Revision: cmp.Or(l.Revision, t.Revision), Logger: l.Logger(t.Name),
		Timeout: cmp.Or(l.Timeout, t.Timeout), ConnectTimeout: cmp.Or(l.Timeout, t.StartTimeout),
	}
	if t.Server != nil && !t.IsGateway { // a server could set the marks of a gateway
		o.Middleware = append(o.Middleware, removeRefusalMarks)
	}
	// A call that becomes a task waits for the task. The client of a proxy that handles tasks
	// itself does not.
	o.Middleware = append(o.Middleware, tasks.Wait(tasks.WaitOptions{}))
	if l.Traffic != nil {
		o.Wire = l.Traffic.Server(t.Title())
	}
	if l.Recorder != nil && !l.RecordsFront {
		o.Middleware = append(o.Middleware, l.Recorder.Middleware(t.Title()))
	}
	return o
}

// Startable reports whether the program of a server exists. A server with a missing program need
// not wait for its turn to start, because the start fails at once.
func Startable(p place.Place, s *config.Server) bool {
	if _, changed := s.Env["PATH"]; filepath.IsAbs(s.Command) || !changed {
		_, err := p.LookPath(s.Command)
		return err == nil
	}
	return true // the start reports a more precise error
}

// An Entry is a server that a command line can name: an entry of a configuration, or a server that
// ships with junction.
type Entry struct {
	Name       string
	Definition *config.Definition                // nil for a server that ships with junction
	Sandbox    func() (*settings.Sandbox, error) // returns the settings of its sandbox, or nil; if the func itself is nil, the program is never confined, not even by its lock
}

// Origin describes the place where the server is defined.
func (e Entry) Origin(p place.Place) string {
	if e.Definition == nil {
		return "ships with junction"
	}
	return "defined in " + p.Short(e.Definition.Source)
}

// IdleText describes a server without a connection: "not started" for a program, or "not connected"
// for a URL.
func (e Entry) IdleText() string {
	if e.Definition != nil && !IsProgram(e.Definition.Kind) {
		return "not connected"
	}
	return "not started"
}

// Source returns the file that defines the server, or "" for a server that ships with junction.
func (e Entry) Source() string {
	if e.Definition == nil {
		return ""
	}
	return e.Definition.Source
}

// OfProject reports whether a project's file defines the server.
func (e Entry) OfProject() bool { return e.Definition != nil && e.Definition.Project }

// IsAPI reports whether the server is this program, which serves an API.
func (e Entry) IsAPI() bool { return e.Definition != nil && e.Definition.Words() == nil }

// IsDisabled reports whether the user disabled the server.
func (e Entry) IsDisabled() bool { return e.Definition != nil && e.Definition.Disabled }

// NeedsInput reports whether the user must supply a value for the entry.
func NeedsInput(d *config.Definition) bool {
	return slices.ContainsFunc(d.Variables(), func(variable string) bool { return strings.HasPrefix(variable, "input:") })
}

// Command returns the command line or URL that identifies the server to hosts and rules. It returns
// nil for a server that ships with junction. It includes the folder of a project, because the same
// words may start another program elsewhere. It also includes a hash of secrets, defaults and
// values of environment variables.
func (e Entry) Command() []string {
	if e.Definition == nil {
		return nil
	}
	return Origin(e.Definition, e.Definition.Hash())
}

// CommandText returns the command line or URL without secrets. It returns "" for a server that
// ships with junction.
func (e Entry) CommandText() string {
	if e.Definition == nil {
		return ""
	}
	named := e.Definition.Name + " (" + e.Definition.Kind.String() + "): "
	return strings.Join(append([]string{strings.TrimPrefix(e.Definition.String(), named)}, e.Definition.Around()...), " ")
}

// WantsLogin reports whether an error means that the server refused this user.
func WantsLogin(err error) bool {
	refused, is := errors.AsType[*mcp.StatusError](err)
	return errors.Is(err, oauth.ErrLogin) || is && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden)
}

// OffersNothing sets options for a client that only tries a server: it declines forms and lists no
// folders.
func OffersNothing(o *mcp.ClientOptions) {
	o.ElicitURL = true
	o.OnElicit = func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	o.OnRoots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{}, nil }
}

// Origin returns the words that identify a server: its command or address and the hash of its
// definition.
func Origin(d *config.Definition, hash string) []string {
	words := append([]string{d.String()}, d.Around()...)
	if hash != "" {
		words = append(words, "(hash "+hash+")")
	}
	if d.Project {
		words = append(words, "(in "+filepath.Dir(filename.Real(d.Source))+")")
	}
	return words
}

// removeRefusalMarks is middleware that removes marks from a server's responses. A mark tells a
// gateway that another gateway refused the request itself.
func removeRefusalMarks(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" && req.Peer != nil {
			listens := *req
			listens.Peer = &unmarkedPeer{req.Peer}
			req = &listens
		}
		result, err := next.Handle(ctx, req)
		result.Meta = refused.Without(result.Meta)
		if req.Method == "tasks/get" && err == nil {
			if body, fault := result.Encoded(); fault == nil {
				result = result.WithJSON(refused.WithoutInTask(body))
			}
		}
		if fault, is := errors.AsType[*mcp.Error](err); is && refused.In(fault.Data) != "" {
			return result, &mcp.Error{Code: fault.Code, Message: fault.Message, Data: refused.Without(fault.Data), Server: fault.Server}
		}
		return result, err
	})
}

// An unmarkedPeer is the Peer of a subscription. It removes the marks from notifications about
// tasks.
type unmarkedPeer struct{ mcp.Peer }

// Unwrap returns the wrapped Peer, for [mcp.PeerAs].
func (p *unmarkedPeer) Unwrap() mcp.Peer { return p.Peer }

// Notify implements [mcp.Peer].
func (p *unmarkedPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == "notifications/tasks" {
		params = refused.WithoutInTask(params)
	}
	return p.Peer.Notify(ctx, method, params)
}
