package authserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/formfill"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// Junction's own client logs in, asks for more rights when a tool needs them, and logs out.
func TestJunctionsClientLogsIn(t *testing.T) {
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	defer web.Close()
	at := web.URL + "/mcp"
	s := newSite(t, func(o *Options) { o.Issuer, o.Resource = web.URL, at })
	guard, err := auth.New(auth.Options{Resource: at, Servers: []string{web.URL}, Verifier: s.Server, Needs: []string{"read"}})
	if err != nil {
		t.Fatal(err)
	}
	server := mcp.NewServer("files", "1.0.0")
	who := func(ctx context.Context, _ struct{}) (string, error) {
		p := mcp.RequestFrom(ctx).Principal
		return p.Subject + " " + strings.Join(p.Scopes, " "), nil
	}
	mcp.AddTool(server, "look", who)
	mcp.AddTool(server, "change", who)
	mux.Handle("/", s.Server)
	mux.Handle(guard.MetadataPath(), guard.Metadata())
	mux.Handle("/mcp", streamable.HandlerWith(middleware.ToolScopes(map[string][]string{"change": {"read", "write"}})(server), streamable.Options{Principal: guard.Principal, Challenge: guard.Challenge}))

	visits := 0
	tokens := oauth.New(oauth.Options{Name: "Junction", Visit: oauth.Loopback(func(ctx context.Context, page string) error {
		visits++
		go func() { // a browser does not keep the program waiting
			if _, err := formfill.New(map[string]string{"username": "ann", "password": password, "decision": "allow"}, nil).Visit(context.WithoutCancel(ctx), page, nil); err != nil {
				t.Error(err)
			}
		}()
		return nil
	})})
	transport, err := tokens.Transport(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := mcp.Dial(t.Context(), streamable.ClientWith(at, streamable.ClientOptions{HTTP: &http.Client{Transport: transport}}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := mcp.Call[string](t.Context(), c, "look", nil); err != nil || got != "ann read" {
		t.Fatalf("%q, %v", got, err)
	}
	if got, err := mcp.Call[string](t.Context(), c, "change", nil); err != nil || got != "ann read write" {
		t.Errorf("with more rights: %q, %v", got, err)
	}
	if got, err := mcp.Call[string](t.Context(), c, "look", nil); err != nil || got != "ann read write" || visits != 2 {
		t.Errorf("%q after %d visits, %v", got, visits, err)
	}
	if l, revoked, err := tokens.Logout(t.Context(), at); err != nil || !revoked {
		t.Errorf("logout: %+v %v, %v", l, revoked, err)
	}
}
