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
	Name         string // empty: the transport's own
	Origin       string // where it is defined; empty where the command line gives it
	Transport    mcp.Transport
	By           *Transport    // nil: it is in this process, or another junction has it
	Timeout      time.Duration // 0: the default
	StartTimeout time.Duration // 0: the default
	Revision     string        // to speak with it; empty: which it knows
	// Server is its configured server; nil without an entry.
	Server      *config.Server
	IsInstalled bool                  // the program of junction.lock replaces that of Server
	Locked      *install.LockedServer // nil: nothing is locked of it
	Through     string                // the junction up that has it; empty: this process connects to it
	Connected   func()                // called by a gateway that is connected to it; may be nil
}

// Title returns the server's name for users.
func (t *Target) Title() string { return cmp.Or(t.Name, t.Transport.String()) }

// IsProgram reports whether the server is started.
func (t *Target) IsProgram() bool { return t.By != nil && t.By.IsProgram }

// IsWeb reports whether the server is reached over HTTP, with headers, at an address of its own.
func (t *Target) IsWeb() bool { return t.By != nil && t.By.IsWeb }

// Connect connects to the server of an entry, after the user's consent. A program has the time of its entry to start, and a package runner
// as long as it works.
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

// Target returns the target of an entry after the user's consent: with its variables replaced, its lock
// applied and its sandbox set up.
func (l *Launcher) Target(ctx context.Context, e Entry) (Target, error) {
	return l.TargetWith(ctx, e, l.AuthorizedAs)
}

// TargetWith is like [Launcher.Target], with send for the requests to a server that has a URL.
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

// confine sets up the sandbox of an entry's program: as the settings define it, or else as the lock does.
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

// Options returns the options of a client of a target.
func (l *Launcher) Options(t Target) mcp.ClientOptions {
	o := mcp.ClientOptions{
		Info: l.Info, Name: t.Name, Revision: cmp.Or(l.Revision, t.Revision), Logger: l.Logger(t.Name),
		Timeout: cmp.Or(l.Timeout, t.Timeout), ConnectTimeout: cmp.Or(l.Timeout, t.StartTimeout),
	}
	if t.Server != nil { // a configured server is not trusted as a gateway of the chain
		o.Middleware = append(o.Middleware, removeRefusalMarks)
	}
	// Calls wait for the tasks that they become, except those of a proxy's client that handles tasks.
	o.Middleware = append(o.Middleware, tasks.Wait(tasks.WaitOptions{}))
	if l.Traffic != nil {
		o.Wire = l.Traffic.Server(t.Title())
	}
	if l.Recorder != nil && !l.RecordsFront {
		o.Middleware = append(o.Middleware, l.Recorder.Middleware(t.Title()))
	}
	return o
}

// Startable reports whether the program of a server exists. Only such programs wait for their turn to start; others fail at once.
func Startable(p place.Place, s *config.Server) bool {
	if _, changed := s.Env["PATH"]; filepath.IsAbs(s.Command) || !changed {
		_, err := p.LookPath(s.Command)
		return err == nil
	}
	return true // an error of starting it is more precise
}

// An Entry is a server that a command line can name: one in a configuration, or one that ships with
// junction.
type Entry struct {
	Name       string
	Definition *config.Definition                // nil: ships with junction
	Sandbox    func() (*settings.Sandbox, error) // the settings of its sandbox, or nil; a nil func means never confined, even by its lock
}

// Origin describes where the server is defined.
func (e Entry) Origin(p place.Place) string {
	if e.Definition == nil {
		return "ships with junction"
	}
	return "defined in " + p.Short(e.Definition.Source)
}

// IdleText describes a server that was not asked: "not started", or "not connected" for a URL.
func (e Entry) IdleText() string {
	if e.Definition != nil && !IsProgram(e.Definition.Kind) {
		return "not connected"
	}
	return "not started"
}

// Source returns the file that defines the server, or an empty string for one that ships with
// junction.
func (e Entry) Source() string {
	if e.Definition == nil {
		return ""
	}
	return e.Definition.Source
}

// OfProject reports whether a project's file defines the server.
func (e Entry) OfProject() bool { return e.Definition != nil && e.Definition.Project }

// IsAPI reports whether the entry starts Junction itself to serve an API.
func (e Entry) IsAPI() bool { return e.Definition != nil && e.Definition.Words() == nil }

// IsDisabled reports whether the user disabled the server.
func (e Entry) IsDisabled() bool { return e.Definition != nil && e.Definition.Disabled }

// NeedsInput reports whether the user must be asked for a part of the entry.
func NeedsInput(d *config.Definition) bool {
	return slices.ContainsFunc(d.Variables(), func(variable string) bool { return strings.HasPrefix(variable, "input:") })
}

// Command returns the command line or URL by which the host and rules identify the server; nil for
// one that ships with junction. It includes the project of a project's server, because the same
// words may start other programs elsewhere. It also includes a hash of secrets, defaults and values
// of the environment.
func (e Entry) Command() []string {
	if e.Definition == nil {
		return nil
	}
	return Origin(e.Definition, e.Definition.Hash())
}

// CommandText returns the command line or URL without secrets, or an empty string for a server that ships
// with junction.
func (e Entry) CommandText() string {
	if e.Definition == nil {
		return ""
	}
	named := e.Definition.Name + " (" + e.Definition.Kind.String() + "): "
	return strings.Join(append([]string{strings.TrimPrefix(e.Definition.String(), named)}, e.Definition.Around()...), " ")
}

// WantsLogin reports whether a server could be reached and does not let this user in.
func WantsLogin(err error) bool {
	refused, is := errors.AsType[*mcp.StatusError](err)
	return errors.Is(err, oauth.ErrLogin) || is && (refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden)
}

// OffersNothing sets the answers of a client that only tries a server: it declines forms and lists no folders.
func OffersNothing(o *mcp.ClientOptions) {
	o.ElicitURL = true
	o.OnElicit = func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	o.OnRoots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{}, nil }
}

// Origin returns the command or address of a server with the hash of its definition, which identify it.
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

// removeRefusalMarks is middleware that removes from a server's responses the mark of a request that a
// gateway refused itself.
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

// An unmarkedPeer is the Peer of a subscription; it removes the marks from notifications about
// tasks.
type unmarkedPeer struct{ mcp.Peer }

// Unwrap implements the interface of [mcp.PeerAs].
func (p *unmarkedPeer) Unwrap() mcp.Peer { return p.Peer }

// Notify implements [mcp.Peer].
func (p *unmarkedPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == "notifications/tasks" {
		params = refused.WithoutInTask(params)
	}
	return p.Peer.Notify(ctx, method, params)
}
