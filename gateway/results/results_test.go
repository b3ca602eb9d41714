package results_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/results"
	"github.com/junction-mcp/junction/mcp"
)

const line = "größer und länger 0123456789\n"

func long() *mcp.Server {
	s := mcp.NewServer("long", "1")
	mcp.AddTool(s, "text", func(_ context.Context, in struct {
		Lines int `json:"lines"`
	}) (string, error) {
		return strings.Repeat(line, in.Lines), nil
	})
	mcp.AddTool(s, "rows", func(_ context.Context, in struct {
		Rows int `json:"rows"`
	}) (struct {
		Rows []string `json:"rows"`
	}, error) {
		var out struct {
			Rows []string `json:"rows"`
		}
		for i := range in.Rows {
			out.Rows = append(out.Rows, fmt.Sprint("row ", i))
		}
		return out, nil
	})
	return s
}

func call(t *testing.T, c *mcp.Client, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	result, err := c.CallTool(t.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestALongTextIsReadAsAResourceThroughAGateway(t *testing.T) {
	g := gateway.New(gateway.Options{})
	defer g.Close()
	if err := g.AddHandler("l", long(), results.Middleware(results.Options{Server: "l", Max: 2_000})); err != nil {
		t.Fatal(err)
	}
	if err := g.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(g)
	for tool, err := range c.Tools(t.Context()) {
		if err != nil || tool.OutputSchema != nil {
			t.Errorf("%s has the output schema %s, %v", tool.Name, tool.OutputSchema, err)
		}
	}
	if got := call(t, c, "l__text", `{"lines":10}`); len(got.Content) != 1 || got.Content[0].Text != strings.Repeat(line, 10) {
		t.Errorf("a short one is %+v", got)
	}
	if got := call(t, c, "l__rows", `{"rows":3}`); got.StructuredContent == nil {
		t.Errorf("a short one has no structure: %+v", got)
	}
	whole := strings.Repeat(line, 500)
	got := call(t, c, "l__text", `{"lines":500}`)
	if len(got.Content) != 2 || got.StructuredContent != nil || len(got.Content[0].Text) > 2_400 || !strings.HasPrefix(got.Content[0].Text, line) {
		t.Fatalf("got %d items, the first of %d bytes", len(got.Content), len(got.Content[0].Text))
	}
	uri := got.Content[1].Link.URI
	if !strings.HasPrefix(uri, "result://l/") || !strings.Contains(got.Content[0].Text, uri+"/1 to ") {
		t.Errorf("the link is %q: %s", uri, got.Content[0].Text[1_990:])
	}
	read := func(uri string) string {
		r, err := c.ReadResource(t.Context(), uri)
		if err != nil {
			t.Fatal(err)
		}
		return r.Contents[0].Text
	}
	if read(uri) != whole {
		t.Error("the resource is not the whole text")
	}
	pages := ""
	for n := 1; n <= (len(whole)+1_999)/2_000; n++ {
		pages += read(fmt.Sprintf("%s/%d", uri, n))
	}
	if pages != whole {
		t.Errorf("the pages have %d bytes together, want %d", len(pages), len(whole))
	}
	for _, wrong := range []string{uri + "/0", uri + "/99", uri + "x", uri + "/a"} {
		if _, err := c.ReadResource(t.Context(), wrong); err == nil {
			t.Errorf("%s can be read", wrong)
		}
	}
	rows := call(t, c, "l__rows", `{"rows":1000}`)
	if last := rows.Content[len(rows.Content)-1]; last.Link == nil || last.Link.MIMEType != "application/json" || !json.Valid([]byte(read(last.Link.URI))) {
		t.Errorf("of rows: %+v", last)
	}
}

func TestKeptResultsBelongToOneUserAndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := results.Middleware(results.Options{Server: "l", Max: 1_000, Store: results.NewStore(50_000)})(long())
		as := func(subject, method, params string) (string, error) {
			req := mcp.NewRequest(method, json.RawMessage(params))
			req.Principal = &mcp.Principal{Subject: subject}
			result, err := h.Handle(t.Context(), req)
			if err != nil {
				return "", err
			}
			body, err := result.Encoded()
			return string(body), err
		}
		uri := func() string {
			body, err := as("ann", "tools/call", `{"name":"text","arguments":{"lines":500}}`)
			if err != nil {
				t.Fatal(err)
			}
			_, after, _ := strings.Cut(body, `"uri":"`)
			found, _, _ := strings.Cut(after, `"`)
			return `{"uri":"` + found + `"}`
		}
		first := uri()
		if _, err := as("ann", "resources/read", first); err != nil {
			t.Error(err)
		}
		if _, err := as("ben", "resources/read", first); err == nil {
			t.Error("somebody else can read it")
		}
		for range 3 {
			uri()
		}
		if _, err := as("ann", "resources/read", first); err == nil {
			t.Error("more is kept than may be")
		}
		last := uri()
		time.Sleep(29 * time.Minute)
		if _, err := as("ann", "resources/read", last); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		if _, err := as("ann", "resources/read", last); err == nil {
			t.Error("it is kept for longer than it may be")
		}
	})
}

func TestServersThatShareAStoreAreBoundedAsOneAndKeptApart(t *testing.T) {
	store := results.NewStore(50_000)
	servers := map[string]*mcp.Client{}
	for _, name := range []string{"a", "b"} {
		servers[name] = mcp.NewClient(results.Middleware(results.Options{Server: name, Max: 1_000, Store: store})(long()))
	}
	uri := func(server string) string {
		return call(t, servers[server], "text", `{"lines":700}`).Content[1].Link.URI // some 20,000 bytes
	}
	first, second := uri("a"), uri("b")
	for server, of := range map[string]string{"a": first, "b": second} {
		if r, err := servers[server].ReadResource(t.Context(), of); err != nil || r.Contents[0].Text != strings.Repeat(line, 700) {
			t.Errorf("%s: %v", of, err)
		}
	}
	if _, err := servers["b"].ReadResource(t.Context(), strings.Replace(first, "result://a/", "result://b/", 1)); err == nil {
		t.Error("a result of one server is read from another")
	}
	third := uri("b")
	for of, there := range map[string]bool{first: false, second: true, third: true} {
		if _, err := servers[of[len("result://"):][:1]].ReadResource(t.Context(), of); (err == nil) != there {
			t.Errorf("%s is kept: %t", of, !there)
		}
	}
}

func TestKeptTextsHaveMediaTypesOnly(t *testing.T) {
	for kind, want := range map[string]string{
		"text/html":                        "text/html",
		"text/" + strings.Repeat("x", 250): "text/" + strings.Repeat("x", 250),
		"text/" + strings.Repeat("x", 251): "text/plain", // it would be kept, but not counted
	} {
		h := results.Middleware(results.Options{Server: "l", Max: 100})(mcp.HandlerFunc(func(context.Context, *mcp.Request) (mcp.Result, error) {
			return mcp.Result{Value: &mcp.CallToolResult{Content: []mcp.Content{{Type: "resource", Resource: &mcp.ResourceContents{URI: "x:y", MIMEType: kind, Text: strings.Repeat(line, 10)}}}}}, nil
		}))
		c := mcp.NewClient(h)
		link := call(t, c, "text", `{}`).Content[1].Link
		if link.MIMEType != want {
			t.Fatalf("%.20s: the link is %+v, want %.20s", kind, link, want)
		}
		read, err := c.ReadResource(t.Context(), link.URI)
		if err != nil || read.Contents[0].MIMEType != want {
			t.Errorf("%.20s: got %+v, %v", kind, read, err)
		}
	}
}
