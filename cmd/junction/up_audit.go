package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/audit/export"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/otlp"
	"github.com/junction-mcp/junction/mcp"
)

// exportTime is how long the end of junction up waits for lines that are sent elsewhere.
const exportTime = 5 * time.Second

// exporters send the lines of the audit log. What a collector wants to know who sends stands where other
// programs of OpenTelemetry look for it, too.
func (a *app) exporters(targets []string) (all []*export.Exporter, err error) {
	for _, target := range targets {
		e, err := export.New(target, export.Options{Header: otlp.Headers(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")), Service: os.Getenv("OTEL_SERVICE_NAME"), Logger: a.logger()})
		if err != nil {
			(&layers{exporters: all}).closeExporters()
			return nil, usagef("--audit-export: %v", err)
		}
		all = append(all, e)
	}
	return all, nil
}

func (y *layers) closeExporters() error {
	ctx, cancel := context.WithTimeout(context.Background(), exportTime)
	defer cancel()
	var errs []error
	for _, e := range y.exporters {
		if err := e.Close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("--audit-export: %w", err))
		}
	}
	return errors.Join(errs...)
}

// auditFolder is the folder of a log that the command line names.
func auditFolder(named string) (string, error) {
	if named != usualFolder && named != "" {
		return named, nil
	}
	return stateFile("audit")
}

// auditKey is the key of this installation.
func auditKey() (*audit.Key, error) {
	path, err := stateFile("audit.key")
	if err != nil {
		return nil, err
	}
	key, err := audit.ReadKey(path)
	if err != nil {
		return nil, &connectError{err}
	}
	return key, nil
}

// openAudit opens the log that command line and settings ask for.
func (y *layers) openAudit(a *app, o layering, s *settings.Audit) (err error) {
	if y.folder, err = auditFolder(o.audit); err != nil {
		return err
	}
	key, err := auditKey()
	if err != nil {
		return err
	}
	if y.exporters, err = a.exporters(o.export); err != nil {
		return err
	}
	written := func(lines []byte) {
		for _, e := range y.exporters {
			e.Add(lines)
		}
	}
	options := audit.Options{Key: key, GoOn: o.goOn, NoSync: o.sync == syncSecond, KeepFor: o.keepFor, Written: written, Logger: a.logger()}
	options.Keep, _ = settings.Size(o.keep)
	if s != nil {
		options.MaxFile, _ = settings.Size(s.MaxFile)
		options.MaxAge = s.MaxAge
	}
	y.log, err = audit.Open(y.folder, options)
	if err != nil {
		y.closeExporters()
	}
	switch {
	case errors.Is(err, audit.ErrInUse):
		return &connectError{fmt.Errorf("%w: name another with --audit=FOLDER", err)}
	case errors.Is(err, audit.ErrOtherKey):
		return &connectError{fmt.Errorf("%w: name another folder with --audit=FOLDER; the public key of the other one still verifies this one", err)}
	}
	if err != nil {
		return &connectError{err}
	}
	return nil
}

// logged is what the audit log has of each call.
func (now *arrangement) logged(g *gateway.Gateway, profile string) audit.CallOptions {
	o := audit.CallOptions{Describe: func(req *mcp.Request, r *audit.Record) {
		r.Profile = profile
		if t, ok := g.Tool(req.Name); ok && req.Method == "tools/call" {
			r.Server, r.Tool, r.Hash = t.Server, t.Name, audit.HashOf(t.Definition)
		}
	}}
	keep := func(_ *mcp.Request, data json.RawMessage) json.RawMessage {
		return audit.Redacted(now.unlogged.Hide(data))
	}
	s := now.settings.Audit
	if s == nil || s.Arguments != "omit" {
		o.Arguments = keep
	}
	if s != nil && s.Results == "keep" {
		o.Result = keep
	}
	return o
}
