package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
)

// costly is a server whose templates are slow to match against a long URI, and whose tool links to
// many such URIs.
type costly struct {
	templates int
	links     int
}

func (s costly) Handle(_ context.Context, req *mcp.Request) (mcp.Result, error) {
	var result any = struct{}{}
	switch req.Method {
	case "server/discover":
		result = mcp.DiscoverResult{SupportedVersions: []string{"2026-07-28"}, Capabilities: mcp.ServerCapabilities{Tools: &mcp.ListCapability{}, Resources: &mcp.ResourcesCapability{}}}
	case "tools/list":
		result = json.RawMessage(`{"tools":[{"name":"links","inputSchema":{"type":"object"}}]}`)
	case "resources/list":
		result = json.RawMessage(`{"resources":[]}`)
	case "resources/templates/list":
		var all []mcp.ResourceTemplate
		for i := range s.templates {
			all = append(all, mcp.ResourceTemplate{URITemplate: fmt.Sprintf("{a}{b}{c}{d}{e}{f}{g}{h}!%d", i), Name: "n"})
		}
		result = map[string]any{"resourceTemplates": all}
	case "tools/call":
		var links []mcp.Content
		for i := range s.links {
			links = append(links, mcp.Link(mcp.Resource{URI: longURI(i), Name: "n"}))
		}
		result = mcp.CallToolResult{Content: links}
	}
	if body, is := result.(json.RawMessage); is {
		return mcp.Result{JSON: body}, nil
	}
	return mcp.Result{Value: result}, nil
}

func longURI(i int) string { return strings.Repeat("y", 8_000) + fmt.Sprint(i) }

// busyMinute returns a channel that is closed when this process has used a minute of processor
// time. That may be many minutes of the clock if other programs run. If the system does not report
// it, one minute of the clock counts.
func busyMinute(t *testing.T) <-chan struct{} {
	began := time.Now()
	used := func() time.Duration {
		stat, err := os.ReadFile("/proc/self/stat")
		_, rest, _ := strings.Cut(string(stat), ") ") // the fields from the state on
		fields := strings.Fields(rest)
		if err != nil || len(fields) < 13 {
			return time.Since(began)
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		return time.Duration(user+system) * time.Second / 100
	}
	before, over := used(), make(chan struct{})
	go func() {
		defer close(over)
		for used()-before < time.Minute && t.Context().Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
	}()
	return over
}

// Servers that are not trusted choose templates, and they and clients choose URIs. No product of
// the two keeps the gateway busy.
func TestCostlyTemplatesBlockNoClient(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.AddHandler("hostile", costly{templates: 9_000, links: 400}))
	must(t, g.AddHandler("honest", library("honest")))
	must(t, g.Settle(t.Context()))
	c := mcp.NewClient(g)
	within := func(what string, f func()) {
		t.Helper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		select {
		case <-done:
		case <-busyMinute(t): // it once took minutes, and hours
			t.Fatalf("%s takes longer than a minute of a processor", what)
		}
	}
	within("to read what nobody has", func() {
		if _, err := c.ReadResource(t.Context(), longURI(0)); err == nil {
			t.Error("it was found")
		}
	})
	within("a result with many links", func() {
		if r, err := c.CallTool(t.Context(), "hostile__links", nil); err != nil || len(r.Content) != 400 {
			t.Errorf("%d links, %v", len(r.Content), err)
		}
	})
	within("to read what another server has", func() {
		if r, err := c.ReadResource(t.Context(), "file:///notes/x"); err != nil || r.Contents[0].Text != "x of honest" {
			t.Errorf("%+v, %v", r, err)
		}
	})
	n := 0
	for _, err := range c.ResourceTemplates(t.Context()) {
		must(t, err)
		n++
	}
	if n != 9_001 {
		t.Errorf("%d templates are listed", n)
	}
}

// All URIs of a listen share the limit of one request. So a client with many URIs does no more harm
// than one that reads.
func TestManySubscriptionsBlockNoClient(t *testing.T) {
	g := gateway.New(gateway.Options{Logger: quiet})
	defer g.Close()
	must(t, g.AddHandler("hostile", costly{templates: 256}))
	honest, asked := library("honest"), make(chan struct{})
	must(t, g.AddHandler("honest", mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" && strings.Contains(string(req.Params), "file:///notes/x") {
			close(asked)
		}
		return honest.Handle(ctx, req)
	})))
	must(t, g.Settle(t.Context()))
	uris := []string{"file:///notes/x"}
	for i := range 4_000 {
		uris = append(uris, fmt.Sprint(strings.Repeat("y", 100), i))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = mcp.NewClient(g).Listen(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: uris}, func(mcp.Notification) {})
	}()
	select {
	case <-asked:
	case <-busyMinute(t): // it once took many minutes
		t.Error("the server that has a resource hears nothing of it for a minute of a processor")
	}
	cancel()
	<-ended
}
