package apps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
	"github.com/junction-mcp/junction/mcp/stream"
)

func Example() {
	s := mcp.NewServer("weather", "1")
	apps.AddView(s, mcp.Resource{URI: "ui://weather/forecast", Name: "forecast"}, apps.View{
		HTML: "<!DOCTYPE html><title>Forecast</title>", CSP: &apps.CSP{Connect: []string{"https://api.example.com"}},
	})
	tool := mcp.Tool{Name: "forecast", Description: "The weather of the next days.", Meta: apps.Link{URI: "ui://weather/forecast"}.In(nil)}
	mcp.AddToolWith(s, tool, func(context.Context, struct{}) (string, error) { return "sunny", nil })

	c := mcp.NewClient(s)
	for tool, err := range c.Tools(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		view, err := apps.Read(context.Background(), c, apps.Of(tool.Meta).URI)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(view.HTML, view.CSP.Connect)
	}
	// Output: <!DOCTYPE html><title>Forecast</title> [https://api.example.com]
}

func TestViewOfATool(t *testing.T) {
	for meta, want := range map[string]struct {
		uri        string
		model, app bool
	}{
		``:                                {"", true, true},
		`{}`:                              {"", true, true},
		`{"ui":{"resourceUri":"ui://a"}}`: {"ui://a", true, true},
		`{"ui/resourceUri":"ui://a"}`:     {"ui://a", true, true},
		`{"ui":{"resourceUri":"ui://a"},"ui/resourceUri":"ui://b"}`: {"ui://a", true, true},
		`{"ui":{"visibility":["app"]}}`:                             {"", false, true},
		`{"ui":{"resourceUri":"ui://a","visibility":["model"]}}`:    {"ui://a", true, false},
		`{"ui":{"visibility":["app","model"]}}`:                     {"", true, true},
		`{"ui":{"visibility":[]}}`:                                  {"", false, false},
		`{"ui":{"resourceUri":"https://example.com"}}`:              {"", true, true},
		`{"ui":{"resourceUri":1}}`:                                  {"", true, true},
		`{"ui":"ui://a"}`:                                           {"", true, true},
	} {
		l := apps.Of(json.RawMessage(meta))
		if l.URI != want.uri || l.For(apps.Model) != want.model || l.For(apps.App) != want.app {
			t.Errorf("%s: %+v", meta, l)
		}
	}
}

func TestALinkIsPutIntoTheMetaOfAToolAndAllElseStays(t *testing.T) {
	for before, want := range map[string]string{
		``:                              `{"ui":{"resourceUri":"ui://new","visibility":["app"]}}`,
		`{"a":1,"ui":{"b":2}}`:          `{"a":1,"ui":{"b":2,"resourceUri":"ui://new","visibility":["app"]}}`,
		`{"ui/resourceUri":"ui://old"}`: `{"ui/resourceUri":"ui://new","ui":{"resourceUri":"ui://new","visibility":["app"]}}`,
		`{"ui":1}`:                      `{"ui":{"resourceUri":"ui://new","visibility":["app"]}}`,
	} {
		var meta json.RawMessage
		if before != "" {
			meta = json.RawMessage(before)
		}
		if got := (apps.Link{URI: "ui://new", Visibility: []string{apps.App}}).In(meta); string(got) != want {
			t.Errorf("%s: %s", before, got)
		}
	}
}

func TestAServerSeesWhetherItsClientShowsViews(t *testing.T) {
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "shown", func(ctx context.Context, _ struct{}) (bool, error) {
		return apps.Shown(mcp.RequestFrom(ctx).Meta.Capabilities), nil
	})
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for _, declared := range []bool{true, false} {
			o := mcp.ClientOptions{Revision: revision}
			if declared {
				o.Capabilities = apps.Capabilities()
			}
			c, err := mcp.DialWith(t.Context(), stream.Pipe(s), o)
			if err != nil {
				t.Fatal(err)
			}
			got, err := mcp.Call[bool](t.Context(), c, "shown", nil)
			if err != nil || got != declared {
				t.Errorf("%s, declared %v: %v, %v", revision, declared, got, err)
			}
			c.Close()
		}
	}
	if apps.Shown(nil) || apps.Shown(&mcp.ClientCapabilities{Extensions: map[string]json.RawMessage{apps.Extension: json.RawMessage(`{"mimeTypes":["text/uri-list"]}`)}}) {
		t.Error("a client that shows something else")
	}
}

func TestOnlyViewsAreReadAsViews(t *testing.T) {
	s := mcp.NewServer("s", "1")
	for uri, text := range map[string]string{"ui://large": strings.Repeat("x", apps.MaxView+1), "ui://fits": strings.Repeat("x", apps.MaxView)} {
		apps.AddView(s, mcp.Resource{URI: uri, Name: "-"}, apps.View{HTML: text})
	}
	s.AddText(mcp.Resource{URI: "ui://plain", Name: "-", MIMEType: "text/html"}, "<p>")
	s.AddText(mcp.Resource{URI: "file:///a", Name: "-", MIMEType: apps.MIMEType}, "<p>")
	meta := mcp.TextContents("ui://meta", apps.MIMEType, "<p>")
	meta.Meta = json.RawMessage(`{"ui":{"csp":{"connectDomains":"https://example.com"}}}`)
	blob := mcp.BlobContents("ui://blob", apps.MIMEType, []byte("<b>"))
	for _, contents := range []mcp.ResourceContents{meta, blob} {
		s.AddResource(mcp.Resource{URI: contents.URI, Name: "-"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
		})
	}
	c := mcp.NewClient(s)
	for uri, want := range map[string]string{
		"ui://large": "bytes are more than 4 MiB", "ui://plain": `expected text/html;profile=mcp-app, got "text/html"`, "file:///a": "expected a URI that begins with ui://",
		"ui://meta": "its _meta.ui:", "ui://nothing": "resource not found", "ui://fits": "", "ui://blob": "",
	} {
		v, err := apps.Read(t.Context(), c, uri)
		if want == "" && (err != nil || v.HTML == "") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
