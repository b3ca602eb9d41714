package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/up/layer"
	"github.com/prometheus/client_golang/prometheus"
)

func TestWhoCanGetToTheAddressForThoseWhoWatch(t *testing.T) {
	for _, test := range []struct {
		admin, cert string
		insecure    bool
		want        up.Audience
		fault       string
	}{
		{"127.0.0.1:9464", "", false, up.ThisMachine, ""},
		{"[::1]:9464", "site.pem", true, up.ThisMachine, ""},
		{"localhost:0", "", false, up.ThisMachine, ""},
		{"0.0.0.0:9464", "", false, 0, "--admin 0.0.0.0:9464 is not on a loopback address"},
		{":9464", "", false, 0, "give --tls-cert and --tls-key, or --admin-insecure"},
		{"192.0.2.7:9464", "", false, 0, "is not on a loopback address"},
		{":9464", "site.pem", false, up.EncryptedNetwork, ""},
		{":9464", "", true, up.BareNetwork, ""},
		{"nonsense", "", false, 0, "--admin: "},
	} {
		o := up.Options{Admin: test.admin, BareAdmin: test.insecure}
		o.Cert = test.cert
		got, err := o.AdminReach()
		if got != test.want || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%+v: got %v, %v", test, got, err)
		}
	}
	alone(t)
	runs(t, "", "up", "everything", "--http", "127.0.0.1:0", "--admin", "192.0.2.7:9464").expect(t, cli.ExitUsage, "", "is not on a loopback address")
	runs(t, "", "up", "everything", "--admin-insecure").expect(t, cli.ExitUsage, "", "--admin-insecure goes with --admin")
}

func TestWhatIsServedWhereANetworkCanRead(t *testing.T) {
	v := &up.Served{App: &cli.App{Place: placeOf(t)}, Gateway: gatewayWith(t, &settings.Settings{Tools: "all", Review: reach.ReviewNone})}
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

// Servers that fail are tried again and again. Where each was tried once, nothing of that takes the gateway from its clients.
func TestAGatewayWhoseServersFailedOnceStaysReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &up.Served{App: &cli.App{Place: placeOf(t)}, Gateway: gatewayWith(t, &settings.Settings{Tools: "all", Review: reach.ReviewNone})}
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
		for i := range 3 * runtime.GOMAXPROCS(0) { // more than may start at a time
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

// What nobody approved is listed, and approved by its hash; a changed configuration is read when that is asked for.
func TestTheAPIApprovesAndReloads(t *testing.T) {
	alone(t)
	setenv(t, "JUNCTION_STATE", t.TempDir())
	setenv(t, launch.AdminTokenEnv, "token-of-the-test")
	argv := self(t, "serve", "everything")
	write := func(servers ...string) {
		t.Helper()
		all := map[string]any{}
		for _, name := range servers {
			all[name] = map[string]any{"command": argv[0], "args": argv[1:]}
		}
		text, err := json.Marshal(map[string]any{"mcpServers": all})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(t, "servers.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	r := serving(t, "up", "--tools", "all", "--review", "all", "--admin", "127.0.0.1:0", "--config", "servers.json")
	await := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %s", what, r.stderr)
			}
		}
	}
	printed := regexp.MustCompile(`http://127\.0\.0\.1:\d+/metrics`)
	await("no address", func() bool { return printed.MatchString(r.stderr.String()) })
	at := strings.TrimSuffix(printed.FindString(r.stderr.String()), "/metrics")
	ask := func(method, path string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, at+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer token-of-the-test")
		response, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	var list struct {
		Servers []struct {
			Server, Hash string
			Definitions  []struct {
				Kind, Name, Diff string
				Changed          bool
			}
		}
	}
	await("nothing is withheld", func() bool {
		_, body := ask("GET", "/api/unapproved")
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatal(err, body)
		}
		return len(list.Servers) == 1
	})
	one := list.Servers[0]
	if d := one.Definitions; one.Server != "one" || one.Hash == "" || len(d) < 10 || d[0].Kind == "" || d[0].Name == "" || d[0].Diff == "" || d[0].Changed {
		t.Errorf("withheld is %+v", list)
	}
	for path, want := range map[string]int{"one/approve": http.StatusBadRequest, "one/approve?hash=other": http.StatusConflict, "two/approve?hash=x": http.StatusNotFound} {
		if code, body := ask("POST", "/api/servers/"+path); code != want {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if got := runs(t, "", "call", r.url, "one__add", "a=1", "b=2"); got.code == cli.ExitOK {
		t.Errorf("what nobody approved was called: %+v", got)
	}
	if code, body := ask("POST", "/api/servers/one/approve?hash="+one.Hash); code != http.StatusNoContent {
		t.Errorf("approving: %d %s", code, body)
	}
	await("what was approved is not offered", func() bool { return runs(t, "", "call", r.url, "one__add", "a=1", "b=2").code == cli.ExitOK })

	if err := os.WriteFile(in(t, "servers.json"), []byte(`{"mcpServers":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, body := ask("POST", "/api/reload"); code != http.StatusUnprocessableEntity || !strings.Contains(body, "the servers from before keep running: "+in(t, "servers.json")) {
		t.Errorf("reloading what is broken: %d %s", code, body)
	}
	write("one", "two")
	if code, body := ask("POST", "/api/reload"); code != http.StatusAccepted {
		t.Errorf("reloading: %d %s", code, body)
	}
	await("the new server is not there", func() bool {
		_, body := ask("GET", "/api/status")
		return strings.Contains(body, `"name":"two"`)
	})
}

func TestWithoutReviewNothingWaitsForApproval(t *testing.T) {
	alone(t)
	v := &up.Served{App: &cli.App{Place: placeOf(t)}, Gateway: gatewayWith(t, new(settings.Settings))}
	argv := self(t, "serve", "everything")
	text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"one": map[string]any{"command": argv[0], "args": argv[1:]}}})
	if err := os.WriteFile(in(t, "servers.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "tools", serving(t, "up", "--config", "servers.json").url).expect(t, cli.ExitOK, "one__add", "") // so that it is remembered
	v.App.Flags.Config = []string{"servers.json"}
	_, entries, err := reach.ReadServers(v.App)
	if err != nil {
		t.Fatal(err)
	}
	v.Entries = entries
	for mode, want := range map[string]string{reach.ReviewNone: `{"review":"none","servers":[]}`, "all": `{"review":"all","servers":[{"server":"one",`} {
		v.Gateway.Layers().Use(&layer.Plan{Settings: &settings.Settings{Review: mode}})
		w := httptest.NewRecorder()
		v.ListUnapproved(w, httptest.NewRequest("GET", "/api/unapproved", nil))
		if got := w.Body.String(); !strings.HasPrefix(got, want) {
			t.Errorf("--review %s: got %.200s", mode, got)
		}
	}
}
