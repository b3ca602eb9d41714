package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/up/layer"
)

func TestWatchersSeeWhoReachesTheAddress(t *testing.T) {
	for _, test := range []struct {
		admin, cert string
		insecure    bool
		want        up.Audience
		fault       string
	}{
		{"127.0.0.1:9464", "", false, up.ThisMachine, ""},
		{"[::1]:9464", "site.pem", true, up.ThisMachine, ""},
		{"localhost:0", "", false, up.ThisMachine, ""},
		{"0.0.0.0:9464", "", false, 0, "--admin 0.0.0.0:9464 is not a loopback address"},
		{":9464", "", false, 0, "give --tls-cert and --tls-key, or --admin-insecure"},
		{"192.0.2.7:9464", "", false, 0, "is not a loopback address"},
		{":9464", "site.pem", false, up.EncryptedNetwork, ""},
		{":9464", "", true, up.BareNetwork, ""},
		{"nonsense", "", false, 0, "--admin: "},
	} {
		o := up.Options{Front: up.Front{Listen: settings.Listen{Admin: test.admin, AdminInsecure: test.insecure, TLS: settings.TLS{Cert: test.cert}}}}
		got, err := o.AdminReach()
		if got != test.want || (err != nil) != (test.fault != "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%+v: got %v, %v", test, got, err)
		}
	}
	clitest.Alone(t)
	runs(t, "", "up", "everything", "--http", "127.0.0.1:0", "--admin", "192.0.2.7:9464").expect(t, cli.ExitUsage, "", "is not a loopback address")
	runs(t, "", "up", "everything", "--admin-insecure").expect(t, cli.ExitUsage, "", "--admin-insecure goes with --admin")
}

// What nobody approved is listed, and approved by its hash; a changed configuration is read when that is asked for.
func TestTheAPIApprovesAndReloads(t *testing.T) {
	clitest.Alone(t)
	clitest.Setenv(t, "JUNCTION_STATE", t.TempDir())
	clitest.Setenv(t, launch.AdminTokenEnv, "token-of-the-test")
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
		if err := os.WriteFile(clitest.In(t, "servers.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	r := serving(t, "up", "--tools", "all", "--review", "all", "--admin", "127.0.0.1:0", "--config", "servers.json")
	await := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(guardTime); !holds(); time.Sleep(20 * time.Millisecond) {
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

	if err := os.WriteFile(clitest.In(t, "servers.json"), []byte(`{"mcpServers":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, body := ask("POST", "/api/reload"); code != http.StatusUnprocessableEntity || !strings.Contains(body, "the earlier servers keep running: "+clitest.In(t, "servers.json")) {
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
	clitest.Alone(t)
	v := &up.Served{App: reach.Ready(&cli.App{Place: clitest.PlaceOf(t)}), Gateway: clitest.GatewayWith(t, new(settings.Settings))}
	argv := self(t, "serve", "everything")
	text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"one": map[string]any{"command": argv[0], "args": argv[1:]}}})
	if err := os.WriteFile(clitest.In(t, "servers.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "tools", serving(t, "up", "--config", "servers.json").url).expect(t, cli.ExitOK, "one__add", "") // so that it is remembered
	v.App.Launch.Config = []string{"servers.json"}
	c, err := v.App.Launch.Read()
	entries := c.Entries
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
