package up_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/prometheus/client_golang/prometheus"
)

func TestWarningsForNetworkAddresses(t *testing.T) {
	v := &up.Served{App: &cli.App{Place: clitest.PlaceOf(t)}, Gateway: clitest.GatewayWith(t, &settings.Settings{Tools: "all", Review: reach.ReviewNone})}
	for _, test := range []struct {
		reach up.Audience
		token string
		path  string
		want  int
	}{
		{up.ThisMachine, "", "/metrics", http.StatusOK},
		{up.ThisMachine, "", "/api/status", http.StatusUnauthorized},
		{up.EncryptedNetwork, "", "/metrics", http.StatusUnauthorized},
		{up.EncryptedNetwork, "secret", "/metrics", http.StatusOK},
		{up.EncryptedNetwork, "secret", "/api/status", http.StatusOK},
		{up.EncryptedNetwork, "", "/healthz", http.StatusOK},
		{up.BareNetwork, "", "/metrics", http.StatusOK},
		{up.BareNetwork, "secret", "/api/status", http.StatusNotFound},
	} {
		req := httptest.NewRequest("GET", test.path, nil)
		if test.token != "" {
			req.Header.Set("Authorization", "Bearer "+test.token)
		}
		w := httptest.NewRecorder()
		v.AdminMux(t.Context(), test.reach, prometheus.NewRegistry(), "secret").ServeHTTP(w, req)
		if w.Code != test.want {
			t.Errorf("%+v: got %d %s", test, w.Code, w.Body)
		}
	}
}

// The gateway retries failed servers. After each was tried once, a retry does not make the gateway
// unready.
func TestGatewaysStayReadyAfterFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &up.Served{App: &cli.App{Place: clitest.PlaceOf(t)}, Gateway: clitest.GatewayWith(t, &settings.Settings{Tools: "all", Review: reach.ReviewNone})}
		g := v.Gateway.Members()
		add := func(name string) {
			t.Helper()
			dial := func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
				select {
				case <-time.After(6 * time.Second):
					return nil, errors.New("no handshake")
				case <-ctx.Done():
					return nil, ctx.Err()
				}
			}
			if err := g.Add(name, gateway.Upstream{Dial: dial, Program: true}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 3 * runtime.GOMAXPROCS(0) { // more than may start at the same time
			add(fmt.Sprint("server", i))
		}
		if time.Sleep(time.Second); v.NotReady(t.Context()) == "" {
			t.Error("it is ready before any server was tried")
		}
		time.Sleep(10 * time.Minute)
		states := map[gateway.State]int{}
		watch := func() {
			t.Helper()
			for range 300 {
				for _, s := range g.Status() {
					states[s.State]++
				}
				if why := v.NotReady(t.Context()); why != "" {
					t.Fatalf("it is not ready: %s", why)
				}
				time.Sleep(time.Second)
			}
		}
		watch()
		if states[gateway.Connecting] == 0 || states[gateway.Failed] == 0 {
			t.Errorf("the servers were seen as %v", states)
		}
		add("added")
		watch()
		ended, end := context.WithCancel(t.Context())
		if end(); v.NotReady(ended) == "" {
			t.Error("it is ready while it ends")
		}
	})
}
