package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/junction-mcp/junction/audit/export"
)

// exportTime is how long the end of junction up waits for lines that are sent elsewhere.
const exportTime = 5 * time.Second

// exporters send the lines of the audit log. What a collector wants to know who sends stands where other
// programs of OpenTelemetry look for it, too.
func (a *app) exporters(targets []string) (all []*export.Exporter, err error) {
	for _, target := range targets {
		e, err := export.New(target, export.Options{Header: otlpHeaders(os.Getenv("OTEL_EXPORTER_OTLP_HEADERS")), Service: os.Getenv("OTEL_SERVICE_NAME"), Logger: a.logger()})
		if err != nil {
			(&layers{exporters: all}).closeExporters()
			return nil, usagef("--audit-export: %v", err)
		}
		all = append(all, e)
	}
	return all, nil
}

// otlpHeaders reads name=value,name=value, with values as in a URL.
func otlpHeaders(text string) http.Header {
	h := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if decoded, err := url.PathUnescape(value); found && err == nil {
			h.Set(name, decoded)
		}
	}
	return h
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
