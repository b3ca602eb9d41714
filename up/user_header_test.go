package up

import (
	"net/url"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// TestDifferentUsersHaveDifferentHeaders sees that the value of the header can be read back, and is one that HTTP can carry.
func TestDifferentUsersHaveDifferentHeaders(t *testing.T) {
	for text, want := range map[string]string{
		"ann": "ann", "ann@corp.example": "ann@corp.example", "a b": "a%20b", "a%20b": "a%2520b", "bén": "b%C3%A9n",
		"a\r\nAuthorization: x": "a%0D%0AAuthorization:%20x", "https://login.example.com": "https://login.example.com", "a+b": "a+b",
	} {
		got := headerText(text)
		back, err := url.PathUnescape(got)
		if got != want || back != text || err != nil || strings.ContainsAny(got, "\r\n ") {
			t.Errorf("%q became %q, and %q again (%v); want %q", text, got, back, err, want)
		}
	}
}

func TestCallersWithoutANameAreRefused(t *testing.T) {
	if _, err := userOf(t.Context(), &mcp.Request{}); err == nil || !strings.Contains(err.Error(), "--auth") {
		t.Error(err)
	}
	ann, err := userOf(t.Context(), &mcp.Request{Principal: &mcp.Principal{Issuer: "a", Subject: "ann"}})
	if err != nil {
		t.Fatal(err)
	}
	if other, _ := userOf(t.Context(), &mcp.Request{Principal: &mcp.Principal{Issuer: "b", Subject: "ann"}}); other == ann {
		t.Error("users of two issuers share a connection")
	}
}

func TestAGatewayWithoutTasksOffersNone(t *testing.T) {
	for text, want := range map[string]bool{`{}`: true, `{"tasks": "long"}`: true, `{"tasks": "none"}`: false} {
		g := newGateway(t, &Plan{Settings: parsed(t, text)})
		r, err := g.Handle(t.Context(), &mcp.Request{Method: "server/discover", Peer: mcp.NoPeer{}})
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(string(r.JSON), tasks.Extension); has != want {
			t.Errorf("%s: %s", text, r.JSON)
		}
	}
}
