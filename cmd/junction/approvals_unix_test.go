//go:build unix

package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// A colleague is a browser at the page of the team.
type colleague struct {
	t       *testing.T
	browser *http.Client
	origin  string
	token   string
}

var inputOfForm = regexp.MustCompile(`name="(\w+)" value="([^"]*)"`)

// loggedIn returns a browser of a user who logged in at the page of the team.
func loggedIn(t *testing.T, origin, name string) *colleague {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &colleague{t, &http.Client{Jar: jar}, origin, ""}
	r, err := c.browser.Get(origin + "/team")
	if err != nil {
		t.Fatal(err)
	}
	page, _ := io.ReadAll(r.Body)
	r.Body.Close()
	if !strings.HasPrefix(r.Request.URL.Path, "/oauth/login") || !strings.Contains(string(page), "Log in to") || strings.Contains(string(page), "program") {
		t.Fatalf("without a login: %s %s", r.Request.URL, page)
	}
	form := url.Values{"username": {name}, "password": {"the password of " + name}}
	for _, input := range inputOfForm.FindAllStringSubmatch(string(page), -1) {
		if input[2] != "" {
			form.Set(input[1], html.UnescapeString(input[2]))
		}
	}
	r, err = c.browser.PostForm(origin+"/oauth/login", form)
	if err != nil {
		t.Fatal(err)
	}
	page, _ = io.ReadAll(r.Body)
	r.Body.Close()
	if r.Request.URL.Path != "/team" || !strings.Contains(r.Header.Get("Content-Security-Policy"), "default-src 'none'") || !strings.Contains(string(page), "team/team.js") {
		t.Fatalf("after the login: %s %v %s", r.Request.URL, r.Header, page)
	}
	var me struct{ Token string }
	c.api("GET", "me", "", http.StatusOK, &me)
	c.token = me.Token
	return c
}

// api sends a request to the API of the page, and decodes its response into v.
func (c *colleague) api(method, path, body string, status int, v any) (text string) {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.origin+"/team/api/"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.token != "" {
		req.Header.Set("X-Form-Token", c.token)
	}
	r, err := c.browser.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer r.Body.Close()
	got, _ := io.ReadAll(r.Body)
	if r.StatusCode != status {
		c.t.Errorf("%s %s: %d %s, want %d", method, path, r.StatusCode, got, status)
	}
	if v != nil {
		if err := json.Unmarshal(got, v); err != nil {
			c.t.Errorf("%s %s: %s: %v", method, path, got, err)
		}
	}
	return string(got)
}

// waits returns the id of the one call that waits for the user of the browser.
func (c *colleague) waits() string {
	c.t.Helper()
	for range 500 {
		var found struct{ Approvals []struct{ ID string } }
		c.api("GET", "approvals", "", http.StatusOK, &found)
		if len(found.Approvals) == 1 {
			return found.Approvals[0].ID
		}
		time.Sleep(10 * time.Millisecond)
	}
	c.t.Fatal("no call waits")
	return ""
}

const approvalRules = `{"default": "allow", "rules": [{"effect": "ask", "of": "role:sre", "for": "1h", "tool": "echo", "when": "args.message != 'free'", "reason": "look first"}]}`

// A call of ann waits for bob, who answers on the page of the team, or for the operator.
func TestCallsWaitForARole(t *testing.T) {
	clitest.Alone(t)
	type message struct {
		header http.Header
		body   []byte
	}
	messages := make(chan message, 10)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		messages <- message{r.Header, body}
	}))
	defer hook.Close()
	addUser(t, "bob")
	addUser(t, "eve")
	clitest.Write(t, map[string]string{"policy.json": approvalRules, "hook.key": "a secret of the hook\n", "hook.url": hook.URL + "/T/x\n"})
	file := settingsFile(t, everythingEntry(t), `{"policy": "`+clitest.In(t, "policy.json")+`", "audit": {"folder": "`+clitest.In(t, "log")+`"},
		"approvals": {"webhook": {"url": "${file:`+clitest.In(t, "hook.url")+`}", "secret": "${file:`+clitest.In(t, "hook.key")+`}", "format": "slack"}},
		"roles": {"sre": {"who": ["user:bob", "key:bob", "key:ann"], "console": ["servers", "audit", "logins", "keys"]}, "dev": {"who": ["key:ann", "user:eve"]}}}`)
	key := strings.TrimSpace(runs(t, "", "key", "create", "ann").stdout)
	r := serving(t, "up", "--auth", "keys,local", "--config", file)
	origin := strings.TrimSuffix(r.url, "/mcp")
	call := func(text string) chan outcome {
		done := make(chan outcome, 1)
		go func() {
			done <- runs(t, "", "call", r.url, "everything__echo", "message="+text, "--header", "Authorization: Bearer "+key)
		}()
		return done
	}
	(<-call("free")).expect(t, cli.ExitOK, "free", "")
	bob, eve := loggedIn(t, origin, "bob"), loggedIn(t, origin, "eve")

	first := call("one")
	id := bob.waits()
	sent := <-messages
	mac := hmac.New(sha256.New, []byte("a secret of the hook"))
	mac.Write([]byte(sent.header.Get("Webhook-Id") + "." + sent.header.Get("Webhook-Timestamp") + "." + string(sent.body)))
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); sent.header.Get("Webhook-Signature") != want || !strings.Contains(string(sent.body), origin+"/team") || strings.Contains(string(sent.body), "one") {
		t.Errorf("the message: %v %s", sent.header, sent.body)
	}
	eve.api("POST", "approvals/"+id+"/approve", "", http.StatusNotFound, nil)
	token := bob.token
	bob.token = "another"
	bob.api("POST", "approvals/"+id+"/approve", "", http.StatusForbidden, nil)
	bob.token = token
	bob.api("POST", "approvals/"+id+"/approve", `{"for":"2h"}`, http.StatusUnprocessableEntity, nil)
	bob.api("POST", "approvals/"+id+"/approve", `{"for":"10m"}`, http.StatusOK, nil)
	(<-first).expect(t, cli.ExitOK, "one", "")
	(<-call("one")).expect(t, cli.ExitOK, "one", "")

	refused := call("two")
	bob.api("POST", "approvals/"+bob.waits()+"/refuse", `{"reason":"not today"}`, http.StatusOK, nil)
	(<-refused).expect(t, cli.ExitRefused, "", `a caller of the role "sre" refused it: not today`)

	operated := call("three")
	id = bob.waits()
	runs(t, "", "approvals", "list").expect(t, cli.ExitOK, id+"  echo of everything, by ann, until", "")
	runs(t, "", "policy", "approvals", "approve", id[:8]).expect(t, cli.ExitOK, "Approved: echo of everything.", "")
	(<-operated).expect(t, cli.ExitOK, "three", "")
	runs(t, "", "approvals", "approve", id).expect(t, cli.ExitConnection, "", "no call with the id")

	// What the roles show.
	if got := bob.api("GET", "servers", "", http.StatusOK, nil); !strings.Contains(got, `"name":"everything"`) {
		t.Errorf("servers: %s", got)
	}
	if got := bob.api("GET", "users", "", http.StatusOK, nil); !strings.Contains(got, `"user":"eve"`) {
		t.Errorf("users: %s", got)
	}
	if got := bob.api("GET", "calls?all", "", http.StatusOK, nil); !strings.Contains(got, `"approver":"bob"`) {
		t.Errorf("all calls: %s", got)
	}
	if got := bob.api("GET", "calls", "", http.StatusOK, nil); strings.Contains(got, "echo") {
		t.Errorf("calls of bob: %s", got)
	}
	for _, part := range []string{"servers", "users", "calls?all", "keys"} {
		eve.api("GET", part, "", http.StatusForbidden, nil)
	}
	eve.api("POST", "keys", "{}", http.StatusForbidden, nil)
	var made struct{ Key, ID string }
	bob.api("POST", "keys", "{}", http.StatusOK, &made)
	runs(t, "", "call", r.url, "everything__echo", "message=free", "--header", "Authorization: Bearer "+made.Key).expect(t, cli.ExitOK, "free", "")
	eve.api("DELETE", "keys/"+made.ID, "", http.StatusForbidden, nil)
	bob.api("DELETE", "keys/"+made.ID, "", http.StatusNoContent, nil)

	// The login ends the session.
	eve.api("POST", "logout", "", http.StatusNoContent, nil)
	eve.api("GET", "me", "", http.StatusUnauthorized, nil)
	runs(t, "", "user", "logout", "bob").expect(t, cli.ExitOK, "Logged out: bob", "")
	bob.api("GET", "me", "", http.StatusUnauthorized, nil)
	r.stop()
	for _, want := range []string{`"approver":"bob","approver_role":"sre"`, `"approver":"operator","approver_role":"sre"`, `"event":"key.create"`, `"event":"key.remove"`, `"operator":"bob, on the page of the team"`} {
		runs(t, "", "audit", "query", clitest.In(t, "log"), "--json").expect(t, cli.ExitOK, want, "")
	}
}

// A user who sends many requests at once gets no more keys than in sequence.
func TestATeamsKeysAreLimited(t *testing.T) {
	clitest.Alone(t)
	addUser(t, "bob")
	file := settingsFile(t, everythingEntry(t), `{"roles": {"all": {"who": ["*"], "console": ["keys"]}}}`)
	r := serving(t, "up", "--auth", "keys,local", "--config", file)
	bob := loggedIn(t, strings.TrimSuffix(r.url, "/mcp"), "bob")
	var making sync.WaitGroup
	for range 60 {
		making.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), "POST", bob.origin+"/team/api/keys", strings.NewReader("{}"))
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("X-Form-Token", bob.token)
			if r, err := bob.browser.Do(req); err != nil {
				t.Error(err)
			} else {
				r.Body.Close()
			}
		})
	}
	making.Wait()
	var got struct{ Keys []any }
	bob.api("GET", "keys", "", http.StatusOK, &got)
	if len(got.Keys) != 20 {
		t.Errorf("%d keys", len(got.Keys))
	}
}

// One user who reads the log again and again keeps it from no other user.
func TestReadersOfTheLogTakeTurns(t *testing.T) {
	clitest.Alone(t)
	addUser(t, "bob")
	addUser(t, "eve")
	file := settingsFile(t, everythingEntry(t), `{"audit": {"folder": "`+clitest.In(t, "log")+`"}, "roles": {"all": {"who": ["*"], "console": ["audit"]}}}`)
	key := strings.TrimSpace(runs(t, "", "key", "create", "ann").stdout)
	r := serving(t, "up", "--auth", "keys,local", "--config", file)
	runs(t, "", "call", r.url, "everything__echo", "message=x", "--header", "Authorization: Bearer "+key).expect(t, cli.ExitOK, "x", "")
	origin := strings.TrimSuffix(r.url, "/mcp")
	bob, eve := loggedIn(t, origin, "bob"), loggedIn(t, origin, "eve")
	ctx, end := context.WithCancel(t.Context())
	var reading sync.WaitGroup
	var read atomic.Int32
	for range 16 {
		reading.Go(func() {
			for ctx.Err() == nil {
				eve.api("GET", "calls?all", "", http.StatusOK, nil)
				read.Add(1)
			}
		})
	}
	for read.Load() < 16 {
		time.Sleep(time.Millisecond)
	}
	for range 10 {
		if got := bob.api("GET", "calls?all", "", http.StatusOK, nil); !strings.Contains(got, "everything__echo") {
			t.Errorf("got %s", got)
		}
	}
	end()
	reading.Wait()
}
