package export

import (
	"context"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/otlp"
)

// records is the table of the fields of a line.
var records = fields.Of[audit.Record]()

// otlpLogs is a sender of OpenTelemetry log records.
type otlpLogs struct {
	collector otlp.Collector
	own       bool // whether close may close the connections of its client
	service   string
	resource  map[string]string
}

// send implements [sender].
func (o *otlpLogs) send(ctx context.Context, lines [][]byte) error {
	return o.collector.Send(ctx, o.request(lines))
}

func (o *otlpLogs) close() {
	if o.own {
		o.collector.HTTP.CloseIdleConnections()
	}
}

// request returns an ExportLogsServiceRequest with the lines.
func (o *otlpLogs) request(lines [][]byte) []byte {
	w := jsonrpc.NewObject(nil)
	otlp.Resource(&w, "resourceLogs", o.service, o.resource)
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

// record writes one line as a LogRecord. The body is the whole line; fields with the tag
// export:"attribute" are attributes, too.
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
	w.Array("attributes")
	for _, f := range records.Fields() {
		if f.Tag.Get("export") != "attribute" {
			continue
		}
		if value := f.Text(line); value != "" {
			otlp.Text(w, "junction."+f.Name, value)
		}
	}
	w.End()
	if trace := member("trace"); trace != "" {
		w.String("traceId", trace)
	}
	w.End()
}
