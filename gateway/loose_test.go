package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// A reader is a Handler with resources and templates. It records the URIs of its requests, and
// reads those that has reports.
type reader struct {
	resources, templates []string
	has                  func(uri string) bool

	mu    sync.Mutex
	asked []string
}

func (l *reader) Handle(_ context.Context, req *mcp.Request) (mcp.Result, error) {
	list := func(name, key string, uris []string) (mcp.Result, error) {
		entries := []map[string]string{}
		for _, uri := range uris {
			entries = append(entries, map[string]string{key: uri, "name": uri})
		}
		body, err := json.Marshal(map[string]any{name: entries})
		return mcp.Result{JSON: body}, err
	}
	switch req.Method {
	case "server/discover":
		return mcp.Result{JSON: json.RawMessage(`{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{}}}`)}, nil
	case "resources/list":
		return list("resources", "uri", l.resources)
	case "resources/templates/list":
		return list("resourceTemplates", "uriTemplate", l.templates)
	case "resources/read":
		uri, _ := jsonrpc.Unquote(jsonrpc.Get(req.Params, "uri"))
		l.mu.Lock()
		l.asked = append(l.asked, uri)
		l.mu.Unlock()
		if l.has != nil && !l.has(uri) {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "resource not found: %s", uri)
		}
		body, err := json.Marshal(map[string]any{"contents": []map[string]string{{"uri": uri, "text": "this is " + uri}}})
		return mcp.Result{JSON: body}, err
	}
	return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no")
}

func TestReadAsksEachMatchingTemplate(t *testing.T) {
	for _, test := range []struct {
		uri         string
		first, next []string // the requests that each server gets
		want        string   // the text, or a part of the error
	}{
		{"note://a", []string{"note://a"}, nil, "this is note://a"},
		{"note://a/b/c", []string{"note://a/b/c"}, nil, "this is note://a/b/c"},
		{"file:///a/b", []string{"file:///a/b"}, nil, "this is file:///a/b"},
		{"proxy://a/b", []string{"proxy://a/b"}, nil, "this is proxy://a/b"},
		{"NOTE://a/b", []string{"note://a/b"}, nil, "this is note://a/b"},
		{"file:///my%20file", []string{"file:///my file"}, nil, "this is file:///my file"},
		{"upper://host", []string{"UPPER://Host"}, nil, "this is UPPER://Host"},
		{"http://HOST", nil, []string{"http://host/"}, "this is http://host/"},
		{"file:///docs/a/b", []string{"file:///docs/a/b"}, []string{"file:///docs/a/b"}, "this is file:///docs/a/b"}, // as the other template matches more literal text
		{"other://a", nil, nil, "resource not found: other://a"},
		{"junction:next/note://a/b", nil, nil, "resource not found"},
	} {
		t.Run(test.uri, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				first := &reader{resources: []string{"file:///my file", "UPPER://Host"}, templates: []string{"note://{path*}", "file:///{path}", "proxy://{rest+}", "{any}"}}
				next := &reader{resources: []string{"http://host/"}, templates: []string{"file:///docs/{name}"}, has: func(uri string) bool { return !strings.HasPrefix(uri, "file:") }}
				g := gateway.New(gateway.Options{Logger: quiet})
				defer g.Close()
				must(t, g.AddHandler("first", first))
				must(t, g.AddHandler("next", next))
				got := ""
				result, err := mcp.NewClient(g).ReadResource(t.Context(), test.uri)
				if err != nil {
					got = err.Error()
				} else {
					got = result.Contents[0].Text
				}
				if !strings.Contains(got, test.want) {
					t.Errorf("got %q, want %q", got, test.want)
				}
				if !slices.Equal(first.asked, test.first) || !slices.Equal(next.asked, test.next) {
					t.Errorf("asked %q and %q, want %q and %q", first.asked, next.asked, test.first, test.next)
				}
			})
		})
	}
}

// A part without the template does not offer resources that only the template matches.
func TestReadOfAPartIgnoresTemplatesOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &reader{templates: []string{"file:///{path}"}}
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		must(t, g.AddHandler("files", l))
		part := g.Only(gateway.Selection{Keep: func(e gateway.Entry) bool { return e.Name != "file:///{path}" }})
		if _, err := mcp.NewClient(part).ReadResource(t.Context(), "file:///a/b"); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) || len(l.asked) > 0 {
			t.Errorf("got %v, asked for %q", err, l.asked)
		}
	})
}
