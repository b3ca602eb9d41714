package openapi

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/servers/httptool"
)

// within is a transport that responds to every request, and records one that leaves the API.
type within struct{ outside string }

func (w *within) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != "api.example.com" || !strings.HasPrefix(r.URL.EscapedPath(), "/v1/") {
		w.outside = r.URL.String()
	}
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(`{"a":[1]}`)), Request: r}, nil
}

// FuzzADocumentIsReadOrRefused checks that every document is read or refused, that a server can
// list its tools, and that no argument makes a request leave the API.
func FuzzADocumentIsReadOrRefused(f *testing.F) {
	f.Add(documentOf("3.0.3", `{"/x/{id}":{"post":{"operationId":"op","parameters":[{"name":"id","in":"path","style":"matrix","explode":true},{"name":"q","in":"query","style":"deepObject"}],
		"requestBody":{"content":{"multipart/form-data":{"schema":{"$ref":"#/components/schemas/Node"}}}},"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Node"}}}}}}}}`, cyclic), `{"id":"../..","q":{"a":["b"]},"body":{"name":"x"}}`)
	f.Add("openapi: 3.1.0\npaths:\n  /a/{p}/{p}{q}:\n    get: {parameters: [{name: p, in: path}, {name: q, in: path, x-multi-segment: true}]}\n", `{"p":".","q":"./../b"}`)
	f.Add(documentOf("3.1.0", `{"/x":{"put":{"requestBody":{"content":{"application/x-www-form-urlencoded":{"encoding":{"a":{"style":"pipeDelimited"}}}}}}}}`, ""), `{"body":{"a":[1,{"b":[]}]}}`)
	f.Fuzz(func(t *testing.T, document, arguments string) {
		from := filepath.Join(t.TempDir(), "api.yaml")
		if err := os.WriteFile(from, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		api := &within{}
		s, err := Open(t.Context(), Options{From: from, Secrets: map[string]string{"": "s3cret-token"}, Requests: httptool.Options{Base: "https://api.example.com/v1", Transport: api, Logger: slog.New(slog.DiscardHandler)}})
		if err != nil {
			return
		}
		defer s.Close()
		c := mcp.NewClient(s)
		defer c.Close()
		for name := range toolsOf(t, c) {
			if len(name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
				t.Errorf("a tool is called %q", name)
			}
			if json.Valid([]byte(arguments)) && strings.HasPrefix(arguments, "{") {
				_, _ = c.CallTool(t.Context(), name, json.RawMessage(arguments)) // any result is fine
			}
		}
		if api.outside != "" {
			t.Errorf("a request went to %s", api.outside)
		}
	})
}
