package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/apps"
)

// clockWith returns a server whose tool has the view ui://clock/app.html, like several servers that
// were made after one example. The parameter listed is set if the view is in the list of resources,
// which it need not be.
func clockWith(name string, listed bool) mcp.Handler {
	s := mcp.NewServer(name, "1")
	apps.AddView(s, mcp.Resource{URI: "ui://clock/app.html", Name: "clock"}, apps.View{HTML: "<p>" + name, CSP: &apps.CSP{Connect: []string{"https://" + name + ".example.com"}}})
	shown := mcp.Tool{Name: "show", Meta: json.RawMessage(`{"ui":{"resourceUri":"ui://clock/app.html","other":1},"ui/resourceUri":"ui://clock/app.html","example.com/x":2}`)}
	mcp.AddToolWith(s, shown, func(context.Context, struct{}) (string, error) { return name, nil })
	mcp.AddToolWith(s, mcp.Tool{Name: "poll", Meta: apps.Link{Visibility: []string{apps.App}}.In(nil)}, func(context.Context, struct{}) (string, error) { return name, nil })
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "resources/list" && !listed {
			return mcp.Result{JSON: json.RawMessage(`{"resources":[]}`)}, nil
		}
		return s.Handle(ctx, req)
	})
}

func TestViewsBelongToTheToolsServer(t *testing.T) {
	for _, listed := range []bool{true, false} {
		g := gateway.New(gateway.Options{Logger: quiet})
		defer g.Close()
		for _, name := range []string{"one", "two", "three"} {
			must(t, g.AddHandler(name, clockWith(name, listed)))
		}
		must(t, g.Settle(t.Context()))
		c := mcp.NewClient(g)
		seen := map[string]bool{}
		for tool, err := range c.Tools(t.Context()) {
			must(t, err)
			link := apps.Of(tool.Meta)
			if strings.HasSuffix(tool.Name, "poll") {
				if link.For(apps.Model) || !link.For(apps.App) {
					t.Errorf("%s: %s", tool.Name, tool.Meta)
				}
				continue
			}
			server := strings.TrimSuffix(tool.Name, "__show")
			view, err := apps.Read(t.Context(), c, link.URI)
			if err != nil || view.HTML != "<p>"+server || view.CSP == nil || view.CSP.Connect[0] != "https://"+server+".example.com" {
				t.Errorf("%s, listed %v: %s: %+v, %v", server, listed, link.URI, view, err)
			}
			seen[link.URI] = true
			if server == "one" && string(tool.Meta) != `{"ui":{"resourceUri":"ui://clock/app.html","other":1},"ui/resourceUri":"ui://clock/app.html","example.com/x":2}` {
				t.Errorf("what nobody else has was changed: %s", tool.Meta)
			}
			if former := fmt.Sprintf(`"ui/resourceUri":%q`, link.URI); !strings.Contains(string(tool.Meta), former) || !strings.Contains(string(tool.Meta), `"other":1`) || !strings.Contains(string(tool.Meta), `"example.com/x":2`) {
				t.Errorf("%s: %s", server, tool.Meta)
			}
			result, err := c.ReadResource(t.Context(), link.URI)
			if err != nil || result.Contents[0].URI != link.URI {
				t.Errorf("%s: the contents of %s are those of %+v, %v", server, link.URI, result, err)
			}
		}
		if len(seen) != 3 {
			t.Errorf("listed %v: views are %v", listed, seen)
		}
		inList := map[string]bool{}
		for r, err := range c.Resources(t.Context()) {
			must(t, err)
			inList[r.URI] = true
		}
		if want := map[bool]int{true: 3, false: 0}[listed]; len(inList) != want {
			t.Errorf("listed %v: the list has %v", listed, inList)
		}
		for uri := range inList {
			if !seen[uri] {
				t.Errorf("%s is the view of no tool", uri)
			}
		}
		part := mcp.NewClient(g.Only(gateway.Selection{Servers: []string{"one"}}))
		for uri := range seen {
			if _, err := part.ReadResource(t.Context(), uri); (err == nil) != (uri == "ui://clock/app.html") {
				t.Errorf("in a part: %s: %v", uri, err)
			}
		}
	}
}

func TestAGatewayOfOneServerChangesNothingOfItsViews(t *testing.T) {
	g := gateway.Route(map[string]mcp.Handler{"one": clockWith("one", false)})
	defer g.Close()
	c := mcp.NewClient(g)
	if view, err := apps.Read(t.Context(), c, "ui://clock/app.html"); err != nil || view.HTML != "<p>one" {
		t.Errorf("%+v, %v", view, err)
	}
	if _, err := c.ReadResource(t.Context(), "ui://clock/other.html"); mcp.ErrorOf(err).Code != mcp.CodeInvalidParams {
		t.Errorf("a view of no tool: %v", err)
	}
}
