// Package otlp sends telemetry to an OpenTelemetry collector: OTLP 1.x over HTTP, in JSON. The
// exporters of OpenTelemetry itself depend on Protocol Buffers and gRPC.
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

// maxReply limits the bytes read of a collector's response.
const maxReply = 4 << 10

// ErrUnwanted means that the collector will never accept this request.
var ErrUnwanted = errors.New("the collector does not take it")

// A Collector is the target of requests. Its methods are safe for concurrent use.
type Collector struct {
	URL    string
	Header http.Header  // sent with every request
	HTTP   *http.Client // required
}

// NewHTTP returns a client for a Collector.
func NewHTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute}}
}

// Send sends an export request. The error wraps ErrUnwanted if a repetition is useless.
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

// HeaderVariables lists the variables of the environment with headers for collectors, which may be
// secrets.
var HeaderVariables = []string{
	"OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
}

// ServiceName is the attribute of a resource with the name of the program.
const ServiceName = "service.name"

// Headers parses the value of OTEL_EXPORTER_OTLP_HEADERS: name=value,name=value, with values
// encoded as in a URL.
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

// Attributes parses the value of OTEL_RESOURCE_ATTRIBUTES: name=value,name=value, with values
// encoded as in a URL.
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

// Resource begins the single element of an array such as resourceLogs, with its resource: the
// service, which overrides its attribute, and the attributes. The caller must end the element and
// the array.
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

// Text writes an attribute to an array of them.
func Text(w *jsonrpc.Writer, key, value string) {
	w.ObjectElement()
	w.String("key", key)
	w.Object("value")
	w.String("stringValue", value)
	w.End()
	w.End()
}
