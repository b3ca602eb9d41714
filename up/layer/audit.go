package layer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/audit/export"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/prometheus/client_golang/prometheus"
)

// exportTime is how long closing waits for the exporters of log lines or spans to send the last
// ones.
const exportTime = 5 * time.Second

// AuditFolder returns the folder of the audit log for the name in the settings or the command line.
// The names "" and [DefaultAudit] mean Junction's own folder.
func AuditFolder(p place.Place, named string) (string, error) {
	if named != DefaultAudit && named != "" {
		return p.Path(named), nil
	}
	return p.State("audit")
}

// DefaultAudit is the name of Junction's own folder of the audit log.
const DefaultAudit = "default"

// maxAuditLogs is the largest number of logs that processes write in Junction's own folders at the
// same time.
const maxAuditLogs = 100

// ownAuditFolder returns the n-th of Junction's own folders, from 1. A process writes the first one
// that no other process writes, such as one for each window of a desktop host.
func ownAuditFolder(p place.Place, n int) (string, error) {
	if n == 1 {
		return AuditFolder(p, "")
	}
	return p.State(fmt.Sprintf("audit-%d", n))
}

// OwnAuditFolders returns those of Junction's own folders that exist, or the first one if none
// exists.
func OwnAuditFolders(p place.Place) (all []string, err error) {
	for n := range maxAuditLogs {
		folder, err := ownAuditFolder(p, n+1)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(folder); err == nil || n == 0 {
			all = append(all, folder)
		}
	}
	if _, err := os.Stat(all[0]); err != nil && len(all) > 1 {
		all = all[1:]
	}
	return all, nil
}

// openLog opens the log with a name in the settings. It returns its folder, too.
func openLog(p place.Place, named string, o audit.Options) (folder string, l *audit.Log, err error) {
	isOwn := named == "" || named == DefaultAudit
	for n := range maxAuditLogs {
		if isOwn {
			folder, err = ownAuditFolder(p, n+1)
		} else {
			folder, err = AuditFolder(p, named)
		}
		if err != nil {
			return "", nil, err
		}
		if l, err = audit.Open(folder, o); !isOwn || !errors.Is(err, audit.ErrInUse) {
			return folder, l, err
		}
	}
	return folder, nil, err
}

// AuditKey returns the key of this installation that signs the audit log. It makes the key if the
// installation has none.
func AuditKey(p place.Place) (*audit.Key, error) {
	path, err := p.State("audit.key")
	if err != nil {
		return nil, err
	}
	return audit.ReadKey(path)
}

// openExporters opens the exporters that send lines of the audit log to the targets.
func (s *Stack) openExporters(targets []string) error {
	for _, target := range targets {
		e, err := export.New(target, export.Options{Header: s.resource.header, Service: s.resource.service, Resource: s.resource.attributes, Logger: s.Logger})
		if err != nil {
			s.closeExporters()
			return commandline.Errorf("--audit-export: %v", err)
		}
		s.exporters = append(s.exporters, e)
	}
	return nil
}

// closeExporters closes the exporters. It only logs that lines were not sent, as the audit log
// still has them.
func (s *Stack) closeExporters() {
	ctx, cancel := context.WithTimeout(context.Background(), exportTime)
	defer cancel()
	for _, e := range s.exporters {
		if err := e.Close(ctx); err != nil {
			s.Logger.Error("junction: --audit-export: "+err.Error()+", and are not sent later; the audit log has them", "folder", s.Folder)
		}
	}
}

// readAudit reads the settings about the content of the audit log.
func readAudit(_ *Stack, p *Plan) error {
	if p.audit = p.Settings.Audit; p.audit != nil {
		p.unlogged = mustPaths(p.audit.Redact)
	}
	return nil
}

// keepAudit keeps the log's settings about redaction if the new plan has none, as the log is
// written until the Stack is closed.
func keepAudit(next, before *Plan) {
	if next.audit == nil {
		next.audit, next.unlogged = before.audit, before.unlogged
	}
}

// openAudit opens the log if the settings request one.
func openAudit(s *Stack) (err error) {
	o := s.Opened.Audit
	if o == nil {
		return nil
	}
	key, err := AuditKey(s.Place)
	if err != nil {
		return err
	}
	if err = s.openExporters(o.Export); err != nil {
		return err
	}
	written := func(lines []byte) {
		for _, e := range s.exporters {
			e.Add(lines)
		}
	}
	options := audit.Options{Key: key, GoOn: o.Optional, NoSync: o.Sync != "call", KeepFor: o.KeepFor, MaxAge: o.MaxAge, Written: written, Logger: s.Logger}
	options.Keep, _ = settings.Size(o.Keep)
	options.MaxFile, _ = settings.Size(o.MaxFile)
	if s.Replicas != nil {
		host, _ := os.Hostname() // without a name, only the id identifies the log
		options.Witness = &audit.Witness{Store: s.Replicas, Instance: s.resource.attributes["service.instance.id"], Host: host}
	}
	s.Folder, s.Log, err = openLog(s.Place, o.Folder, options)
	if err != nil {
		s.closeExporters()
	}
	switch {
	case errors.Is(err, audit.ErrInUse):
		return fmt.Errorf("%w: name another with --audit=FOLDER", err)
	case errors.Is(err, audit.ErrOtherKey):
		return fmt.Errorf("%w: name another folder with --audit=FOLDER; the public key of the other one still verifies this one", err)
	}
	return err
}

// closeAudit writes the last lines and closes the exporters.
func closeAudit(s *Stack) error {
	if s.Log == nil {
		return nil
	}
	err := s.Log.Close()
	s.closeExporters()
	return err
}

// logCalls returns middleware that writes calls to the audit log.
func logCalls(s *Stack, p *Plan, part Part) mcp.Middleware {
	if s.Log == nil {
		return nil
	}
	return s.Log.Calls(p.Logged(part.Gateway, part.Profile))
}

// Unwritable returns the error that prevents the logging of calls, and reports whether calls are
// therefore refused. The error is nil if calls can be logged, or if the Stack has no log.
func (s *Stack) Unwritable() (refuses bool, err error) {
	if s.Log == nil {
		return false, nil
	}
	err = s.Log.Check()
	return err != nil && !s.Opened.Audit.Optional, err
}

// countLog registers the metrics of the audit log.
func (s *Stack) countLog(registry prometheus.Registerer) error {
	if s.Log == nil {
		return nil
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	errs := []error{registry.Register(gauge("junction_audit_writable", "1 while calls can be logged, otherwise 0.", func() float64 {
		if _, err := s.Unwritable(); err != nil {
			return 0
		}
		return 1
	}))}
	if len(s.exporters) > 0 {
		errs = append(errs, registry.Register(gauge("junction_audit_export_waiting", "Lines of the audit log that wait to be exported.", func() float64 {
			all := 0
			for _, e := range s.exporters {
				waiting, _, _ := e.Waiting()
				all += waiting
			}
			return float64(all)
		})))
	}
	return errors.Join(errs...)
}

// Remarks returns lines for users that describe faults of the audit log and its exporters.
func (s *Stack) Remarks() (lines []string) {
	switch refuses, err := s.Unwritable(); {
	case refuses:
		lines = append(lines, "Calls are refused, because they cannot be logged: "+err.Error())
	case err != nil:
		lines = append(lines, "Calls are not logged: "+err.Error())
	}
	for _, e := range s.exporters {
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

// maxRead is the maximum number of definitions whose hashes are cached.
const maxRead = 5000

// readDefinitions caches the hashes and hints of definitions, by the address of the first byte.
// Definitions are immutable, and hashing one for every call would cost more than writing a line.
type readDefinitions struct {
	mu  sync.RWMutex
	all map[*byte]*readDefinition
}

type readDefinition struct {
	hash  string
	hints json.RawMessage
}

func (r *readDefinitions) of(definition json.RawMessage) (hash string, hints json.RawMessage) {
	if len(definition) == 0 {
		return audit.HashOf(nil), nil
	}
	r.mu.RLock()
	d := r.all[&definition[0]]
	r.mu.RUnlock()
	if d == nil {
		d = &readDefinition{audit.HashOf(definition), audit.HintsOf(definition)}
		r.mu.Lock()
		if r.all == nil || len(r.all) >= maxRead {
			r.all = map[*byte]*readDefinition{}
		}
		r.all[&definition[0]] = d
		r.mu.Unlock()
	}
	return d.hash, d.hints
}

// hiddenOfAny returns the places that are hidden in calls of any tool. It is used for calls that
// reach no server, as their tool is not known.
func (p *Plan) hiddenOfAny() (hidden redact.Places) {
	for _, name := range slices.Sorted(maps.Keys(p.redacted)) {
		o := p.redacted[name]
		hidden = hidden.And(o.Any())
	}
	return hidden
}

// Logged returns the options of the audit log for calls to a profile of g. The profile "" is the
// whole gateway.
func (p *Plan) Logged(g *gateway.Gateway, profile string) audit.CallOptions {
	var read readDefinitions
	o := audit.CallOptions{Describe: func(req *mcp.Request, r *audit.Record) {
		r.Profile = profile
		if req.Method != "tools/call" {
			return
		}
		r.Server, r.Tool = g.Destination(req.Name)
		if t, listed := g.Tool(req.Name); listed {
			r.Hash, r.Annotations = read.of(t.Definition)
		}
	}}
	// The log contains no arguments that the server does not get, and no parts of results that
	// clients do not get.
	hidden := func(req *mcp.Request) (places redact.Places) {
		if req.Method != "tools/call" {
			return places
		}
		server, tool := g.Destination(req.Name)
		if server == "" {
			return p.hiddenOfAny()
		}
		if o, some := p.redacted[server]; some {
			places = o.Of(tool)
		}
		return places
	}
	o.Arguments = func(req *mcp.Request, data json.RawMessage) json.RawMessage {
		return audit.Redacted(p.unlogged.Hide(hidden(req).Arguments.Hide(data)))
	}
	if p.audit != nil && p.audit.Arguments == "omit" {
		o.Arguments = func(_ *mcp.Request, data json.RawMessage) json.RawMessage { return audit.Omitted(data) }
	}
	if p.audit != nil && p.audit.Results == "keep" {
		o.Result = func(_ *mcp.Request, data json.RawMessage) json.RawMessage {
			return audit.Redacted(p.unlogged.Hide(data))
		}
	}
	return o
}
