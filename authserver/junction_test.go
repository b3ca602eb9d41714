package authserver

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/internal/formfill"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/middleware"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// A reached site is served over the network, with a server behind it whose tools return the caller.
type reached struct {
	*site
	at     string // URL of the server
	visits int
	stale  atomic.Bool // whether the next request is refused as if its token had expired
}

// reach serves a site and the server that it protects.
func reach(t *testing.T, change ...func(*Options)) *reached {
	t.Helper()
	mux := http.NewServeMux()
	web := httptest.NewServer(mux)
	t.Cleanup(web.Close)
	r := &reached{at: web.URL + "/mcp"}
	r.site = newSite(t, append(change, func(o *Options) { o.Issuer, o.Resource = web.URL, r.at })...)
	guard, err := auth.New(auth.Options{Resource: r.at, Servers: []string{web.URL}, Verifier: r.Server, Needs: []string{"read"}, Proofs: r.options.Proofs})
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
	principal := func(q *http.Request) (*mcp.Principal, error) {
		if r.stale.CompareAndSwap(true, false) {
			q = q.Clone(q.Context())
			q.Header.Del("Authorization")
		}
		return guard.Principal(q)
	}
	mux.Handle("/", r.Server)
	mux.Handle(guard.MetadataPath(), guard.Metadata())
	mux.Handle("/mcp", streamable.HandlerWith(middleware.ToolScopes(map[string][]string{"change": {"read", "write"}})(server), streamable.Options{Principal: principal, Challenge: guard.Challenge}))
	return r
}

// client returns Junction's own client, whose user is ann.
func (r *reached) client(o oauth.Options) *oauth.Client {
	o.Name = "Junction"
	o.Visit = oauth.Loopback(func(ctx context.Context, page string) error {
		r.visits++
		go func() { // opening a browser does not block the program
			if _, err := formfill.New(map[string]string{"username": "ann", "password": password, "decision": "allow"}, nil).Visit(context.WithoutCancel(ctx), page, nil); err != nil {
				r.t.Error(err)
			}
		}()
		return nil
	})
	return oauth.New(o)
}

// dial connects to the server with the tokens of a client.
func (r *reached) dial(tokens *oauth.Client) *mcp.Client {
	r.t.Helper()
	transport, err := tokens.Transport(r.at, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := mcp.Dial(r.t.Context(), streamable.ClientWith(r.at, streamable.ClientOptions{HTTP: &http.Client{Transport: transport}}))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// keyed returns the options of a client that signs: it registered with its key, or publishes it.
func (r *reached) keyed(isDocument bool) oauth.Options {
	r.t.Helper()
	c := signer{r.t, documentAt, newTestKey(r.t), "first"}
	const redirect = "http://127.0.0.1:7777/callback"
	said := map[string]any{"client_name": "Junction", "redirect_uris": []string{redirect}, "token_endpoint_auth_method": "private_key_jwt"}
	if isDocument {
		said["client_id"], said["jwks_uri"] = c.id, keysAt
		r.publish(c.id, encoded(r.t, said))
		r.publish(keysAt, encoded(r.t, c.set()))
	} else {
		said["jwks"] = c.set()
		response, err := http.Post(r.options.Issuer+registerPath, "application/json", strings.NewReader(encoded(r.t, said)))
		if err != nil {
			r.t.Fatal(err)
		}
		defer response.Body.Close()
		var answer struct {
			ID string `json:"client_id"`
		}
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.ID == "" {
			r.t.Fatalf("registered: %s, %v", response.Status, err)
		}
		c.id = answer.ID
	}
	return oauth.Options{Registered: func(issuer string) (oauth.Registration, bool) {
		return oauth.Registration{ID: c.id, Key: c.key, KeyID: c.kid}, issuer == r.options.Issuer
	}}
}

// Junction's own client logs in, requests more scopes when a tool needs them, refreshes its token
// and logs out. It does so also with tokens bound to a key, with nonces in their proofs, and with
// signed assertions.
func TestJunctionsClientLogsIn(t *testing.T) {
	unknown := func(*reached) oauth.Options { return oauth.Options{} }
	registered := func(r *reached) oauth.Options { return r.keyed(false) }
	published := func(r *reached) oauth.Options { return r.keyed(true) }
	for name, test := range map[string]struct {
		client func(*reached) oauth.Options
		proofs auth.Proofs
	}{
		"as one that registers":                            {unknown, auth.ProofsTaken},
		"with proofs":                                      {unknown, auth.ProofsNeeded},
		"with proofs and nonces":                           {unknown, auth.ProofsWithNonce},
		"with a key that it registered":                    {registered, auth.ProofsTaken},
		"with a key that it publishes":                     {published, auth.ProofsTaken},
		"with a key that it registered, proofs and nonces": {registered, auth.ProofsWithNonce},
	} {
		t.Run(name, func(t *testing.T) {
			r := reach(t, func(o *Options) { o.Proofs = test.proofs })
			tokens := r.client(test.client(r))
			c := r.dial(tokens)
			if got, err := mcp.Call[string](t.Context(), c, "look", nil); err != nil || got != "ann read" {
				t.Fatalf("%q, %v", got, err)
			}
			if got, err := mcp.Call[string](t.Context(), c, "change", nil); err != nil || got != "ann read write" {
				t.Errorf("with more rights: %q, %v", got, err)
			}
			if got, err := mcp.Call[string](t.Context(), c, "look", nil); err != nil || got != "ann read write" || r.visits != 2 {
				t.Errorf("%q after %d visits, %v", got, r.visits, err)
			}
			r.stale.Store(true)
			if _, err := mcp.Call[string](t.Context(), c, "look", nil); err != nil || r.visits != 2 || r.stale.Load() {
				t.Errorf("refreshed: %d visits, %v", r.visits, err)
			}
			if l, err := tokens.LoginOf(t.Context(), r.at); err != nil || l.Bound != (test.proofs != auth.ProofsTaken) {
				t.Errorf("the login is %+v, %v", l, err)
			}
			if l, revoked, err := tokens.Logout(t.Context(), r.at); err != nil || !revoked {
				t.Errorf("logout: %+v %v, %v", l, revoked, err)
			}
		})
	}
}
