// Package otlp sends telemetry to an OpenTelemetry collector: OTLP 1.x over HTTP, encoded as JSON.
// It exists because the exporters of the OpenTelemetry project depend on Protocol Buffers and gRPC.
package otlp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxReply is the maximum number of bytes that are read of a collector's response.
const maxReply = 4 << 10

// ErrUnwanted means that the collector rejected a request permanently.
var ErrUnwanted = errors.New("the collector does not take it")

// A Collector is an OpenTelemetry collector to which requests are sent. Its methods are safe for
// concurrent use.
type Collector struct {
	URL    string
	Header http.Header  // sent with every request
	HTTP   *http.Client // required
}

// NewHTTP returns an HTTP client for [Collector.HTTP].
func NewHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute}}
}

// Send sends an export request. The error wraps ErrUnwanted if sending the request again is
// useless.
func (c *Collector) Send(ctx context.Context, request []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(request))
	if err != nil {
		return err
	}
	maps.Copy(req.Header, c.Header)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	switch err := fmt.Errorf("status %s: %.200q", resp.Status, said); {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: %w", ErrUnwanted, err)
	default:
		return err
	}
}

// HeaderVariables lists the environment variables with headers for collectors. Their values may
// contain secrets.
var HeaderVariables = []string{
	"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
}

// ServiceName is the resource attribute with the name of the program.
const ServiceName = "service.name"

// Headers parses the value of OTEL_EXPORTER_OTLP_HEADERS: name=value,name=value, where each value
// is percent-encoded as in URLs.
func Headers(text string) http.Header {
	h := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if decoded, err := url.PathUnescape(value); found && err == nil {
			h.Set(name, decoded)
		}
	}
	return h
}

// Attributes parses the value of OTEL_RESOURCE_ATTRIBUTES: name=value,name=value, where each value
// is percent-encoded as in URLs.
func Attributes(text string) map[string]string {
	all := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		name, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if decoded, err := url.PathUnescape(strings.TrimSpace(value)); found && err == nil && name != "" {
			all[strings.TrimSpace(name)] = decoded
		}
	}
	return all
}

// Resource opens an array such as resourceLogs and its only element, and writes the element's
// resource. The attribute service.name is always service, even if attributes contains another
// value. The caller must end the element and the array.
func Resource(w *jsonrpc.Writer, array, service string, attributes map[string]string) {
	w.Array(array)
	w.ObjectElement()
	w.Object("resource")
	w.Array("attributes")
	Text(w, ServiceName, service)
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if name != ServiceName {
			Text(w, name, attributes[name])
		}
	}
	w.End()
	w.End()
}

// Text writes an attribute with a string value as an element of an array.
func Text(w *jsonrpc.Writer, key, value string) {
	w.ObjectElement()
	w.String("key", key)
	w.Object("value")
	w.String("stringValue", value)
	w.End()
	w.End()
}
