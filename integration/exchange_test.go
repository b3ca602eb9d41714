package integration

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// exchanges has a gateway act for two users at once at a server that takes Keycloak's tokens for itself only.
func exchanges(t *testing.T, address string, mux *http.ServeMux, site string) {
	gate := freeAddress(t)
	issuer := addRealm(t, address, "exchange", "servers/oidc/exchange.json", "SITE", site, "GATE", "http://"+gate)
	guard, err := auth.New(auth.Options{Resource: site + "/files", Servers: []string{issuer}, Scopes: []string{"files"}, Verifier: auth.JWT(auth.JWTOptions{Issuer: issuer, HTTP: http.DefaultClient})})
	if err != nil {
		t.Fatal(err)
	}
	server := mcp.NewServer("files", "1.0.0")
	mcp.AddTool(server, "whoami", func(ctx context.Context, _ struct{}) (string, error) {
		return "I am " + mcp.RequestFrom(ctx).Principal.Subject, nil
	})
	h := streamable.HandlerWith(server, streamable.Options{Principal: guard.Principal})
	t.Cleanup(h.Close)
	var mu sync.Mutex
	sent := map[string]bool{}
	mux.Handle(guard.MetadataPath(), guard.Metadata())
	mux.HandleFunc("/files", func(w http.ResponseWriter, r *http.Request) {
		_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		mu.Lock()
		sent[token] = true
		mu.Unlock()
		h.ServeHTTP(w, r)
	})

	program, env := junction(t), append(isolated(t), "THE_SECRET=the secret of the gateway")
	entry := func(client string) string {
		return `{"url":"` + site + `/files","oauth":{"clientId":"` + client + `","clientSecret":"${THE_SECRET}","grant":"token-exchange"}}`
	}
	file := filepath.Join(t.TempDir(), "junction.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"files":`+entry("gateway")+`,"weak":`+entry("weak")+`},"junction":{"tools":"all"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	serving(t, env, gate, program, "up", "--auth", issuer, "--http", gate, "--config", file)
	call := func(token, server string) (said string, err error) {
		out, log, err := tryRun(t, env, program, "call", "http://"+gate+"/mcp", server+"__whoami", "--header", "Authorization: Bearer "+token)
		return out + log, err
	}
	tokens := map[string]string{"ada": passwordToken(t, issuer, "people", "ada", "ada"), "ben": passwordToken(t, issuer, "people", "ben", "ben")}
	var calls sync.WaitGroup
	for user, token := range tokens {
		for range 3 {
			calls.Go(func() {
				if said, err := call(token, "files"); err != nil || !strings.Contains(said, "I am user-"+user) {
					t.Errorf("%s: %v, %s", user, err, said)
				}
			})
		}
	}
	calls.Wait()
	mu.Lock()
	for user, token := range tokens {
		if sent[token] {
			t.Errorf("the server got the token with which %s came", user)
		}
	}
	if len(sent) != 4 { // none, the gateway's own, and one of each user
		t.Errorf("%d tokens came to the server", len(sent))
	}
	mu.Unlock()
	// A client that may not exchange tokens: what to do stands in the error.
	if said, err := call(tokens["ada"], "weak"); err == nil || !strings.Contains(said, "must let oauth.clientId of weak exchange this user's tokens") {
		t.Errorf("a client that may not: %v, %s", err, said)
	}
	if said, err := call(fmt.Sprint(tokens["ada"], "x"), "files"); err == nil {
		t.Errorf("a token that is not signed: %s", said)
	}
}
