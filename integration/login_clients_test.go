package integration

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/state"
)

// loginClients are clients of the official SDKs that log in, each with what it is run as.
func loginClients(t *testing.T) map[string]func(t *testing.T) []string {
	return map[string]func(t *testing.T) []string{
		"TypeScript SDK v1": func(t *testing.T) []string {
			return nodeScript(t, "ts-v1", "clients/login/v1.mjs", "clients/login/login.mjs")
		},
		"TypeScript SDK v2": func(t *testing.T) []string {
			return nodeScript(t, "ts-v2", "clients/login/v2.mjs", "clients/login/login.mjs")
		},
		"Go SDK": func(t *testing.T) []string { return []string{goProgram(t, ".", "./clients/login/gosdk")} },
		"Python SDK": func(t *testing.T) []string {
			return []string{python(t, "python"), absolute(t, filepath.Join("clients", "login", "login.py"))}
		},
	}
}

// The clients of the SDKs register at the authorization server of `junction up --auth local`, log in once, call a tool, and
// go on when their access token has ended.
func TestClientsOfTheSDKsLogInAtUp(t *testing.T) {
	t.Parallel()
	issuer := localLogins(t, shortTime)
	for name, client := range loginClients(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := logsIn(t, append(client(t), issuer+"/mcp", `{"a":1,"b":2}`, "everything__add", "everything__add"))
			if len(got.Said) != 2 || !strings.Contains(got.Said[0], "3") || !strings.Contains(got.Said[1], "3") || got.Tools < 10 || got.Logins != 1 || got.Refreshed < 1 || got.GaveUp {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// openid-client signs who it is (private_key_jwt), and binds its tokens to a key (DPoP), also where the gateway wants nonces in
// its proofs. It revokes its login, too.
func TestOpenIDClientLogsInAtUpWithItsKeys(t *testing.T) {
	t.Parallel()
	for _, proofs := range []string{"taken", "needed", "nonce"} {
		t.Run(proofs, func(t *testing.T) {
			issuer := localLoginsAs(t, object{"proofs": proofs})
			got := logsIn(t, append(nodeScript(t, "oauth", "clients/login/openid.mjs", "clients/login/login.mjs"), issuer+"/mcp", `{"a":1,"b":2}`, "everything__add"))
			if len(got.Said) != 2 || !strings.Contains(got.Said[0], "3") || !strings.Contains(got.Said[1], "3") || got.Logins != 1 || got.Refreshed != 1 {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// They log in as well at a Junction server, of package mcp/auth, whose tokens an authorization server of package authserver
// gives. They ask for what the server says that all needs, and later, for a tool that they do not see, for more.
func TestClientsOfTheSDKsAskForMoreRights(t *testing.T) {
	t.Parallel()
	users, err := authserver.OpenUsers(filepath.Join(t.TempDir(), "users.json"))
	if err == nil {
		err = users.Add(t.Context(), "ann", loginPassword, []string{"read", "admin"})
	}
	if err != nil {
		t.Fatal(err)
	}
	giver, protected := http.NewServeMux(), http.NewServeMux()
	issuer, site := httptest.NewServer(giver), httptest.NewServer(protected)
	t.Cleanup(issuer.Close)
	t.Cleanup(site.Close)
	tokens, err := authserver.New(authserver.Options{Issuer: issuer.URL, Resource: site.URL + "/mcp", Users: users, Store: state.NewMemory(0),
		Scopes: []string{"read", "admin"}, TokenTime: shortTime, Key: bytes.Repeat([]byte("k"), 32), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	giver.Handle("/", tokens)
	protect(t, protected, site.URL+"/mcp", issuer.URL, "", "", auth.Options{Needs: []string{"read"}})
	for name, client := range loginClients(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := logsIn(t, append(client(t), site.URL+"/mcp", `{"Text":"hello"}`, "echo", "echo", "delete_all", "echo"))
			if want := []string{"echo: hello", "echo: hello", "delete_all: hello", "echo: hello"}; !slices.Equal(got.Said, want) {
				t.Errorf("it called %q, want %q", got.Said, want)
			}
			if got.Tools != 1 || got.Logins != 2 || got.Refreshed < 1 || got.GaveUp != (name == "TypeScript SDK v1") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// loggedIn is what a client says in the end.
type loggedIn struct {
	Tools             int // that it listed
	Said              []string
	Logins, Refreshed int
	GaveUp            bool // whether its SDK did not ask for more rights by itself
}

// logsIn runs a client, fills in the forms of each page that it opens, and returns what it says in the end.
func logsIn(t *testing.T, argv []string) (got loggedIn) {
	t.Helper()
	lines, log := start(t, nodeEnv(t), argv...)
	for within := time.After(2 * time.Minute); ; {
		select {
		case line, ok := <-lines:
			switch page, opens := strings.CutPrefix(line, "open "); {
			case !ok:
				t.Fatalf("it ended without a result: %s", log)
			case opens:
				annLogsIn(t, page)
			case strings.HasPrefix(line, "{"):
				if err := json.Unmarshal([]byte(line), &got); err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				t.Logf("%s", line)
				return got
			}
		case <-within:
			t.Fatalf("it does not end: %s", log)
		}
	}
}

// Junction logs in at a gateway of its own, and its commands go on when the access token has ended.
func TestJunctionLogsInAtUp(t *testing.T) {
	t.Parallel()
	at := localLogins(t, shortTime) + "/mcp"
	env := append(isolated(t), "JUNCTION_BROWSER=true")
	lines, log := start(t, env, junction(t), "login", at)
	annLogsIn(t, pageIn(t, log.String))
	if printed := strings.Join(rest(t, lines, log), "\n"); !strings.Contains(printed, "Logged in: "+at) {
		t.Fatalf("it printed %s; %s", printed, log)
	}
	for range 2 {
		time.Sleep(shortEnd)
		if out := run(t, env, junction(t), "call", at, "everything__add", "a=1", "b=2"); !strings.Contains(out, "3") {
			t.Errorf("call: %s", out)
		}
	}
	if out := run(t, env, junction(t), "logout", at); !strings.Contains(out, "revoked it") {
		t.Errorf("logout: %s", out)
	}
}

// Junction's client logs in at servers that are protected as the TypeScript SDK and FastMCP have it, renews its token and logs out.
func TestJunctionLogsInAtServersOfTheSDKs(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(t *testing.T) []string{
		"TypeScript SDK": func(t *testing.T) []string { return nodeScript(t, "ts-v1", "servers/authorized/server.mjs") },
		"FastMCP": func(t *testing.T) []string {
			return []string{python(t, "python"), absolute(t, "servers/authorized/server.py")}
		},
	} {
		t.Run(name, func(t *testing.T) { junctionLogsIn(t, server(t)) })
	}
}

func junctionLogsIn(t *testing.T, server []string) {
	t.Helper()
	address := freeAddress(t)
	serving(t, nodeEnv(t), address, append(server, address)...)
	s := user(t, "http://"+address+"/mcp", "http://"+address, nil)
	s.fails(t, "sign in: junction login "+s.url, "tools", s.url)
	if out := s.run(t, "login", s.url); !strings.Contains(out, "Logged in: "+s.url) || !strings.Contains(out, "renewed by itself") {
		t.Errorf("login: %s", out)
	}
	for range 3 { // a token is good for one call
		if out := s.run(t, "call", s.url, "echo", "text=hello"); !strings.Contains(out, "echo: hello") {
			t.Errorf("call: %s", out)
		}
	}
	s.run(t, "logout", s.url)
	s.fails(t, "sign in: junction login "+s.url, "tools", s.url)
	response, err := http.Get("http://" + address + "/counts")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var counts struct{ Renewed, Revoked int }
	if err := json.NewDecoder(response.Body).Decode(&counts); err != nil || counts.Renewed < 2 || counts.Revoked == 0 || s.visits(t) != 1 {
		t.Errorf("%+v, %d pages, %v", counts, s.visits(t), err)
	}
}

// The Inspector logs in at up from its command line, where it has a browser opened.
func TestTheInspectorLogsInAtUp(t *testing.T) {
	t.Parallel()
	issuer := localLogins(t, shortTime)
	program := []string{node(t), npm(t, "inspector", "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")}
	env := append(isolated(t), "MCP_AUTO_OPEN_ENABLED=true", "BROWSER=true", "MCP_INSPECTOR_SECRET_STORE=memory", "PATH="+filepath.Dir(node(t))+":"+os.Getenv("PATH"))
	lines, log := start(t, env, append(program, "--cli", issuer+"/mcp", "--method", "tools/call", "--tool-name", "everything__add",
		"--tool-arg", "a=1", "b=2", "--callback-url", "http://"+freeAddress(t)+"/callback", "--format", "json")...)
	annLogsIn(t, pageIn(t, log.String))
	printed := ""
	for _, line := range rest(t, lines, log) {
		printed += line
	}
	if !strings.Contains(printed, `"3"`) && !strings.Contains(printed, `"sum":3`) {
		t.Errorf("it printed %s; %s", printed, log)
	}
}

// mcp-remote logs in at up for a client that knows only stdio, and goes on when its access token has ended.
func TestMCPRemoteLogsInAtUp(t *testing.T) {
	t.Parallel()
	issuer := localLogins(t, shortTime)
	script := encode(t, []step{
		{"op": "list"},
		{"op": "call", "name": "everything__add", "arguments": object{"a": 1, "b": 2}},
		{"op": "sleep", "ms": shortEnd.Milliseconds()},
		{"op": "call", "name": "everything__add", "arguments": object{"a": 3, "b": 4}},
	})
	client := append(clientNamed(t, "ts-v1").argv(t), "--script", script, "--stdio")
	env := append(isolated(t), "BROWSER=true", "PATH="+filepath.Dir(node(t))+":"+os.Getenv("PATH"))
	lines, log := start(t, env, append(client, node(t), npm(t, "remote", "node_modules", "mcp-remote", "dist", "proxy.js"), issuer+"/mcp")...)
	annLogsIn(t, pageIn(t, log.String))
	printed := rest(t, lines, log)
	if len(printed) != 5 {
		t.Fatalf("it printed %q; %s", printed, log)
	}
	for i, want := range map[int]string{1: `"everything__add"`, 2: `"sum":3`, 4: `"sum":7`} {
		if line := printed[i]; !strings.Contains(line, `"ok":true`) || !strings.Contains(line, want) {
			t.Errorf("step %d: %.2000s, want %s", i, line, want)
		}
	}
	if said := log.String(); strings.Count(said, "authorize this client") != 1 {
		t.Errorf("it asks for more than one login: %s", said)
	}
}

// rest are the lines that a process writes until it ends.
func rest(t *testing.T, lines <-chan string, log *tail) (all []string) {
	t.Helper()
	for within := time.After(time.Minute); ; {
		select {
		case line, ok := <-lines:
			if !ok {
				return all
			}
			all = append(all, line)
		case <-within:
			t.Fatalf("it does not end: %s", log)
		}
	}
}
