package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/formfill"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/oauth"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// testState names the variable with the URL of a store for these tests. The default is a file.
const testState = "JUNCTION_TEST_STATE"

// testStore returns the URL of an empty store.
func testStore(t *testing.T) string {
	return cmp.Or(os.Getenv(testState), "sqlite:"+filepath.Join(t.TempDir(), "shared.db"))
}

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
	w.place()
	for number, origin := range w.origins {
		_, at, _ := strings.Cut(origin, "://")
		args := append([]string{"up", "--config", filepath.Join(w.dir, "mcp.json"), "--http", at, "--admin", "127.0.0.1:0", "--drain-delay", "0s"}, flags...)
		for i, arg := range args {
			args[i] = strings.NewReplacer("BALANCER", balancer.URL, "REPLICA", fmt.Sprint(number)).Replace(arg)
		}
		w.all = append(w.all, newWorld(w.T).start(args...))
	}
	for _, one := range w.all {
		metrics := strings.Fields(one.find(`Metrics are at http\S+/metrics`))[3]
		w.metrics = append(w.metrics, strings.TrimSuffix(metrics, "/metrics"))
		one.find("junction serves at ")
	}
	for _, admin := range w.metrics { // all have started
		if !w.all[0].waitFor(func() bool { return strings.Contains(w.get(admin+"/metrics"), "junction_replicas 3\n") }) {
			w.Fatal("a replica does not know the others")
		}
	}
	behind := w.proxies()
	proxies.Store(&behind)
}

// place chooses the addresses of the replicas, unless it has before.
func (w *replicas) place() {
	for len(w.origins) < 3 {
		w.origins = append(w.origins, "http://"+freeAddress(w.T))
	}
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

// within waits until something holds. It must hold for a request that begins heardWithin after the
// change; on a busy machine an earlier request may take longer.
func (w *replicas) within(what string, holds func() bool) {
	w.Helper()
	end := time.Now().Add(heardWithin)
	for began := time.Now(); !holds(); began = time.Now() {
		if began.After(end) {
			w.Errorf("after %v: %s", heardWithin, what)
			return
		}
		time.Sleep(20 * time.Millisecond)
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

// TestReplicasShareAStore has users, keys and tasks of three replicas in a store.
func TestReplicasShareAStore(t *testing.T) {
	t.Parallel()
	w := newShared(t, testStore(t), `,"authorization":{"needs":["use"]}`)
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
	counted := 0
	for _, metrics := range w.metrics {
		if strings.Contains(w.get(metrics+"/metrics"), `junction_logins_total{outcome="ok"} 1`) {
			counted++
		}
	}
	if counted != 1 {
		t.Errorf("%d replicas count the login", counted)
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

// TestReplicasShareLimits has calls of one key reach three replicas by turns, and those of another key reach
// one of them, both more than the limit allows.
func TestReplicasShareLimits(t *testing.T) {
	t.Parallel()
	w := newShared(t, testStore(t), `,"limits":{"rate":"60/m"}`)
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

// TestReplicasShareApprovals has the definitions of a server approved at one replica.
func TestReplicasShareApprovals(t *testing.T) {
	t.Parallel()
	w := newShared(t, testStore(t), `,"review":"all","tools":"all"`)
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

// TestLoginsOutliveStateKeys rotates the state keys while a user is logged in.
func TestLoginsOutliveStateKeys(t *testing.T) {
	t.Parallel()
	w := newShared(t, testStore(t), "")
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

// A cable passes connections to a server until it is cut.
type cable struct {
	*testing.T
	to string
	at net.Listener

	mu    sync.Mutex
	isCut bool
	open  map[net.Conn]bool
}

// throughCable returns a URL whose connections pass a cable.
func throughCable(t *testing.T, store string) (string, *cable) {
	u, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{T: t, to: u.Host, at: l, open: map[net.Conn]bool{}}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { c.pass(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); c.cut(true); serving.Wait() })
	u.Host = l.Addr().String()
	return u.String(), c
}

// keep adds a connection, or closes it if the cable is cut.
func (c *cable) keep(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isCut {
		conn.Close()
	} else {
		c.open[conn] = true
	}
	return !c.isCut
}

func (c *cable) pass(conn net.Conn) {
	defer conn.Close()
	server, err := net.Dial("tcp", c.to)
	if err != nil || !c.keep(conn) || !c.keep(server) {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(server, conn); server.Close() })
	_, _ = io.Copy(conn, server)
	conn.Close()
	both.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
	delete(c.open, server)
}

// cut ends all connections and further ones, or allows them again.
func (c *cable) cut(is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isCut = is
	for conn := range c.open {
		conn.Close()
	}
	clear(c.open)
}

// TestReplicasWithoutTheirStore cuts the connections to a store over the network, and has them back.
func TestReplicasWithoutTheirStore(t *testing.T) {
	t.Parallel()
	if os.Getenv(testState) == "" {
		t.Skip("the integration layer gives it a store over the network: " + testState)
	}
	store, line := throughCable(t, os.Getenv(testState))
	w := newShared(t, store, `,"limits":{"rate":"60/m"}`)
	w.input("the password of ann\n", "user", "add", "ann")
	key := strings.TrimSpace(w.input("", "key", "create", "robot"))
	w.up("--auth", "keys,local", "--public-url", "BALANCER")
	var logins atomic.Int64
	tokens := w.browserOf("ann", &logins)
	user, err := w.loggedIn(tokens)
	if err != nil {
		t.Fatal(err)
	}
	robot, err := w.withKey(w.url, key)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.echo(user), w.echo(robot)); err != nil {
		t.Fatal(err)
	}
	line.cut(true)
	for i, one := range w.all {
		one.find("shared state is away")
		if ready := w.get(w.metrics[i] + "/readyz"); ready != "ok\n" {
			t.Errorf("readyz: %s", ready)
		}
		if all := w.get(w.metrics[i] + "/metrics"); !strings.Contains(all, "junction_shared_state_up 0\n") || !strings.Contains(all, "junction_replicas 3\n") {
			t.Error("the metrics do not have that the store is away")
		}
	}
	if err := errors.Join(w.echo(user), w.echo(robot)); err != nil {
		t.Errorf("while the store is away: %v", err)
	}
	response, err := http.Get(w.origins[0] + "/oauth/login")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("a login while the store is away: %s, %v", response.Status, response.Header)
	}
	allowed := 0
	for range 120 {
		r, err := robot.CallTool(t.Context(), "echo", map[string]any{"text": "a"})
		if err != nil {
			t.Fatal(err)
		}
		if !r.IsError {
			allowed++
		}
	}
	if allowed < 45 || allowed > 66 {
		t.Errorf("%d calls were allowed while the store is away", allowed)
	}
	line.cut(false)
	for _, one := range w.all {
		one.find("shared state is back")
	}
	again, err := w.loggedIn(tokens)
	if err == nil {
		err = w.echo(again)
	}
	if err != nil || logins.Load() != 1 {
		t.Errorf("afterwards: %v, %d logins", err, logins.Load())
	}
	w.input("", "key", "remove", "robot")
	for _, origin := range w.origins {
		w.within("a revoked key is accepted", func() bool { _, err := w.withKey(origin+"/mcp", key); return err != nil })
	}
}
