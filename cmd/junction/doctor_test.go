package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

func TestDoctorNamesTheLinkThatIsBrokenAndWhatMendsIt(t *testing.T) {
	alone(t)
	closed := httptest.NewServer(http.NotFoundHandler())
	away := closed.URL
	closed.Close()
	locked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	untrusted := httptest.NewTLSServer(http.NotFoundHandler())
	defer untrusted.Close()
	untrusted.Config.ErrorLog = nil
	text := fmt.Sprintf(`{"mcpServers":{
		"good":{"command":%q,"args":["serve","everything"],"env":{"X":"${HOME}"}},
		"unset":{"command":"x","env":{"TOKEN":"${JUNCTION_TEST_UNSET}"}},
		"missing":{"command":"no-such-program-here"},
		"ends":{"command":%q,"args":["serve","nothing"]},
		"away":{"url":"%s/mcp"},
		"locked":{"url":"%s/mcp"},
		"untrusted":{"url":"%s/mcp"},
		"off":{"command":"x","disabled":true},
		"wrong":{"command":3}}}`, self(t)[0], self(t)[0], away, locked.URL, untrusted.URL)
	if err := os.WriteFile("d.json", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got := runs(t, "", "doctor", "--config", "d.json", "--json")
	if got.code != exitToolFailed {
		t.Fatalf("%+v", got)
	}
	var all struct {
		Servers []patient `json:"servers"`
	}
	if err := json.Unmarshal([]byte(got.stdout), &all); err != nil {
		t.Fatal(err)
	}
	want := map[string]struct{ link, detail, remedy string }{
		"good":      {"ping", "", ""},
		"unset":     {"variables", "JUNCTION_TEST_UNSET", "set the variable"},
		"missing":   {"program", "no-such-program-here", "install no-such-program-here"},
		"ends":      {"start", "no server called", "start it by hand"},
		"away":      {"address", "refused", "nothing listens there"},
		"locked":    {"start", "401", "credentials"},
		"untrusted": {"TLS", "certificate", "SSL_CERT_FILE"},
		"wrong":     {"entry", "expected", "change line 10 of d.json"},
	}
	for _, p := range all.Servers {
		w, there := want[p.Server]
		last := p.Links[len(p.Links)-1]
		if !there || last.Name != w.link || last.OK != (w.remedy == "") || !strings.Contains(last.Detail, w.detail) || !strings.Contains(last.Remedy, w.remedy) {
			t.Errorf("%s: the last link is %+v, want %+v", p.Server, last, w)
		}
		delete(want, p.Server)
	}
	if len(want) > 0 {
		t.Errorf("not examined: %v", want)
	}
	runs(t, "", "doctor", "good", "--config", "d.json").expect(t, exitOK, "ok      start: in ", "")
	shown := runs(t, "", "doctor", "missing", "--config", "d.json")
	shown.expect(t, exitToolFailed, "to mend it: install no-such-program-here", "")
	if !strings.Contains(shown.stdout, "1 server, 1 with a broken link") {
		t.Errorf("printed %s", shown.stdout)
	}
}
