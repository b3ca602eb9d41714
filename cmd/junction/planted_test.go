package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/host/trace"
	"github.com/junction-mcp/junction/internal/redact/planted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/otelmcp"
	"github.com/junction-mcp/junction/recording"
	"github.com/junction-mcp/junction/traces"
	"github.com/junction-mcp/junction/traffic"
)

// A writing is a place that Junction writes to.
type writing struct {
	name   string
	learns bool // it also hides what it knows from before, and looks into base64
	// open returns middleware that writes, and a function that returns all that was written of so many calls.
	open func(t *testing.T, calls int) (mcp.Middleware, func() string)
}

// writings are all places that Junction writes what it carries to. The console shows what the traffic stream has.
var writings = []writing{
	{name: "traffic", open: func(t *testing.T, calls int) (mcp.Middleware, func() string) {
		log := new(traffic.Log)
		watch := log.Join(true)
		return func(next mcp.Handler) mcp.Handler { return log.Handler("s", next) }, func() string {
			var seen []byte
			ended := errors.New("all was seen")
			count := 0
			if err := watch(t.Context(), func(events []*traffic.Event) error {
				for _, e := range events {
					seen = append(e.AppendJSON(seen), '\n')
					count++
				}
				if count < 2*calls {
					return nil
				}
				return ended
			}); !errors.Is(err, ended) {
				t.Fatal(err)
			}
			return string(seen)
		}
	}},
	{name: "recording", learns: true, open: func(t *testing.T, _ int) (mcp.Middleware, func() string) {
		var file bytes.Buffer
		r, err := recording.New(&file, recording.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Middleware("s"), func() string {
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
			return file.String()
		}
	}},
	{name: "audit folder", open: func(t *testing.T, _ int) (mcp.Middleware, func() string) {
		folder := t.TempDir()
		key, err := audit.NewKey(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		log, err := audit.Open(folder, audit.Options{Key: key, NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		kept := func(_ *mcp.Request, data json.RawMessage) json.RawMessage { return audit.Redacted(data) }
		return log.Calls(audit.CallOptions{Arguments: kept, Result: kept}), func() string {
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
			return filesOf(t, folder)
		}
	}},
	{name: "agent trace", open: func(*testing.T, int) (mcp.Middleware, func() string) {
		tr := trace.New(trace.Options{Width: 100_000})
		return func(next mcp.Handler) mcp.Handler { return trace.Handler(next, "s", tr) }, func() string {
			var all bytes.Buffer
			for _, write := range []func(io.Writer) error{tr.WriteText, tr.WriteSVG, tr.WriteMermaid} {
				_ = write(&all)
			}
			return all.String()
		}
	}},
	{name: "log", open: func(*testing.T, int) (mcp.Middleware, func() string) {
		var all bytes.Buffer
		return middleware.Log(middleware.LogOptions{Logger: slog.New(slog.NewJSONHandler(&all, nil))}), all.String
	}},
	{name: "OTLP", open: func(t *testing.T, _ int) (mcp.Middleware, func() string) {
		var all bytes.Buffer
		collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(&all, r.Body) }))
		t.Cleanup(collector.Close)
		p, err := traces.Provider(collector.URL, traces.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return otelmcp.Server(otelmcp.Options{TracerProvider: p}), func() string {
			if err := p.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			return all.String()
		}
	}},
}

// filesOf is what stands in the files of a folder.
func filesOf(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(clitest.In(t, name))
		all.Write(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestNoPlantedSecretIsWritten has each secret stand in each place of JSON: in arguments, in both parts of a result and in the text of
// an error.
func TestNoPlantedSecretIsWritten(t *testing.T) {
	for _, to := range writings {
		t.Run(to.name, func(t *testing.T) {
			t.Parallel()
			for _, secret := range planted.Secrets() {
				var objects []string
				for _, form := range planted.Forms() {
					if object := form.Object(secret); object != "" && (to.learns || !form.Decoded) {
						objects = append(objects, object)
					}
				}
				for len(objects) > 0 {
					n := len(objects)
					if to.learns {
						n = 1
					}
					to.check(t, secret, objects[:n])
					objects = objects[n:]
				}
			}
		})
	}
}

// check has two calls with each object be written: one succeeds, and one fails.
func (w *writing) check(t *testing.T, secret planted.Secret, objects []string) {
	t.Helper()
	layer, written := w.open(t, 2*len(objects))
	for _, object := range objects {
		fails := false
		h := layer(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			if fails {
				return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "%s", object)
			}
			text, err := json.Marshal(object)
			return mcp.Result{JSON: json.RawMessage(`{"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` + object + `}`)}, err
		}))
		for range 2 {
			_, err := h.Handle(t.Context(), mcp.NewRequest("tools/call", json.RawMessage(`{"name":"harbour","arguments":`+object+`}`)))
			if (err != nil) != fails {
				t.Fatal(err)
			}
			fails = true
		}
	}
	all := written()
	if !strings.Contains(all, "harbour") {
		t.Fatalf("the name of the tool is not written: %s", all)
	}
	quoted, err := json.Marshal(secret.Core)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(all) {
		if strings.Contains(line, secret.Core) || strings.Contains(line, strings.Trim(string(quoted), `"`)) {
			t.Errorf("%s is written: %s", secret.Kind, line)
		}
	}
}
