package integration

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/internal/formfill"
	"github.com/junction-mcp/junction/mcp/auth"
	"github.com/junction-mcp/junction/state"
)

const loginPassword = "correct horse battery"

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

// localLogins is `junction up --auth local` in front of everything, with a user ann.
func localLogins(t *testing.T) (issuer string) { return localLoginsAs(t, `{}`) }

// localLoginsAs is that with settings of authorization.
func localLoginsAs(t *testing.T, authorization string) (issuer string) {
	t.Helper()
	env := isolated(t)
	add := exec.Command(junction(t), "user", "add", "ann")
	add.Env, add.Stdin = env, strings.NewReader(loginPassword+"\n")
	if out, err := add.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	address := freeAddress(t)
	everything := realServer{name: "everything", argv: func(t testing.TB) []string { return []string{junction(t), "serve", "everything"} }}
	config := upConfig(t, []realServer{everything})
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), "junction.json"), []byte(`{"junction":{"authorization":`+authorization+`}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	serving(t, env, address, junction(t), "up", "--config", config, "--http", address, "--auth", "local")
	return "http://" + address
}

// The clients of the SDKs register at the authorization server of `junction up --auth local`, log in once, call a tool, and
// renew their token when it is refused or expires.
func TestClientsOfTheSDKsLogInAtUp(t *testing.T) {
	issuer := localLogins(t)
	for name, client := range loginClients(t) {
		t.Run(name, func(t *testing.T) {
			logsIn(t, append(client(t), issuer+"/mcp", "everything__add", `{"a":1,"b":2}`), "3")
		})
	}
}

// openid-client signs who it is (private_key_jwt), and binds its tokens to a key (DPoP), also where the gateway wants nonces in
// its proofs. It revokes its login, too.
func TestOpenIDClientLogsInAtUpWithItsKeys(t *testing.T) {
	for _, proofs := range []string{"taken", "needed", "nonce"} {
		t.Run(proofs, func(t *testing.T) {
			issuer := localLoginsAs(t, `{"proofs":"`+proofs+`"}`)
			logsIn(t, append(nodeScript(t, "oauth", "clients/login/openid.mjs", "clients/login/login.mjs"), issuer+"/mcp", "everything__add", `{"a":1,"b":2}`), "3")
		})
	}
}

// The clients of the SDKs log in as well at a Junction server, of package mcp/auth, whose tokens an authorization server of package authserver gives.
func TestClientsOfTheSDKsLogInAtAProtectedServer(t *testing.T) {
	users, err := authserver.OpenUsers(filepath.Join(t.TempDir(), "users.json"))
	if err == nil {
		err = users.Add(t.Context(), "ann", loginPassword, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	giver, protected := http.NewServeMux(), http.NewServeMux()
	issuer, site := httptest.NewServer(giver), httptest.NewServer(protected)
	t.Cleanup(issuer.Close)
	t.Cleanup(site.Close)
	tokens, err := authserver.New(authserver.Options{Issuer: issuer.URL, Resource: site.URL + "/mcp", Users: users, Store: state.NewMemory(0),
		Key: bytes.Repeat([]byte("k"), 32), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	giver.Handle("/", tokens)
	protect(t, protected, site.URL+"/mcp", issuer.URL, "", "", auth.Options{})
	for name, client := range loginClients(t) {
		t.Run(name, func(t *testing.T) {
			logsIn(t, append(client(t), site.URL+"/mcp", "echo", `{"Text":"hello"}`), "echo: hello")
		})
	}
}

// logsIn runs a client, fills in the forms of each page that it opens, and checks what it says in the end.
func logsIn(t *testing.T, argv []string, want string) {
	t.Helper()
	lines, log := start(t, nodeEnv(t), argv...)
	within := time.After(time.Minute)
	for {
		select {
		case line, ok := <-lines:
			if page, is := strings.CutPrefix(line, "open "); is {
				browser := formfill.New(map[string]string{"username": "ann", "password": loginPassword, "decision": "allow"}, nil)
				if at, err := browser.Visit(t.Context(), page, nil); err != nil {
					t.Fatalf("the login ended at %s: %v", at, err)
				}
				continue
			}
			if !ok {
				t.Fatalf("it ended without a result: %s", log)
			}
			if !strings.HasPrefix(line, "{") {
				continue
			}
			var got struct {
				Tools, Logins, Refreshed int
				First, Second            string
			}
			if err := json.Unmarshal([]byte(line), &got); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if got.Tools == 0 || got.Logins != 1 || got.Refreshed != 1 || !strings.Contains(got.First, want) || !strings.Contains(got.Second, want) {
				t.Errorf("got %s", line)
			}
			return
		case <-within:
			t.Fatalf("it does not end: %s", log)
		}
	}
}

// Junction's client logs in at servers that are protected as the TypeScript SDK and FastMCP have it, renews its token and logs out.
func TestJunctionLogsInAtServersOfTheSDKs(t *testing.T) {
	for name, server := range map[string]func(t *testing.T) []string{
		"TypeScript SDK": func(t *testing.T) []string { return nodeScript(t, "ts-v1", "servers/authorized/server.mjs") },
		"FastMCP": func(t *testing.T) []string {
			return []string{python(t, "python"), absolute(t, "servers/authorized/server.py")}
		},
	} {
		// FastMCP revokes nothing for a client with basic: it wants its secret in the form, too, which is another way to say it.
		t.Run(name, func(t *testing.T) { junctionLogsIn(t, server(t), name != "FastMCP") })
	}
}

func junctionLogsIn(t *testing.T, server []string, revokes bool) {
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
	if err := json.NewDecoder(response.Body).Decode(&counts); err != nil || counts.Renewed < 2 || counts.Revoked == 0 && revokes || s.visits(t) != 1 {
		t.Errorf("%+v, %d pages, %v", counts, s.visits(t), err)
	}
}

// The Inspector logs in at up from its command line, where it has a browser opened.
func TestTheInspectorLogsInAtUp(t *testing.T) {
	issuer := localLogins(t)
	program := []string{node(t), npm(t, "inspector", "node_modules", "@modelcontextprotocol", "inspector", "clients", "launcher", "build", "index.js")}
	env := append(isolated(t), "MCP_AUTO_OPEN_ENABLED=true", "BROWSER=true", "MCP_INSPECTOR_SECRET_STORE=memory", "PATH="+filepath.Dir(node(t))+":"+os.Getenv("PATH"))
	lines, log := start(t, env, append(program, "--cli", issuer+"/mcp", "--method", "tools/call", "--tool-name", "everything__add",
		"--tool-arg", "a=1", "b=2", "--callback-url", "http://"+freeAddress(t)+"/callback", "--format", "json")...)
	var page string
	for began := time.Now(); page == ""; time.Sleep(20 * time.Millisecond) {
		if _, after, found := strings.Cut(log.String(), "Please navigate to: "); found {
			page, _, _ = strings.Cut(after, "\n")
		} else if time.Since(began) > time.Minute {
			t.Fatalf("it opens no page: %s", log)
		}
	}
	browser := formfill.New(map[string]string{"username": "ann", "password": loginPassword, "decision": "allow"}, nil)
	if at, err := browser.Visit(t.Context(), page, nil); err != nil {
		t.Fatalf("the login ended at %s: %v", at, err)
	}
	var printed strings.Builder
	for within := time.After(time.Minute); ; {
		select {
		case line, ok := <-lines:
			if !ok {
				if !strings.Contains(printed.String(), `"3"`) && !strings.Contains(printed.String(), `"sum":3`) {
					t.Errorf("it printed %s; %s", printed.String(), log)
				}
				return
			}
			printed.WriteString(line)
		case <-within:
			t.Fatalf("it does not end: %s", log)
		}
	}
}
