//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/junction-mcp/junction/authserver"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/process/processtest"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/state"
)

// withBrowser has commands open pages in the browser of a user.
func withBrowser(t *testing.T, user string) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "browser")
	line := fmt.Sprintf("#!/bin/sh\nexec '%s' '%s' \"$@\"\n", self(t)[0], asBrowser)
	processtest.WriteProgram(t, script, []byte(line), 0o700)
	clitest.Setenv(t, "JUNCTION_BROWSER", script)
	clitest.Setenv(t, "TEST_USER", user)
	clitest.Setenv(t, "TEST_PASSWORD", "the password of "+user)
}

// addUser adds a user who has scopes.
func addUser(t *testing.T, name string, scopes ...string) {
	t.Helper()
	args := []string{"user", "add", name}
	for _, scope := range scopes {
		args = append(args, "--scope", scope)
	}
	runs(t, "the password of "+name+"\n", args...).expect(t, cli.ExitOK, "Added: "+name+".", "")
}

// processOfUp starts junction up as a process of its own, and returns where it serves, and what kills it.
func processOfUp(t *testing.T, args ...string) (url string, kill func()) {
	t.Helper()
	argv := self(t, append([]string{"up"}, args...)...)
	cmd := child(t, argv[0], argv[1:]...)
	said, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, shown := bufio.NewScanner(said), ""
	for url == "" && lines.Scan() {
		shown += lines.Text() + "\n"
		url = address.FindString(lines.Text())
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		_, _ = io.Copy(io.Discard, said)
	}()
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	if url == "" {
		t.Fatalf("it does not serve: %s", shown)
	}
	return url, kill
}

// A login survives that junction up is killed: the key that signs tokens and the refresh tokens are kept.
func TestAUserLogsInToUpAndStaysLoggedIn(t *testing.T) {
	clitest.Alone(t)
	addUser(t, "ann")
	at := freeAddress(t)
	url, kill := processOfUp(t, "--auth", "local", "--audit=log", "--http", at, "everything")
	runs(t, "", "call", url, "everything__add", "a=1", "b=2").expect(t, cli.ExitConnection, "", "junction login "+url)
	withBrowser(t, "ann")
	runs(t, "", "login", url).expect(t, cli.ExitOK, "Logged in: "+url+" at http://"+at, "")
	for _, revision := range []string{"2025-06-18", "2026-07-28"} {
		runs(t, "", "call", url, "everything__add", "a=1", "b=2", "--revision", revision).expect(t, cli.ExitOK, "3", "")
	}
	kill()
	url, kill = processOfUp(t, "--auth", "local", "--audit=log", "--http", at, "everything")
	runs(t, "", "call", url, "everything__add", "a=1", "b=2").expect(t, cli.ExitOK, "3", "")
	runs(t, "", "logout", url).expect(t, cli.ExitOK, "Logged out: http://"+at+" revoked it.", "")
	runs(t, "", "call", url, "everything__add", "a=1", "b=2").expect(t, cli.ExitConnection, "", "junction login "+url)
	runs(t, "", "user", "list").expect(t, cli.ExitOK, "Logged in:\n  ann  since ", "")
	runs(t, "", "user", "logout", "ann").expect(t, cli.ExitOK, "Logged out: ann (1).", "")
	runs(t, "", "user", "logout", "ann").expect(t, cli.ExitConnection, "", "ann is not logged in; junction user list shows the logins")
	kill()
	calls := runs(t, "", "audit", "query", "log", "--kind", "call", "--json")
	if n := strings.Count(calls.stdout, `"principal":"ann"`); n < 3 {
		t.Errorf("the audit log names ann %d times: %s", n, calls.stdout)
	}
}

// everythingEntry is an entry of a configuration for the server that ships.
func everythingEntry(t *testing.T) string {
	t.Helper()
	argv := self(t, "serve", "everything")
	args, err := json.Marshal(argv[1:])
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"everything":{"command":%q,"args":%s}}`, argv[0], args)
}

func TestToolsNeedScopes(t *testing.T) {
	clitest.Alone(t)
	addUser(t, "ann", "use", "math")
	addUser(t, "ben", "use")
	addUser(t, "eve")
	key := strings.TrimSpace(runs(t, "", "key", "create", "robot", "--scope", "use").stdout)
	weak := strings.TrimSpace(runs(t, "", "key", "create", "weak").stdout)
	file := settingsFile(t, everythingEntry(t), `{"authorization":{"needs":["use"],"tools":{"everything__ad*":["use","math"]}},"tools":"search"}`)
	r := serving(t, "up", "--auth", "keys,local", "--config", file)

	find := func(more ...string) outcome {
		return runs(t, "", append([]string{"call", r.url, "search_tools", `queries=["add two numbers"]`}, more...)...)
	}
	call := func(more ...string) outcome {
		return runs(t, "", append([]string{"call", r.url, "everything__add", "a=1", "b=2"}, more...)...)
	}
	withBrowser(t, "ann")
	runs(t, "", "login", r.url).expect(t, cli.ExitOK, "Logged in", "")
	find().expect(t, cli.ExitOK, "everything__add", "")
	call().expect(t, cli.ExitOK, "3", "")

	byKey := []string{"--header", "Authorization: Bearer " + key}
	if got := find(byKey...); got.code != cli.ExitOK || strings.Contains(got.stdout, "everything__add") {
		t.Errorf("a key without the scope finds %+v", got)
	}
	if got := call(byKey...); got.code == cli.ExitOK || !strings.Contains(got.stderr, `there is no tool "everything__add"`) {
		t.Errorf("a key without the scope: %+v", got)
	}
	status, challenge := post(t, r.url, key, addCall)
	if want := `Bearer error="insufficient_scope", resource_metadata="` + strings.Replace(r.url, "/mcp", up.MetadataPath+"/mcp", 1) + `", scope="use math"`; status != http.StatusForbidden || challenge != want {
		t.Errorf("a key without the scope: %d %s", status, challenge)
	}
	runs(t, "", append([]string{"call", r.url, "everything__echo", "message=hi"}, byKey...)...).expect(t, cli.ExitOK, "hi", "")
	if got := runs(t, "", "call", r.url, "everything__echo", "message=hi", "--header", "Authorization: Bearer "+weak); got.code == cli.ExitOK || !strings.Contains(got.stderr, "use") {
		t.Errorf("a key without what everything needs: %+v", got)
	}

	runs(t, "", "logout", r.url).expect(t, cli.ExitOK, "Logged out", "")
	withBrowser(t, "ben")
	runs(t, "", "login", r.url).expect(t, cli.ExitOK, "Logged in", "")
	if got := find(); got.code != cli.ExitOK || strings.Contains(got.stdout, "everything__add") {
		t.Errorf("ben finds %+v", got)
	}
	if got := call(); got.code == cli.ExitOK || !strings.Contains(got.stderr, `there is no tool "everything__add"`) {
		t.Errorf("ben: %+v", got)
	}
	runs(t, "", "call", r.url, "everything__echo", "message=hi").expect(t, cli.ExitOK, "hi", "")
	runs(t, "", "logout", r.url).expect(t, cli.ExitOK, "Logged out", "")
	withBrowser(t, "eve")
	runs(t, "", "login", r.url).expect(t, cli.ExitConnection, "", "access_denied")
}

// addCall is a call of a tool.
const addCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"everything__add","arguments":{"a":1,"b":2},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// post sends a message with a token, and returns the status and the challenge of the response.
func post(t *testing.T, url, token, message string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if message == addCall {
		req.Header.Set("MCP-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", "tools/call")
		req.Header.Set("Mcp-Name", "everything__add")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode, response.Header.Get("WWW-Authenticate")
}

func documentAt(t *testing.T, url string) (found map[string]any) {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(&found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestEachEndpointIsAResource(t *testing.T) {
	clitest.Alone(t)
	addUser(t, "ann")
	file := settingsFile(t, everythingEntry(t), `{"profiles":{"work":{"hide":["everything__echo"]}}}`)
	r := serving(t, "up", "--auth", "local", "--config", file)
	origin := strings.TrimSuffix(r.url, launch.EndpointPath)
	for path, about := range map[string]string{"": "/mcp", "/mcp": "/mcp", "/mcp/work": "/mcp/work", "/sse": "/sse", "/sse/work": "/sse/work"} {
		found := documentAt(t, origin+up.MetadataPath+path)
		if found["resource"] != origin+about || fmt.Sprint(found["authorization_servers"]) != "["+origin+"]" {
			t.Errorf("%s: %v", path, found)
		}
	}
	byName := strings.Replace(origin, "127.0.0.1", "localhost", 1)
	if found := documentAt(t, byName+up.MetadataPath+"/mcp"); found["resource"] != byName+"/mcp" {
		t.Errorf("by another name: %v", found)
	}
	for _, path := range []string{"/mcp/none", "/mcp/work/x", "/other", "mcp"} {
		if found := documentAt(t, origin+up.MetadataPath+path); found != nil {
			t.Errorf("%s: %v", path, found)
		}
	}
	for _, path := range []string{"/mcp", "/mcp/work"} {
		status, challenge := post(t, origin+path, "", addCall)
		if want := `Bearer resource_metadata="` + origin + up.MetadataPath + path + `"`; status != http.StatusUnauthorized || challenge != want {
			t.Errorf("%s: %d %s", path, status, challenge)
		}
		status, challenge = post(t, origin+path, "no.such.token", addCall)
		if status != http.StatusUnauthorized || !strings.Contains(challenge, `error="invalid_token"`) {
			t.Errorf("%s with a bad token: %d %s", path, status, challenge)
		}
	}
	withBrowser(t, "ann")
	runs(t, "", "login", r.url+"/work").expect(t, cli.ExitOK, "Logged in: "+r.url+"/work", "")
	if got := runs(t, "", "tools", r.url+"/work"); got.code != cli.ExitOK || strings.Contains(got.stdout, "everything__echo") {
		t.Errorf("the profile: %+v", got)
	}
	runs(t, "", "tools", r.url).expect(t, cli.ExitConnection, "", "junction login "+r.url)
}

// An upstream is a server somewhere else that notes what is sent to it.
func upstream(t *testing.T) (url string, seen func() http.Header) {
	t.Helper()
	s := mcp.NewServer("far", "1.0.0")
	mcp.AddTool(s, "here", func(context.Context, struct{}) (string, error) { return "it is here", nil })
	var mu sync.Mutex
	all := http.Header{}
	h := streamable.Handler(s)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		for name, values := range r.Header {
			all[name] = append(all[name], values...)
		}
		mu.Unlock()
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	return web.URL, func() http.Header { mu.Lock(); defer mu.Unlock(); return all.Clone() }
}

// Where tokens have to be bound, Junction's own client binds its own, and one that is read in a log is of no use.
func TestTokensAreBoundWhereTheSettingsSaySo(t *testing.T) {
	t.Parallel()
	for _, proofs := range []string{"needed", "nonce"} {
		t.Run(proofs, func(t *testing.T) {
			clitest.Alone(t)
			addUser(t, "ann")
			far, seen := upstream(t)
			file := settingsFile(t, `{"far":{"url":"`+far+`"}}`, `{"authorization":{"proofs":"`+proofs+`"}}`)
			r := serving(t, "up", "--auth", "local", "--config", file)
			status, challenge := post(t, r.url, "", addCall)
			if status != http.StatusUnauthorized || !strings.HasPrefix(challenge, "DPoP ") || !strings.Contains(challenge, `algs="ES256 `) {
				t.Errorf("without a token: %d %s", status, challenge)
			}
			withBrowser(t, "ann")
			runs(t, "", "login", r.url).expect(t, cli.ExitOK, "Logged in", "")
			for range 2 {
				runs(t, "", "call", r.url, "far__here").expect(t, cli.ExitOK, "it is here", "")
			}
			for name, values := range seen() {
				if strings.EqualFold(name, "DPoP") || strings.Contains(strings.Join(values, " "), "eyJ") {
					t.Errorf("the server got %s: %s", name, values)
				}
			}
		})
	}
}

// The token with which a client comes stays here (no token passthrough).
func TestNoTokenIsPassedOn(t *testing.T) {
	clitest.Alone(t)
	addUser(t, "ann")
	far, seen := upstream(t)
	file := settingsFile(t, `{"far":{"url":"`+far+`"}}`, `{}`)
	r := serving(t, "up", "--auth", "local", "--config", file)
	withBrowser(t, "ann")
	runs(t, "", "login", r.url).expect(t, cli.ExitOK, "Logged in", "")
	runs(t, "", "call", r.url, "far__here").expect(t, cli.ExitOK, "it is here", "")
	got := seen()
	if len(got) == 0 {
		t.Fatal("nothing came")
	}
	for name, values := range got {
		if text := name + ": " + strings.Join(values, " "); strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "Cookie") || strings.Contains(text, "Bearer") || strings.Contains(text, "eyJ") {
			t.Errorf("the server got %s", text)
		}
	}
}

func TestTokensOfAnotherAuthorizationServer(t *testing.T) {
	inFolder(t)
	people := t.TempDir()
	users, err := authserver.OpenUsers(filepath.Join(people, "users.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := users.Add(t.Context(), "ann", "the password of ann", nil); err != nil {
		t.Fatal(err)
	}
	var server http.Handler
	asked := 0
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { server.ServeHTTP(w, r) })
	mux.HandleFunc("POST /ask", func(w http.ResponseWriter, r *http.Request) {
		asked++
		if id, secret, _ := r.BasicAuth(); id != "junction" || secret != "its+secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		v, is := server.(*authserver.Server)
		token, err := v.Verify(r.Context(), r.FormValue("token"), "")
		if !is || err != nil {
			_, _ = io.WriteString(w, `{"active":false}`)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"active": true, "sub": token.Subject, "aud": token.Audience, "exp": token.Expires.Unix()})
	})
	web := httptest.NewServer(mux)
	defer web.Close()
	s, err := authserver.New(authserver.Options{Issuer: web.URL, Resource: web.URL + "/none", Serves: func(string) bool { return true }, Users: users, Store: state.NewMemory(0), Key: []byte(strings.Repeat("k", 32))})
	if err != nil {
		t.Fatal(err)
	}
	server = s
	clitest.Setenv(t, "INTROSPECTION_SECRET", "its secret")
	withBrowser(t, "ann")
	for name, settings := range map[string]string{
		"by signature":       `{}`,
		"asked about":        `{"authorization":{"issuers":{"` + web.URL + `":{"clientId":"junction","secretEnv":"INTROSPECTION_SECRET","introspection":"` + web.URL + `/ask"}}}}`,
		"and with a key too": `{}`,
	} {
		auth, before := web.URL, asked
		if name == "and with a key too" {
			auth = "keys," + web.URL
		}
		r := serving(t, "up", "--auth", auth, "--audit="+filepath.Join(people, name), "--config", settingsFile(t, everythingEntry(t), settings))
		if found := documentAt(t, strings.TrimSuffix(r.url, launch.EndpointPath)+up.MetadataPath+"/mcp"); fmt.Sprint(found["authorization_servers"]) != "["+web.URL+"]" {
			t.Errorf("%s: %v", name, found)
		}
		runs(t, "", "login", r.url).expect(t, cli.ExitOK, "Logged in: "+r.url+" at "+web.URL, "")
		runs(t, "", "call", r.url, "everything__add", "a=1", "b=2").expect(t, cli.ExitOK, "3", "")
		if isAsked := asked > before; isAsked != (name == "asked about") {
			t.Errorf("%s: asked %d times", name, asked-before)
		}
		if code := r.stop(); code != cli.ExitOK {
			t.Errorf("%s: exit code %d: %s", name, code, r.stderr)
		}
		calls := runs(t, "", "audit", "query", filepath.Join(people, name), "--kind", "call", "--json")
		if !strings.Contains(calls.stdout, `"principal":"ann"`) || !strings.Contains(calls.stdout, web.URL) {
			t.Errorf("%s: the audit log: %s", name, calls.stdout)
		}
	}
}
