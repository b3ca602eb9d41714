package main

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// An aCaller is a client of a junction up.
type aCaller struct{ *mcp.Client }

// dialed connects a caller with an HTTP client and headers.
func (w *world) dialed(url string, o streamable.ClientOptions) (aCaller, error) {
	c, err := mcp.DialWith(w.Context(), streamable.ClientWith(url, o), mcp.ClientOptions{NoCache: true})
	if err == nil {
		w.Cleanup(func() { c.Close() })
	}
	return aCaller{c}, err
}

// tools returns the names of the tools that the caller sees, or the error.
func (c aCaller) tools(t *testing.T) (names []string) {
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			return []string{err.Error()}
		}
		names = append(names, tool.Name)
	}
	return names
}

// TestTwoKeysHaveRoles is about one junction up whose roles change while it runs.
func TestTwoKeysHaveRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	argv := strings.Join(self(t, "serve", "time"), `","`)
	config := func(roles string) {
		w.write("mcp.json", `{"mcpServers": {"time": {"command": "env", "args": ["`+argv+`"], "start": "eager"}}, "junction": {"tools": "all", "audit": {"folder": "log"},
			"profiles": {"clock": {"only": ["time__get_*"]}}, "roles": {`+roles+`}}}`)
	}
	config(`"admin": {"who": ["key:ann"]}, "clock": {"who": ["key:ci", "key:gone"], "profiles": ["clock", "clocks"]}, "other": {"who": ["user:eve"], "tools": ["time__conwert*"]}`)
	header := map[string]http.Header{}
	for _, user := range []string{"ann", "ci", "bob"} {
		header[user] = http.Header{"Authorization": {"Bearer " + strings.TrimSpace(w.run("key", "create", user))}}
	}
	up := w.start("up", "--config", "mcp.json", "--http", "127.0.0.1:0", "--auth", "keys")
	url := up.find(`http://127\.0\.0\.1:\d+/mcp`)
	for _, line := range []string{
		`Callers need one of these roles: admin, clock, 1 more\.`,
		`junction\.roles\.clock\.profiles: there is no profile "clocks"; did you mean "clock"\?`,
		`mcp\.json: roles name callers that do not exist yet, or that --auth does not let in: key:gone \(role clock\), user:eve \(role other\)\n`,
		`junction\.roles\.other\.tools: "time__conwert\*" matches no name that clients see`,
	} {
		up.find(line)
	}
	dial := func(user, path string) (aCaller, error) {
		return w.dialed(url+path, streamable.ClientOptions{Header: header[user]})
	}
	clock, all := []string{"time__get_current_time"}, []string{"time__convert_time", "time__get_current_time"}
	ann, err := dial("ann", "")
	if err != nil {
		t.Fatal(err)
	}
	ci, err := dial("ci", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := ann.tools(t); !slices.Equal(got, all) {
		t.Errorf("ann sees %q", got)
	}
	if got := ci.tools(t); !slices.Equal(got, clock) {
		t.Errorf("ci sees %q", got)
	}
	if _, err := ci.CallTool(t.Context(), "time__get_current_time", nil); err != nil {
		t.Error(err)
	}
	if _, err := ci.CallTool(t.Context(), "time__convert_time", nil); err == nil || !strings.Contains(err.Error(), "your roles: clock") {
		t.Errorf("ci gets %v", err)
	}
	if _, err := dial("bob", ""); err == nil || !strings.Contains(err.Error(), "you have no role here, and may use nothing") || !strings.Contains(err.Error(), "you are key:bob") {
		t.Errorf("bob gets %v", err)
	}

	config(`"admin": {"who": ["key:ci", "key:bob"]}`)
	up.find(`Configuration reloaded: the settings changed`)
	if got := ci.tools(t); !slices.Equal(got, all) {
		t.Errorf("after the reload ci sees %q", got)
	}
	if got := ann.tools(t); len(got) != 1 || !strings.Contains(got[0], "you have no role here") {
		t.Errorf("after the reload ann sees %q", got)
	}
	if bob, err := dial("bob", "/clock"); err != nil || !slices.Equal(bob.tools(t), clock) {
		t.Errorf("after the reload bob gets %v", err)
	}
	for _, line := range [][]string{{`"kind":"call"`, `"principal":"ci"`, `"role":"clock"`, `"outcome":"ok"`}, {`"kind":"decision"`, `"principal":"ci"`, `"decision":"deny"`, `"rule":"roles"`}} {
		if lines := w.run("audit", "query", "log", "--json"); !hasLine(lines, line...) {
			t.Errorf("the audit log has no line with %q:\n%s", line, lines)
		}
	}
}

// TestCertificatesHaveRoles also checks that a key of the same name is another caller.
func TestCertificatesHaveRoles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ca := clitest.NewAuthority(t)
	pool := x509.NewCertPool()
	pool.AddCert(ca.Cert)
	cert, key := ca.Sign(t, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	clitest.Save(t, w.dir, "up", cert, key)
	clitest.Save(t, w.dir, "ca", ca.Cert, ca.Key)
	argv := strings.Join(self(t, "serve", "time"), `","`)
	w.write("mcp.json", `{"mcpServers": {"time": {"command": "env", "args": ["`+argv+`"]}}, "junction": {"tools": "all", "roles": {"clock": {"who": ["client:ann"], "tools": ["time__get_*"]}, "all": {"who": ["key:ben", "user:ben"]}}}}`)
	url := w.start("up", "--config", "mcp.json", "--http", "127.0.0.1:0", "--tls-cert", "up.pem", "--tls-key", "up.key", "--tls-client-ca", "ca.pem").find(`https://127\.0\.0\.1:\d+/mcp`)
	dial := func(name string) (aCaller, error) {
		own, ownKey := ca.Sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
		through := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{{Certificate: [][]byte{own.Raw}, PrivateKey: ownKey}}}}
		t.Cleanup(through.CloseIdleConnections)
		return w.dialed(url, streamable.ClientOptions{HTTP: &http.Client{Transport: through}})
	}
	if ann, err := dial("ann"); err != nil || !slices.Equal(ann.tools(t), []string{"time__get_current_time"}) {
		t.Errorf("ann gets %v", err)
	}
	if _, err := dial("ben"); err == nil || !strings.Contains(err.Error(), "you are client:ben") {
		t.Errorf("ben gets %v", err)
	}
}

// TestClientsLearnThatRolesChangedTheirTools keeps clients of both eras connected while a role gives
// them another tool.
func TestClientsLearnThatRolesChangedTheirTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	argv, _ := json.Marshal(self(t, "serve", "time"))
	config := func(tools string) {
		w.write("mcp.json", `{"mcpServers": {"time": {"command": "env", "args": `+string(argv)+`, "start": "eager"}}, "junction": {"tools": "all", "roles": {"r": {"who": ["key:ann"], "tools": ["`+tools+`"]}}}}`)
	}
	config("time__get_*")
	header := http.Header{"Authorization": {"Bearer " + strings.TrimSpace(w.run("key", "create", "ann"))}}
	up := w.start("up", "--config", "mcp.json", "--http", "127.0.0.1:0", "--auth", "keys")
	url := up.find(`http://127\.0\.0\.1:\d+/mcp`)
	up.find(`1 connected`)
	sees := map[string]chan int{"2025-06-18": make(chan int, 99), "2026-07-28": make(chan int, 99)}
	for revision, counts := range sees {
		c, err := mcp.DialWith(w.Context(), streamable.ClientWith(url, streamable.ClientOptions{Header: header}), mcp.ClientOptions{Revision: revision})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go func() {
			for w.Context().Err() == nil { // a change of roles ends the watch of a modern client, which then subscribes again
				for tools, err := range c.WatchTools(w.Context()) {
					if err == nil {
						counts <- len(tools)
					}
				}
				time.Sleep(50 * time.Millisecond)
			}
		}()
		if n := <-counts; n != 1 {
			t.Fatalf("a client of %s sees %d tools", revision, n)
		}
	}
	config("time__*")
	up.find(`onfiguration reloaded`)
	for revision, counts := range sees {
		late := time.After(30 * time.Second)
		for n := 1; n != 2; {
			select {
			case n = <-counts:
				continue
			case <-late:
				t.Errorf("a client of %s does not learn of its new tool", revision)
				n = 2
			}
		}
	}
}
