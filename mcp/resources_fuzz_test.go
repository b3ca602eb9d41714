package mcp_test

import (
	"context"
	"errors"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// FuzzURITemplate registers any template and reads any URI. The result must be a resource or
// invalid params, without delay.
func FuzzURITemplate(f *testing.F) {
	for _, template := range []string{"test://{id}", "test://{+path}", "test://{a,b}{/c*}{?d,e*}{#f:3}", "{a:9999}", "{a}{a}", "{"} {
		for _, uri := range []string{"test://1", "test://a/b?c=d", "test://1,2/3/4?d=5&e=6&e=7#89", "test://%ff%", "", "/////"} {
			f.Add(template, uri)
		}
	}
	f.Fuzz(func(t *testing.T, template, uri string) {
		if !utf8.ValidString(template) || !utf8.ValidString(uri) {
			t.Skip() // text that is not UTF-8 is rejected earlier
		}
		read := false
		s := mcp.NewServerWith("s", "1", mcp.ServerOptions{})
		err := s.SetResourceTemplate(mcp.ResourceTemplate{Name: "t", URITemplate: template}, func(_ context.Context, got string, variables map[string]string) (*mcp.ReadResourceResult, error) {
			read = true
			if got != uri || variables == nil {
				t.Errorf("uri %q, variables %q", got, variables)
			}
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(got, "", "x")}}, nil
		})
		if err != nil {
			return
		}
		begin := time.Now()
		params := append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}')
		result, err := s.Handle(t.Context(), mcp.NewRequest("resources/read", params))
		if took := time.Since(begin); took > 10*time.Second { // takes milliseconds on an idle machine
			t.Errorf("%q in %q: %v", uri, template, took)
		}
		if err != nil {
			var fault *mcp.Error
			if !errors.As(err, &fault) || fault.Code != mcp.CodeInvalidParams || read {
				t.Fatalf("%q in %q: %v", uri, template, err)
			}
			return
		}
		if body, err := result.Encoded(); err != nil || !read || jsonrpc.Valid(body, jsonrpc.Limits{}) != nil {
			t.Fatalf("%q in %q: %s, %v", uri, template, body, err)
		}
	})
}
