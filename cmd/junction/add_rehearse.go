package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model/offline"
)

// rehearsalTime is how long a server may take to start and to list what it has, when it is looked at before it is added.
const rehearsalTime = 3 * time.Minute

// A dryRun is a server as it was when it was started once, to be looked at.
type dryRun struct {
	data        []byte // the configuration with it
	definition  *config.Definition
	definitions []guard.Definition
	tools       []*mcp.Tool
	prompts     int
	resources   int
	findings    []guard.Finding
	login       bool // it could not be looked at, as it wants a login first
	server      *mcp.Implementation
	client      *mcp.Client
	host        *host.Host
}

func (d *dryRun) close() {
	if d == nil {
		return
	}
	if d.host != nil {
		_ = d.host.Close()
	}
	if d.client != nil {
		_ = d.client.Close()
	}
}

// rehearse starts the server as the configuration would have it, and looks at what it has.
func (w *addition) rehearse(ctx context.Context) error {
	data, err := config.AddServer(w.before, w.name, w.written)
	if err != nil {
		return &connectError{fmt.Errorf("%s: %w", w.configuration, err)}
	}
	w.app.screen.Transient("starting " + w.name)
	defer w.app.screen.Transient("")
	w.dry, err = w.app.rehearse(ctx, rehearsal{w.configuration, w.name, data, w.program, len(w.words()), w.secretOf})
	if err != nil {
		return err
	}
	for name := range w.secrets {
		if !slices.Contains(w.dry.definition.Variables(), "secret:"+name) {
			w.dry.close()
			return &connectError{fmt.Errorf("%s is a file of %s, which cannot name secrets, and %s needs one: choose another file with --config, or junction's own", w.configuration, w.dry.definition.Format, w.name)}
		}
	}
	return nil
}

// words are those of the entry that the installed program stands for, or its URL.
func (w *addition) words() []string {
	if w.locked == nil {
		return []string{w.written.URL}
	}
	return install.CommandLine(w.name, w.locked)
}

// A rehearsal says what is to be started once.
type rehearsal struct {
	configuration string
	name          string
	data          []byte           // the configuration that is not written yet
	program       *install.Program // nil: it is reached at a URL
	words         int              // that the program stands for
	secret        func(context.Context, string) (string, error)
}

// rehearse starts a server once. Its dryRun is to be closed.
func (a *app) rehearse(ctx context.Context, r rehearsal) (d *dryRun, err error) {
	file, err := config.Parse(r.configuration, r.data, config.Options{Secret: r.secret})
	if err != nil {
		return nil, &connectError{err}
	}
	d = &dryRun{data: r.data}
	defer func() {
		if err != nil {
			d.close()
			d = nil
		}
	}()
	var found bool
	if d.definition, found = file.Server(r.name); !found {
		for _, p := range file.Problems {
			if p.Server == r.name {
				return d, &connectError{p}
			}
		}
		return d, &connectError{fmt.Errorf("server %q cannot be written into %s", r.name, r.configuration)}
	}
	s, err := d.definition.Resolve(ctx)
	if err != nil {
		return d, &connectError{err}
	}
	started := s
	if r.program != nil {
		started = replaced(s, r.words, r.program)
	}
	transport, err := a.transport(started, d.definition, a.authorizedAs)
	if err != nil {
		return d, err
	}
	ctx, cancel := context.WithTimeout(ctx, rehearsalTime)
	defer cancel()
	o := a.options(target{name: r.name, transport: transport, server: s})
	o.ElicitURL, o.OnElicit, o.Bridge = true, declines, true
	if d.client, err = mcp.DialWith(ctx, transport, o); err != nil {
		if r.program == nil && isUnauthorized(err) {
			d.login = true
			return d, nil
		}
		return d, &connectError{fmt.Errorf("server %q was not added: it does not start as it would be written: %s; to mend it: %s", r.name, reason(err, r.name), startRemedy(r.program != nil, err, r.name, 0))}
	}
	if err := a.readDefinitions(ctx, d, entry{name: r.name, definition: d.definition}); err != nil {
		return d, &connectError{err}
	}
	if store := a.store(); store != nil {
		learning, cancel := context.WithTimeout(ctx, learnTime)
		defer cancel()
		a.learn(learning, d.client, memoryOf(store, s, ""), "", nil)
	}
	return d, nil
}

// readDefinitions reads all that a person would be asked to approve of a server, as chat does.
func (a *app) readDefinitions(ctx context.Context, d *dryRun, e entry) error {
	h, err := host.New(host.Options{Model: offline.New(), Logger: slog.New(slog.DiscardHandler), Servers: []host.Server{{Name: e.name, Handler: d.client, Origin: e.command()}}, Pins: new(guard.Pins)})
	if err != nil {
		return err
	}
	d.host = h
	if err := h.Settle(ctx); err != nil {
		return fmt.Errorf("server %q does not list what it has: %w", e.name, err)
	}
	if d.definitions, err = h.Definitions(e.name); err != nil {
		return err
	}
	d.server = d.client.Server()
	catalogue := new(guard.Catalogue)
	var names []string
	for _, one := range d.definitions {
		if one.Kind == guard.Tool {
			names = append(names, one.Name)
		}
	}
	catalogue.Set(e.name, names...)
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
		d.findings = append(d.findings, catalogue.ScanDefinition(one)...)
	}
	d.resources = len(h.Resources()) + len(h.Templates())
	return nil
}

// reads reports whether a tool says that it only reads.
func reads(t *mcp.Tool) bool {
	return t.Annotations != nil && t.Annotations.ReadOnlyHint != nil && *t.Annotations.ReadOnlyHint
}

// approveAll approves what was shown, as chat and junction approve do.
func approveAll(name string, definitions []guard.Definition) error {
	if len(definitions) == 0 {
		return nil
	}
	p, err := pins()
	if err != nil {
		return err
	}
	p.Forget(name)
	if err := p.Approve(definitions...); err != nil {
		return &connectError{fmt.Errorf("server %q: %w", name, err)}
	}
	if err := p.Save(); err != nil {
		return &connectError{fmt.Errorf("server %q: %w", name, err)}
	}
	return nil
}

// worst are the findings that a person should see before a text is used.
func worst(findings []guard.Finding) (some []guard.Finding) {
	for _, f := range findings {
		if f.Severity >= guard.Warn {
			some = append(some, f)
		}
	}
	return some
}
