package up

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/audit/export"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/internal/otlp"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/prometheus/client_golang/prometheus"
)

// exportTime is how long the end of junction up waits for lines that are sent elsewhere.
const exportTime = 5 * time.Second

// exporters send the lines of the audit log. What a collector wants to know who sends stands where other
// programs of OpenTelemetry look for it, too.
func exporters(a *cli.App, targets []string) (all []*export.Exporter, err error) {
	for _, target := range targets {
		e, err := export.New(target, export.Options{Header: otlp.Headers(a.Getenv("OTEL_EXPORTER_OTLP_HEADERS")), Service: a.Resource.Service, Resource: a.Resource.Attributes, Logger: a.Logger()})
		if err != nil {
			(&Layers{exporters: all, Logger: a.Logger()}).closeExporters()
			return nil, cli.Usagef("--audit-export: %v", err)
		}
		all = append(all, e)
	}
	return all, nil
}

// closeExporters ends them. Lines that nobody took are in the log still, so that they are no reason to fail, and said.
func (y *Layers) closeExporters() {
	ctx, cancel := context.WithTimeout(context.Background(), exportTime)
	defer cancel()
	for _, e := range y.exporters {
		if err := e.Close(ctx); err != nil {
			y.Logger.Error("junction: --audit-export: "+err.Error()+", and are not sent later; the audit log has them", "folder", y.folder)
		}
	}
}

// arrangeLog reads what of calls is written down.
func arrangeLog(_ *Layers, _ *cli.App, now *Arrangement) error {
	if now.audit = now.Settings.Audit; now.audit != nil {
		now.unlogged = mustPaths(now.audit.Redact)
	}
	return nil
}

// keepLog has a log that the settings name no more hide what it hid: it is written until junction up ends.
func keepLog(now, before *Arrangement) {
	if now.audit == nil {
		now.audit, now.unlogged = before.audit, before.unlogged
	}
}

// openAudit opens the log that command line and settings ask for.
func (y *Layers) openAudit(a *cli.App) (err error) {
	s := y.Opened.Audit
	if s == nil {
		return nil
	}
	if y.folder, err = reach.AuditFolder(a.Place, s.Folder); err != nil {
		return err
	}
	key, err := reach.AuditKey(a.Place)
	if err != nil {
		return err
	}
	if y.exporters, err = exporters(a, s.Export); err != nil {
		return err
	}
	written := func(lines []byte) {
		for _, e := range y.exporters {
			e.Add(lines)
		}
	}
	options := audit.Options{Key: key, GoOn: s.Optional, NoSync: s.Sync != "call", KeepFor: s.KeepFor, MaxAge: s.MaxAge, Written: written, Logger: a.Logger()}
	options.Keep, _ = settings.Size(s.Keep)
	options.MaxFile, _ = settings.Size(s.MaxFile)
	y.Log, err = audit.Open(y.folder, options)
	if err != nil {
		y.closeExporters()
	}
	switch {
	case errors.Is(err, audit.ErrInUse):
		return fmt.Errorf("%w: name another with --audit=FOLDER", err)
	case errors.Is(err, audit.ErrOtherKey):
		return fmt.Errorf("%w: name another folder with --audit=FOLDER; the public key of the other one still verifies this one", err)
	}
	return err
}

// closeAudit writes the last lines, which exporters get, too.
func (y *Layers) closeAudit() error {
	if y.Log == nil {
		return nil
	}
	err := y.Log.Close()
	y.closeExporters()
	return err
}

// unwritable is why calls cannot be written down now, and whether they are refused for that; nil if they can, or need not be.
func (y *Layers) unwritable() (refuses bool, err error) {
	if y.Log == nil {
		return false, nil
	}
	err = y.Log.Check()
	return err != nil && !y.Opened.Audit.Optional, err
}

// count adds what there is to know of the audit log to what is counted.
func (y *Layers) count(registry prometheus.Registerer) error {
	if err := registry.Register(y.withheld); err != nil || y.Log == nil {
		return err
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	errs := []error{registry.Register(gauge("junction_audit_writable", "1 while calls can be written down, else 0.", func() float64 {
		if _, err := y.unwritable(); err != nil {
			return 0
		}
		return 1
	}))}
	if len(y.exporters) > 0 {
		errs = append(errs, registry.Register(gauge("junction_audit_export_waiting", "Lines of the audit log that wait to be exported.", func() float64 {
			all := 0
			for _, e := range y.exporters {
				waiting, _, _ := e.Waiting()
				all += waiting
			}
			return float64(all)
		})))
	}
	return errors.Join(errs...)
}

// remarks say what is wrong with the audit log.
func (y *Layers) remarks() (lines []string) {
	switch refuses, err := y.unwritable(); {
	case refuses:
		lines = append(lines, "Calls are refused, as they cannot be written down: "+err.Error())
	case err != nil:
		lines = append(lines, "Calls are not written down: "+err.Error())
	}
	for _, e := range y.exporters {
		if waiting, lost, err := e.Waiting(); lost > 0 || err != nil {
			line := fmt.Sprintf("Not exported to %s: %s", e.Target(), plaintext.Count(waiting+lost, "line"))
			if err != nil {
				line += ": " + err.Error()
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// MaxRead is how many definitions are remembered as the audit log has them.
const MaxRead = 5000

// ReadDefinitions remember what of definitions stands in the audit log, by where their first byte is: a definition
// is not changed, and to read it with every call costs more than to write a line.
type ReadDefinitions struct {
	mu  sync.RWMutex
	All map[*byte]*readDefinition
}

type readDefinition struct {
	hash  string
	hints json.RawMessage
}

func (r *ReadDefinitions) Of(definition json.RawMessage) (hash string, hints json.RawMessage) {
	if len(definition) == 0 {
		return audit.HashOf(nil), nil
	}
	r.mu.RLock()
	d := r.All[&definition[0]]
	r.mu.RUnlock()
	if d == nil {
		d = &readDefinition{audit.HashOf(definition), audit.HintsOf(definition)}
		r.mu.Lock()
		if r.All == nil || len(r.All) >= MaxRead {
			r.All = map[*byte]*readDefinition{}
		}
		r.All[&definition[0]] = d
		r.mu.Unlock()
	}
	return d.hash, d.hints
}

// hiddenOfAny is what is hidden of the calls of any tool: of one that goes to no server it is not known what it would be.
func (now *Arrangement) hiddenOfAny() (p redact.Places) {
	for _, name := range slices.Sorted(maps.Keys(now.Redacted)) {
		o := now.Redacted[name]
		p = p.And(o.Any())
	}
	return p
}

// Logged is what the audit log has of each call.
func (now *Arrangement) Logged(g *gateway.Gateway, profile string) audit.CallOptions {
	var read ReadDefinitions
	o := audit.CallOptions{Describe: func(req *mcp.Request, r *audit.Record) {
		r.Profile = profile
		if req.Method != "tools/call" {
			return
		}
		r.Server, r.Tool = g.Destination(req.Name)
		if t, listed := g.Tool(req.Name); listed {
			r.Hash, r.Annotations = read.Of(t.Definition)
		}
	}}
	// What the server does not get is in no log; of results clients get no more than the log is shown.
	hidden := func(req *mcp.Request) (p redact.Places) {
		if req.Method != "tools/call" {
			return p
		}
		server, tool := g.Destination(req.Name)
		if server == "" {
			return now.hiddenOfAny()
		}
		if o, some := now.Redacted[server]; some {
			p = o.Of(tool)
		}
		return p
	}
	o.Arguments = func(req *mcp.Request, data json.RawMessage) json.RawMessage {
		return audit.Redacted(now.unlogged.Hide(hidden(req).Arguments.Hide(data)))
	}
	s := now.audit
	if s != nil && s.Arguments == "omit" {
		o.Arguments = func(_ *mcp.Request, data json.RawMessage) json.RawMessage { return audit.Omitted(data) }
	}
	if s != nil && s.Results == "keep" {
		o.Result = func(_ *mcp.Request, data json.RawMessage) json.RawMessage {
			return audit.Redacted(now.unlogged.Hide(data))
		}
	}
	return o
}
