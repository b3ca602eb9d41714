package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// TestARecalledSessionIsAsBefore compares the requests of a session with those of the same session
// at another replica.
func TestARecalledSessionIsAsBefore(t *testing.T) {
	everything := map[string]any{"resources": map[string]any{"subscribe": true, "listChanged": true}}
	for _, list := range revision.Changes() {
		if list.Capability != "resources" {
			everything[list.Capability] = map[string]any{"listChanged": true}
		}
	}
	all, _ := json.Marshal(everything)
	for _, offered := range []string{`{}`, `{"tools":{}}`, `{"tools":{"listChanged":true}}`, `{"resources":{"subscribe":true}}`, string(all)} {
		for _, r := range revision.Legacy() {
			t.Run(r+" "+offered, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { compareRecalled(t, r, offered) })
			})
		}
	}
}

func compareRecalled(t *testing.T, r, offered string) {
	var seen []*mcp.Request
	h := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		seen = append(seen, req)
		if req.Method == "subscriptions/listen" {
			<-ctx.Done()
		}
		return mcp.Result{JSON: []byte(`{"capabilities":` + offered + `}`), Meta: []byte(`{"` + mcp.ChangesKey + `":"epoch.7"}`)}, nil
	})
	ada := &mcp.Principal{Subject: "ada"}
	initialize := parse(t, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+r+`","capabilities":{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{"url":{}},"experimental":{"x":{"a":1}}},"clientInfo":{"name":"c","title":"C","version":"1"}}}`)
	from := edge.From{Principal: ada, Key: "the client", NoTasks: true}
	first, reply := newEdge(t, h).Initialize(t.Context(), nil, initialize, from)
	if first == nil {
		t.Fatalf("%s", reply.Message)
	}
	defer first.Close()
	again, err := newEdge(t, h).Recall(t.Context(), first.AppendCarried(nil), from, "own.")
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	asked := func(s *edge.Session) (all []string) {
		seen = nil
		ctx, cancel := context.WithCancel(t.Context())
		run, err := s.Listen(ctx, deaf{})
		if err != nil {
			t.Fatal(err)
		}
		go run()
		synctest.Wait()
		s.Request(ctx, nil, parse(t, `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"x:a"}}`), from)
		synctest.Wait()
		cancel()
		synctest.Wait()
		s.Request(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`), from)
		for _, req := range seen {
			meta, _ := json.Marshal(req.Meta)
			all = append(all, fmt.Sprintf("%s %s %s %v %v", req.Method, req.Params, meta, req.Principal.Subject, req.Caller))
		}
		return all
	}
	if before, after := asked(first), asked(again); !reflect.DeepEqual(before, after) {
		t.Errorf("requests are\n%s\nafter\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
	}
}

// TestWhatASessionCarriesIsBounded has a client that describes itself at length.
func TestWhatASessionCarriesIsBounded(t *testing.T) {
	e := newEdge(t, mcp.NewServer("s", "1"))
	for _, unit := range []string{"a", "ä", "<", "\u2028", `\"`, "\U0001F600"} {
		long := strings.Repeat(unit, 16_000/len(unit)-200)
		text := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"experimental":{"x":{"y":"%s"}}},"clientInfo":{"name":"%s","version":"1","description":"long","icons":[{"src":"https://example.com/"}]}}}`, long, long)
		s, reply := e.Initialize(t.Context(), nil, parse(t, text), edge.From{})
		if s == nil {
			t.Fatalf("%s", reply.Message)
		}
		defer s.Close()
		carried := s.AppendCarried(nil)
		if len(carried) > 1<<10 {
			t.Errorf("%q: %d bytes", unit, len(carried))
		}
		again, err := e.Recall(t.Context(), carried, edge.From{}, "")
		if err != nil {
			t.Fatal(err)
		}
		again.Close()
		if again.Revision().Name != "2025-11-25" {
			t.Errorf("%q: the revision is %s", unit, again.Revision().Name)
		}
	}
}
