package export

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxReply bounds what is read of a collector's response, in bytes.
const maxReply = 4 << 10

// otlp sends lines as log records of OpenTelemetry (OTLP 1.x over HTTP, in JSON).
type otlp struct {
	url     *url.URL
	header  http.Header
	client  *http.Client
	own     bool // client is ours to close
	service string
}

func newOTLP(u *url.URL, o Options) *otlp {
	c, own := o.HTTP, o.HTTP == nil
	if own {
		c = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute}}
	}
	return &otlp{url: u, header: o.Header, client: c, own: own, service: o.Service}
}

// send implements sender. A collector that cannot take these lines says 400 or 413.
func (o *otlp) send(ctx context.Context, lines [][]byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.url.String(), bytes.NewReader(o.request(lines)))
	if err != nil {
		return err
	}
	for name, values := range o.header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := o.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	switch err := fmt.Errorf("status %s: %.200q", resp.Status, said); {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusBadRequest, resp.StatusCode == http.StatusRequestEntityTooLarge:
		return fmt.Errorf("%w: %w", errUnwanted, err)
	default:
		return err
	}
}

func (o *otlp) close() {
	if o.own {
		o.client.CloseIdleConnections()
	}
}

// request is an ExportLogsServiceRequest.
func (o *otlp) request(lines [][]byte) []byte {
	w := jsonrpc.NewObject(nil)
	w.Array("resourceLogs")
	w.ObjectElement()
	w.Object("resource")
	attributes(&w, [][2]string{{"service.name", o.service}})
	w.End()
	w.Array("scopeLogs")
	w.ObjectElement()
	w.Object("scope")
	w.String("name", "junction/audit")
	w.End()
	w.Array("logRecords")
	for _, line := range lines {
		record(&w, line)
	}
	w.End()
	w.End()
	w.End()
	w.End()
	w.End()
	return w.Bytes()
}

// record writes one line as a LogRecord: all of it is the body, and what is searched for an attribute, too.
func record(w *jsonrpc.Writer, line []byte) {
	member := func(name string) string {
		text, _ := jsonrpc.Unquote(jsonrpc.Get(line, name))
		return text
	}
	w.ObjectElement()
	if at, err := time.Parse(time.RFC3339Nano, member("time")); err == nil {
		w.String("timeUnixNano", strconv.FormatInt(at.UnixNano(), 10))
	}
	w.Int("severityNumber", 9) // INFO
	w.String("severityText", "INFO")
	w.Object("body")
	w.StringBytes("stringValue", line)
	w.End()
	var found [][2]string
	for _, name := range []string{"kind", "method", "name", "server", "tool", "principal", "client", "profile", "decision", "rule", "outcome"} {
		if value := member(name); value != "" {
			found = append(found, [2]string{"junction." + name, value})
		}
	}
	attributes(w, found)
	if trace := member("trace"); trace != "" {
		w.String("traceId", trace)
	}
	w.End()
}

func attributes(w *jsonrpc.Writer, all [][2]string) {
	w.Array("attributes")
	for _, a := range all {
		w.ObjectElement()
		w.String("key", a[0])
		w.Object("value")
		w.String("stringValue", a[1])
		w.End()
		w.End()
	}
	w.End()
}
