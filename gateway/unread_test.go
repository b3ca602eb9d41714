package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/definitions"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// failing returns a dial function of a server with tools, prompts and resources, one of whose lists
// cannot be read.
func failing(t *testing.T, method string) func(context.Context, *gateway.Start) (*mcp.Client, error) {
	server := member(t, "a")
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == method {
			return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "the database is gone")
		}
		return server.Handle(ctx, req)
	})
	return func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		return mcp.DialWith(ctx, stream.Pipe(h), mcp.ClientOptions{Name: "a", Bridge: true, Logger: quiet})
	}
}

func TestAServerWithoutOneListIsRememberedWhereItHasTools(t *testing.T) {
	for method, remembered := range map[string]bool{"resources/list": true, "prompts/list": true, "tools/list": false} {
		synctest.Test(t, func(t *testing.T) {
			entry := memory(t).Entry(definitions.Origin{Command: "a"})
			g := gateway.New(gateway.Options{Logger: quiet})
			defer g.Close()
			must(t, g.Add("a", gateway.Upstream{Program: true, Memory: entry, Dial: failing(t, method)}))
			must(t, g.Settle(t.Context()))
			if got := entry.Load() != nil; got != remembered {
				t.Errorf("without %s it is remembered: %v, want %v", method, got, remembered)
			}
			s := g.Status()[0]
			if s.State != gateway.Connected || s.Err == nil || !strings.Contains(s.Err.Error(), method+": ") || !strings.Contains(s.Err.Error(), "the database is gone") {
				t.Errorf("without %s it is %v: %v", method, s.State, s.Err)
			}
		})
	}
}

// Servers that fail at every start do not delay those that were not tried yet.
func TestAProgramThatFailedStartsAfterThoseThatWereNotTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Options{Logger: quiet, MaxStarts: 1})
		defer g.Close()
		for i := range 3 {
			p := newProgram(t, fmt.Sprint("broken", i), time.Minute)
			p.fail(errors.New("no key"))
			p.join(g, nil)
		}
		for i := range 3 {
			newProgram(t, fmt.Sprint("good", i), time.Minute).join(g, nil)
		}
		time.Sleep(6*time.Minute + time.Second)
		for _, s := range g.Status()[3:] {
			if s.State != gateway.Connected {
				t.Errorf("%s is %v after the time of six starts", s.Name, s.State)
			}
		}
	})
}

// The first entries of a list that is too long are used. The status and the list report that until
// the list is short again.
func TestAListThatIsCutIsShown(t *testing.T) {
	tool := func(i, size int) string {
		return fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"},"description":%q}`, i, strings.Repeat("x", size))
	}
	tests := map[string]struct {
		entries, size int
		want          string // the reason; empty if all are used
		used          int
	}{
		"bytes":         {3, 1 << 20, "tools/list: it is cut after entry 1, as a list may have 2 MiB", 1},
		"one too large": {1, 8 << 20, "tools/list: it is cut after entry 0, as a list may have 2 MiB", 0},
		"entries":       {10_001, 1, "tools/list: it is cut after entry 10000, as a list may have 10000 entries", 10_000},
		"at the limit":  {10_000, 1, "", 10_000},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, entries := member(t, "a"), test.entries
				h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
					if req.Method != "tools/list" {
						return server.Handle(ctx, req)
					}
					all := make([]string, entries)
					for i := range all {
						all[i] = tool(i, test.size)
					}
					return mcp.Result{JSON: json.RawMessage(`{"tools":[` + strings.Join(all, ",") + `]}`)}, nil
				})
				g := gateway.New(gateway.Options{Logger: quiet})
				defer g.Close()
				must(t, g.AddHandler("a", h))
				must(t, g.Settle(t.Context()))
				s, why := g.Status()[0], ""
				if s.Err != nil {
					why = s.Err.Error()
				}
				if s.State != gateway.Connected || why != test.want || s.Tools != test.used {
					t.Errorf("it is %v with %d tools: %q", s.State, s.Tools, why)
				}
				if got := missing(t, g); strings.Contains(got, `"a"`) != (test.want != "") || !strings.Contains(got, strings.TrimPrefix(test.want, "tools/list: ")) {
					t.Errorf("the list says that there is missing %s", got)
				}
				entries = 0
				mcp.AddTool(server, "more", func(context.Context, struct{}) (string, error) { return "", nil })
				time.Sleep(time.Second)
				if s := g.Status()[0]; s.Err != nil || s.Tools != 0 {
					t.Errorf("then it is %+v", s)
				}
			})
		})
	}
}
