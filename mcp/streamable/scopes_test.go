package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// Over HTTP a caller without the needed scopes gets their names, in every revision, and does not
// see tools that it cannot call.
func TestMissingScopesAreNamed(t *testing.T) {
	s := mcp.NewServer("files", "1")
	for _, name := range []string{"read_file", "delete_file", "delete_all"} {
		mcp.AddTool(s, name, func(context.Context, struct{}) (string, error) { return "done", nil })
	}
	h := middleware.ToolScopes(map[string][]string{"delete_*": {"write"}, "delete_all": {"admin"}})(s)
	for _, stateless := range []bool{false, true} {
		handler := streamable.HandlerWith(h, streamable.Options{Stateless: stateless, Principal: func(r *http.Request) (*mcp.Principal, error) {
			return &mcp.Principal{Subject: "ada", Scopes: strings.Fields(r.Header.Get("X-Scopes"))}, nil
		}})
		challenged := make(chan string, 1)
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(&noting{w, challenged}, r)
		}))
		defer site.Close()
		for _, revision := range []string{"2025-03-26", "2025-11-25", "2026-07-28"} {
			t.Run(revision, func(t *testing.T) {
				c, err := mcp.DialWith(t.Context(), streamable.ClientWith(site.URL, streamable.ClientOptions{Header: http.Header{"X-Scopes": {"write"}}}), mcp.ClientOptions{Revision: revision})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				var names []string
				for tool, err := range c.Tools(t.Context()) {
					if err != nil {
						t.Fatal(err)
					}
					names = append(names, tool.Name)
				}
				if got := strings.Join(names, " "); got != "delete_file read_file" && got != "read_file delete_file" {
					t.Errorf("tools: %s", got)
				}
				if _, err := c.CallTool(t.Context(), "delete_file", struct{}{}); err != nil || len(challenged) > 0 {
					t.Errorf("with the scopes: %v", err)
				}
				_, err = c.CallTool(t.Context(), "delete_all", struct{}{})
				if err == nil {
					t.Fatal("called without the scopes")
				}
				if got := <-challenged; got != `403 Bearer error="insufficient_scope", scope="write admin"` {
					t.Errorf("without: %s", got)
				}
				if e, is := errors.AsType[*mcp.Error](err); is && !strings.Contains(e.Message, "admin") {
					t.Errorf("the error is %v", e)
				}
			})
		}
	}
}

// noting records responses with a challenge.
type noting struct {
	http.ResponseWriter
	challenged chan<- string
}

func (n *noting) WriteHeader(status int) {
	if c := n.Header().Get("WWW-Authenticate"); c != "" {
		n.challenged <- fmt.Sprint(status, " ", c)
	}
	n.ResponseWriter.WriteHeader(status)
}

func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }
