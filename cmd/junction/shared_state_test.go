package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/formfill"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// heardWithin is the time in which each replica notices a change in the shared store.
const heardWithin = 2 * time.Second

// newShared writes a configuration with the store at a URL and further settings, for replicas that
// have nothing else in common.
func newShared(t *testing.T, store, settings string) *replicas {
	w := &replicas{world: newWorld(t), server: replicatedServer(t)}
	w.write("old", strings.Repeat("o", 32)+"\n")
	w.write("new", strings.Repeat("n", 32)+"\n")
	w.write("store", store+"\n")
	w.configureShared(`["${file:old}"]`, settings)
	return w
}

// up starts three junction up with flags.
func (w *replicas) up(flags ...string) {
	var proxies atomic.Pointer[[]*httputil.ReverseProxy]
	balancer := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { w.serveByTurns(*proxies.Load(), rw, r) }))
	w.Cleanup(balancer.Close)
	w.url = balancer.URL + "/mcp"
	for range 3 {
		at := freeAddress(w.T)
		w.origins = append(w.origins, "http://"+at)
		args := append([]string{"up", "--config", filepath.Join(w.dir, "mcp.json"), "--http", at, "--admin", "127.0.0.1:0", "--drain-delay", "0s"}, flags...)
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "BALANCER", balancer.URL)
		}
		w.all = append(w.all, newWorld(w.T).start(args...))
	}
	for _, one := range w.all {
		metrics := strings.Fields(one.find(`Metrics are at http\S+/metrics`))[3]
		one.find("junction serves at ")
		w.within("a replica does not know the others", func() bool { return strings.Contains(w.get(metrics), "junction_replicas 3\n") })
	}
	behind := w.proxies()
	proxies.Store(&behind)
}

// configureShared writes the configuration.
func (w *replicas) configureShared(keys, settings string) {
	w.write("mcp.json", fmt.Sprintf(`{"junction":{"names":"none","state":{"url":"${file:store}"},"stateKeys":%s%s},"mcpServers":{"s":{"url":%q}}}`, keys, settings, w.server))
}

// input runs a command with standard input and the configuration of the replicas, in a folder of its
// own.
func (w *replicas) input(stdin string, args ...string) string {
	w.Helper()
	cmd := newWorld(w.T).command(append(args, "--config", filepath.Join(w.dir, "mcp.json"))...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.Fatalf("junction %q: %v: %s", args, err, out)
	}
	return string(out)
}

// withKey connects to an address with a key.
func (w *replicas) withKey(url, key string) (*mcp.Client, error) {
	return w.connect(streamable.ClientWith(url, streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key}}}))
}

// connect connects a client that knows tasks until the test ends.
func (w *replicas) connect(t mcp.Transport) (*mcp.Client, error) {
	c, err := mcp.DialWith(w.Context(), t, mcp.ClientOptions{Capabilities: tasks.Capabilities()})
	if err == nil {
		w.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// within waits until something holds, at most heardWithin.
func (w *replicas) within(what string, holds func() bool) {
	w.Helper()
	for end := time.Now().Add(heardWithin); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.Errorf("after %v: %s", heardWithin, what)
			return
		}
	}
}

// browserOf returns the tokens of a client whose user logs in at a page, and counts the logins.
func (w *replicas) browserOf(user string, logins *atomic.Int64) *oauth.Client {
	return oauth.New(oauth.Options{Name: "test", HTTP: http.DefaultClient, Visit: oauth.Loopback(func(ctx context.Context, page string) error {
		logins.Add(1)
		go func() {
			fields := map[string]string{"username": user, "password": "the password of " + user, "decision": "allow"}
			if _, err := formfill.New(fields, nil).Visit(context.WithoutCancel(ctx), page, nil); err != nil {
				w.Error(err)
			}
		}()
		return nil
	})})
}

// loggedIn connects with tokens.
func (w *replicas) loggedIn(tokens *oauth.Client) (*mcp.Client, error) {
	transport, err := tokens.Transport(w.url, nil)
	if err != nil {
		return nil, err
	}
	return w.connect(streamable.ClientWith(w.url, streamable.ClientOptions{HTTP: &http.Client{Transport: transport}}))
}

// echo calls a tool several times, so that each replica gets a call.
func (w *replicas) echo(c *mcp.Client) error {
	for range 2 * len(w.all) {
		if r, err := c.CallTool(w.Context(), "echo", map[string]any{"text": "a"}); err != nil || r.Text() != "a" {
			return errors.Join(errors.New("no echo"), err)
		}
	}
	return nil
}

// testSharedState has users, keys and tasks of three replicas in a store.
func testSharedState(t *testing.T, store string) {
	w := newShared(t, store, `,"authorization":{"needs":["use"]}`)
	w.input("the password of ann\n", "user", "add", "ann", "--scope", "use")
	w.up("--auth", "keys,local", "--public-url", "BALANCER")
	var logins atomic.Int64
	c, err := w.loggedIn(w.browserOf("ann", &logins))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.echo(c); err != nil {
		t.Errorf("with tokens: %v", err)
	}
	if listed := w.input("", "user", "list"); !strings.Contains(listed, "Logged in:\n  ann") {
		t.Errorf("user list: %s", listed)
	}

	key := strings.TrimSpace(w.input("", "key", "create", "robot", "--scope", "use"))
	for _, origin := range w.origins {
		w.within("a new key is unknown", func() bool { _, err := w.withKey(origin+"/mcp", key); return err == nil })
	}
	knows, err := w.withKey(w.url, key)
	if err != nil {
		t.Fatal(err)
	}
	_, task, err := tasks.Start(t.Context(), knows, "dig", map[string]any{"text": "later"})
	if err != nil || task == nil {
		t.Fatalf("task %v, %v", task, err)
	}
	if r, err := task.Wait(t.Context()); err != nil || r.Text() != "later" {
		t.Errorf("the task ended with %v, %v", r, err)
	}
	w.input("", "key", "remove", "robot")
	for _, origin := range w.origins {
		w.within("a revoked key is accepted", func() bool { _, err := w.withKey(origin+"/mcp", key); return err != nil })
	}
	w.input("", "user", "logout", "ann")
	w.within("the tokens of a login that ended are accepted", func() bool {
		if err := w.echo(c); err != nil {
			t.Error(err)
		}
		return logins.Load() > 1
	})
}

func TestReplicasShareAStore(t *testing.T) {
	t.Parallel()
	testSharedState(t, "sqlite:"+filepath.Join(t.TempDir(), "shared.db"))
}

// testSharedLimit has calls of one key reach three replicas by turns, and those of another key reach
// one of them, both more than the limit allows.
func testSharedLimit(t *testing.T, store string) {
	w := newShared(t, store, `,"limits":{"rate":"60/m"}`)
	keys := []string{strings.TrimSpace(w.input("", "key", "create", "robot")), strings.TrimSpace(w.input("", "key", "create", "other"))}
	w.up("--auth", "keys")
	for i, url := range []string{w.url, w.origins[0] + "/mcp"} {
		c, err := w.withKey(url, keys[i])
		if err != nil {
			t.Fatal(err)
		}
		began, allowed := time.Now(), 0
		for range 140 {
			r, err := c.CallTool(t.Context(), "echo", map[string]any{"text": "a"})
			if err != nil {
				t.Fatal(err)
			}
			if !r.IsError {
				allowed++
			} else if !strings.Contains(r.Text(), "too many calls: 60 in a minute are allowed for you") {
				t.Fatal(r.Text())
			}
		}
		passed := time.Since(began)
		t.Logf("%s: %d of 140 calls were allowed in %v", url, allowed, passed)
		if allowed < 54 || allowed > 66+int(passed.Seconds()) {
			t.Error("expected 60 ± 6")
		}
	}
}

// testSharedApprovals has the definitions of a server approved at one replica.
func testSharedApprovals(t *testing.T, store string) {
	w := newShared(t, store, `,"review":"all","tools":"all"`)
	w.up()
	offers := func(origin string) bool {
		c, err := w.connect(streamable.Client(origin + "/mcp"))
		if err != nil {
			t.Fatal(err)
		}
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			return tool != nil
		}
		return false
	}
	for _, origin := range w.origins {
		if offers(origin) {
			t.Error("a definition is offered before it is approved")
		}
	}
	at := []string{"server", "approve", "s", "--config", filepath.Join(w.dir, "mcp.json")}
	out, err := w.all[0].command(at...).CombinedOutput()
	hash := regexp.MustCompile(`s@[0-9a-f]{32}`).Find(out)
	if err == nil || hash == nil {
		t.Fatalf("approve without a terminal: %v: %s", err, out)
	}
	at[2] = string(hash)
	w.all[0].run(at...)
	for _, origin := range w.origins {
		w.within("an approved definition is not offered", func() bool { return offers(origin) })
	}
}

func TestReplicasShareApprovals(t *testing.T) {
	t.Parallel()
	testSharedApprovals(t, "sqlite:"+filepath.Join(t.TempDir(), "shared.db"))
}

// TestLoginsOutliveStateKeys rotates the state keys while a user is logged in.
func TestLoginsOutliveStateKeys(t *testing.T) {
	t.Parallel()
	w := newShared(t, "sqlite:"+filepath.Join(t.TempDir(), "shared.db"), "")
	w.input("the password of ann\n", "user", "add", "ann")
	w.up("--auth", "local", "--public-url", "BALANCER")
	var logins atomic.Int64
	tokens := w.browserOf("ann", &logins)
	for _, keys := range []string{`["${file:old}" ]`, `["${file:old}","${file:new}"]`, `["${file:new}","${file:old}"]`, `["${file:new}"]`} {
		w.useShared(keys, "")
		c, err := w.loggedIn(tokens)
		if err == nil {
			err = w.echo(c)
		}
		if err != nil || logins.Load() != 1 {
			t.Errorf("%s: %d logins, %v", keys, logins.Load(), err)
		}
	}
	w.all = append(w.all, newWorld(t).start("up", "--config", filepath.Join(w.dir, "mcp.json"), "--http", freeAddress(t), "--auth", "local", "--public-url", "https://localhost"))
	w.all[3].find("junction serves at ")
	w.configureShared(`["${file:old}"]`, "")
	one := newWorld(t).start("up", "--config", filepath.Join(w.dir, "mcp.json"), "--http", freeAddress(t))
	one.find(`junction\.state\.url: the secrets in the shared state were sealed with a state key that stateKeys does not have`)
}

// useShared writes another configuration, and waits until all read it.
func (w *replicas) useShared(keys, settings string) {
	w.Helper()
	printed := make([]int, len(w.all))
	for i, one := range w.all {
		printed[i] = len(one.printed.String())
	}
	w.configureShared(keys, settings)
	for i, one := range w.all {
		if !one.waitFor(func() bool { return strings.Contains(one.printed.String()[printed[i]:], "onfiguration") }) {
			w.Fatalf("%s is not read", keys)
		}
	}
}

func TestReplicasShareLimits(t *testing.T) {
	t.Parallel()
	testSharedLimit(t, "sqlite:"+filepath.Join(t.TempDir(), "shared.db"))
}
