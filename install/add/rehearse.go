package add

import (
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

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/model/offline"
	"github.com/junction-mcp/junction/sandbox"
)

const (
	// rehearsalTime is the maximum time for a server to start and list its features in the
	// rehearsal.
	rehearsalTime = 3 * time.Minute
	// elsewhereTime is the time limit for a program after it printed that it serves HTTP.
	elsewhereTime = 10 * time.Second
	// withoutHostTime is the time limit for a program after the sandbox refused it a host, for
	// which it may wait.
	withoutHostTime = 30 * time.Second
)

// A dryRun is a server in its rehearsal.
type dryRun struct {
	definition  *config.Definition
	definitions []guard.Definition
	tools       []*mcp.Tool
	prompts     int
	resources   int
	findings    []guard.Finding
	unconfined  []string    // parts of its sandbox that this system does not support
	refused     notAllowed  // accesses that its sandbox refused
	login       bool        // the server requires a login first
	client      *mcp.Client // owned until gateway takes it over
	gateway     *gateway.Gateway
	host        *host.Host
}

func (d *dryRun) close() {
	if d == nil {
		return
	}
	if d.host != nil {
		_ = d.host.Close()
	}
	if d.gateway != nil {
		_ = d.gateway.Close()
	}
	if d.client != nil {
		_ = d.client.Close()
	}
}

// rehearse starts the server with its future entry and reads its definitions.
func (w *addition) rehearse(ctx context.Context) error {
	data, err := hostconfig.AddServer(w.before, w.name, w.written)
	if err != nil {
		return fmt.Errorf("%s: %w", w.configuration, err)
	}
	if err := w.rehearseWith(ctx, data); err != nil {
		return err
	}
	for name := range w.secrets {
		if !slices.Contains(w.dry.definition.Variables(), "secret:"+name) {
			return fmt.Errorf("%s is a file of %s, which cannot refer to secrets, and %s needs one: choose another file with --config, or junction's own", w.configuration, w.dry.definition.Format, w.name)
		}
	}
	return nil
}

// words returns the words of the entry that stand for the installed program, or its URL.
func (w *addition) words() []string {
	if w.locked == nil {
		return []string{w.written.URL}
	}
	return install.CommandLine(w.name, w.locked)
}

// rehearseWith starts the server once with a configuration. The caller closes w.dry.
func (w *addition) rehearseWith(ctx context.Context, data []byte) error {
	w.dry.close()
	d := &dryRun{}
	w.dry = d
	file, err := config.Parse(w.configuration, data, config.Options{Secret: w.secretOf})
	if err != nil {
		return err
	}
	if d.definition, err = file.Find(w.name); err != nil {
		return err
	}
	s, err := d.definition.Resolve(ctx)
	if err != nil {
		return err
	}
	transport, err := w.transport(s)
	if err != nil {
		return err
	}
	defer w.busy("starting " + w.name)()
	ctx, cancel := context.WithTimeout(ctx, rehearsalTime)
	defer cancel()
	answered := func() {}
	if c, is := transport.(*command.Command); is {
		ctx, answered = endSoon(ctx, c, &d.refused)
	}
	o := w.Launcher.Options(launch.Target{Name: w.name, Transport: transport, Server: s})
	launch.OffersNothing(&o)
	o.Bridge = true // declares all client capabilities, because some servers then offer more
	if d.client, err = mcp.DialWith(ctx, transport, o); err != nil {
		if w.program == nil && launch.WantsLogin(err) {
			d.login = true
			return nil
		}
		return w.notUsable("does not start with its entry", err, w.startRemedy(err))
	}
	answered()
	if d.client.Capabilities().Tools != nil { // some servers send a request to the client when they list tools, and fail
		for _, err := range d.client.Tools(ctx) {
			if err != nil && !errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
				remedy := "ask its operator"
				if w.program != nil {
					remedy = w.startRemedy(err)
				}
				return w.notUsable("starts, and does not list its tools", err, remedy)
			}
		}
	}
	if err := w.readDefinitions(ctx, s); err != nil {
		return &StartError{err}
	}
	return nil
}

// transport returns the transport to the server: its installed and confined program, or its URL.
func (w *addition) transport(s *config.Server) (mcp.Transport, error) {
	o := sandbox.Options{Refused: w.dry.refused.add, Unconfined: func(missing []string) { w.dry.unconfined = missing }}
	if w.program != nil {
		var err error
		if s, err = launch.Replaced(s, len(w.words()), w.locked, w.program); err != nil {
			return nil, fmt.Errorf("server %q: %w", w.name, err)
		}
		o.Package = []string{w.program.Dir}
	}
	t, err := w.Launcher.Transport(s, w.dry.definition, w.Launcher.AuthorizedAs)
	if c, is := t.(*command.Command); is && err == nil {
		err = w.Launcher.ConfineBy(c, w.name, w.bySettings, w.sandbox, o)
	}
	return t, err
}

// notUsable returns the error for a server that cannot be added, with advice.
func (w *addition) notUsable(what string, err error, remedy string) error {
	return &StartError{fmt.Errorf("server %q %s, so nothing was changed: %s; fix: %s", w.name, what, firstSentence(why.Of(err, w.name)), w.dry.refused.remedy(remedy))}
}

// endSoon returns a context that ends when a program is unlikely to respond. It ends some time
// after the program printed that it serves HTTP, because the program then ignores its standard
// input. It also ends some time after the sandbox refused the program a host, because the program
// may wait for it. Calling answered prevents both.
func endSoon(ctx context.Context, c *command.Command, refused *notAllowed) (limited context.Context, answered func()) {
	ctx, end := context.WithCancelCause(ctx)
	var has atomic.Bool
	endIn := func(limit time.Duration) {
		time.AfterFunc(limit, func() {
			if !has.Load() {
				end(fmt.Errorf("no answer: %w", context.DeadlineExceeded))
			}
		})
	}
	var once sync.Once
	next := c.Stderr
	c.Stderr = func(line string) {
		if why.ServesHTTP(line) {
			once.Do(func() { endIn(elsewhereTime) })
		}
		if next != nil {
			next(line)
		}
	}
	refused.onHost = func() { endIn(withoutHostTime) }
	return ctx, func() { has.Store(true) }
}

// readDefinitions reads all definitions that the user must approve, through a gateway as in chat.
// They then count as known for other commands.
func (w *addition) readDefinitions(ctx context.Context, s *config.Server) error {
	d := w.dry
	d.gateway = gateway.New(gateway.Options{Logger: slog.New(slog.DiscardHandler)})
	err := d.gateway.Add(w.name, gateway.Upstream{Dial: func(context.Context, *gateway.Start) (*mcp.Client, error) {
		if d.client == nil {
			return nil, fmt.Errorf("server %q ended during the check", w.name)
		}
		client := d.client
		d.client = nil
		return client, nil
	}, OnRead: func(read *definitions.Definitions) {
		if w.Remember != nil {
			w.Remember(s, read)
		}
	}})
	if err != nil {
		return err
	}
	h, err := host.New(host.Options{Model: offline.New(), Logger: slog.New(slog.DiscardHandler), Gateway: d.gateway, Servers: []host.Server{{Name: w.name, Origin: launch.Origin(d.definition, d.definition.Hash())}}, Pins: new(guard.Pins)})
	if err != nil {
		return err
	}
	d.host = h
	if err := h.Settle(ctx); err != nil {
		return fmt.Errorf("server %q does not list its tools and other offers: %w", w.name, err)
	}
	if d.definitions, err = h.Definitions(w.name); err != nil {
		return err
	}
	if offered := d.gateway.Offered(w.name); offered != nil {
		d.resources = len(offered.Resources) + len(offered.Templates)
	}
	catalogue := new(guard.Catalogue)
	var names []string
	for _, one := range d.definitions {
		if one.Kind == guard.Tool {
			names = append(names, one.Name)
		}
	}
	catalogue.Set(w.name, names...)
	for _, one := range d.definitions {
		switch one.Kind {
		case guard.Tool:
			tool := &mcp.Tool{Name: one.Name, Title: one.Title}
			if len(one.Annotations) > 0 {
				var annotations mcp.ToolAnnotations
				if json.Unmarshal(one.Annotations, &annotations) == nil {
					tool.Annotations = &annotations
				}
			}
			d.tools = append(d.tools, tool)
		case guard.Prompt:
			d.prompts++
		}
		for _, f := range catalogue.ScanDefinition(one) {
			f.Where = plaintext.Line(definitionKey(one), 100) + ", " + f.Where
			d.findings = append(d.findings, f)
		}
	}
	return nil
}

// pins opens the file of approved definitions.
func pins(p place.Place) (*guard.Pins, error) {
	path, err := p.State("pins.json")
	if err != nil {
		return nil, err
	}
	return guard.Load(path)
}

// approve replaces the server's approved definitions, and returns the previous ones.
func (w *addition) approve(definitions []guard.Definition) (was []guard.Definition, err error) {
	p, err := pins(w.Launcher.Place)
	if err != nil {
		return nil, err
	}
	was = p.Approved(w.name)
	p.Forget(w.name)
	if err = p.Approve(definitions...); err == nil {
		err = p.Save()
	}
	if err != nil {
		return nil, fmt.Errorf("server %q: %w", w.name, err)
	}
	return was, nil
}

// severe returns the findings that a user must see before the text is used.
func severe(findings []guard.Finding) (some []guard.Finding) {
	for _, f := range findings {
		if f.Severity >= guard.Warn {
			some = append(some, f)
		}
	}
	return some
}

// maxRefused is the number of refused accesses that are reported.
const maxRefused = 5

// notAllowed collects accesses that a sandbox refused. It is safe for concurrent use.
type notAllowed struct {
	mu     sync.Mutex
	all    []sandbox.Refusal
	onHost func() // called once, at the first refused host; must not block; may be nil
}

func (r *notAllowed) add(one sandbox.Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := slices.ContainsFunc(r.all, func(other sandbox.Refusal) bool {
		return slices.Equal(other.Allow, one.Allow) && (len(one.Allow) > 0 || other.What == one.What)
	})
	if !known && len(r.all) < maxRefused {
		r.all = append(r.all, one)
	}
	if r.onHost != nil && isHostRefusal(one) {
		r.onHost()
		r.onHost = nil
	}
}

func isHostRefusal(one sandbox.Refusal) bool { return slices.Contains(one.Allow, "--host") }

// remedy lists the refused accesses with the flags that allow them. It returns otherwise if there
// are none.
func (r *notAllowed) remedy(otherwise string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var said []string
	files := slices.DeleteFunc(slices.Clone(r.all), isHostRefusal)
	hosts := slices.DeleteFunc(slices.Clone(r.all), func(one sandbox.Refusal) bool { return !isHostRefusal(one) })
	for _, one := range append(hosts, files...) { // hosts first, because more programs fail without them
		line := "it was refused to " + plaintext.Line(one.What, 200)
		if len(one.Allow) > 0 {
			var words []string
			for _, word := range one.Allow {
				words = append(words, plaintext.Line(word, 200))
			}
			line += ", which " + plaintext.ShellWords(words) + " allows"
		}
		said = append(said, line)
	}
	if len(said) == 0 {
		return otherwise
	}
	return strings.Join(said, "; ")
}
