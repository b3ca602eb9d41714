package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/httpsse"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// changedTo are the values that [TestEachSettingIsChangedWhileACallRuns] gives to members of the settings, by their paths or their own
// names, where what their tags say will not do.
var changedTo = map[string]string{
	"conflicts":                    `"priority"`,
	"pin":                          `["*echo"]`,
	"policy":                       `"stricter.json"`,
	"audit.export":                 `["syslog+udp://127.0.0.1:1"]`,
	"audit.redact":                 `["/text"]`,
	"auth":                         `["keys","https://login.example"]`,
	"listen.trustedProxies":        `["unix"]`,
	"authorization.tools":          `{"s__echo":["more"]}`,
	"authorization.trustedProxies": `["unix"]`,
	"authorization.provider":       `{"issuer":"https://login.example","clientId":"x","domains":["example.com"]}`,
	"authorization.issuers":        `{"https://login.example":{"clientId":"x"}}`,
	"profiles.p.servers":           `["b"]`,
	"roles.r.who":                  `["key:none"]`,
	"budget":                       `"1KB/h"`,
	"servers.s.prefix":             `"other"`,
	"servers.s.sandbox":            `{"weaker":true}`,
	"servers.s.retries":            `2`,
	"rate":                         `"1/h"`,
	"bytes":                        `"1KB/h"`,
	"fixed":                        `{"text":"always"}`,
	"defaults":                     `{"other":"usual"}`,
	"only":                         `["*echo"]`,
	"hide":                         `["*echo"]`,
	"arguments":                    `["/text"]`,
	"results":                      `["/text"]`,
	"idle":                         `"1ms"`,
}

// changedWith are the settings with which others have an effect, by the paths of these.
var changedWith = map[string]string{
	"pin":                          `{"tools":"search"}`,
	"profiles.p.pin":               `{"profiles":{"p":{"tools":"search"}}}`,
	"roles.r.issuer":               `{"roles":{"r":{"who":["*"]}}}`,
	"roles.r.profiles":             `{"roles":{"r":{"who":["*"]}}}`,
	"roles.r.tools":                `{"roles":{"r":{"who":["*"]}}}`,
	"roles.r.rate":                 `{"roles":{"r":{"who":["*"]}}}`,
	"roles.r.budget":               `{"roles":{"r":{"who":["*"]}}}`,
	"servers.s.tags":               `{"profiles":{"p":{"hide":["tag:x"]}}}`,
	"servers.s.tools.echo.tags":    `{"profiles":{"p":{"hide":["tag:x"]}}}`,
	"servers.s.prompts.hello.tags": `{"profiles":{"p":{"hide":["tag:x"]}}}`,
	"servers.s.resources.x:a.tags": `{"profiles":{"p":{"hide":["tag:x"]}}}`,
	"servers.s.instances":          `{"servers":{"s":{"isolation":"user"}}}`,
	"servers.s.idle":               `{"servers":{"s":{"isolation":"user"}}}`,
}

// changedNowhere are the members of which junction up has no use, and why.
var changedNowhere = map[string]string{
	"stateKeys":                    "clients see only whether their sessions go on, as TestStateKeysOfReplicasAreRotated does",
	"peers":                        "it needs stateKeys, and TestReplicasServeEveryClient has both",
	"state.url":                    "it needs stateKeys, and TestReplicasShareAStore has both",
	"roles.r.console":              "only the page of the team shows it, as in TestCallsWaitForARole",
	"approvals.webhook.url":        "only calls that wait for approval have an effect on it, as in TestCallsWaitForARole",
	"approvals.webhook.secret":     "the same",
	"approvals.webhook.format":     "the same",
	"listen.tls.acme":              "it goes without cert and key, as in TestCertificatesComeByACME of the integration layer",
	"listen.tls.clientRevoked":     "it goes with clientCA, as in TestRevokedCertificatesAreRefused",
	"registries":                   "the commands that search for servers read them each time",
	"servers.s.owner":              "it needs a store and peers, and TestAStatefulServerRunsAtOneReplica has both",
	"servers.s.onSecretChange":     "it counts when a secret changes, as in TestServersGetChangedSecrets",
	"servers.s.resources.x:a.name": "a resource is known by its URI",
}

// changedInPart are the members of which junction up reports that they wait for its restart, although some of them holds at once.
var changedInPart = map[string]string{
	"authorization.needs": "calls need it at once, and logins do not get it before",
}

// changedFronts are the ways in which a junction up serves.
var changedFronts = []changedFront{
	{"http", "", `{"listen":{"http":"127.0.0.1:0","admin":"127.0.0.1:0"},"auth":["keys","local"]}`, []string{"", "/p"}, nil, "listen.tls.", []changedTransport{
		{"Streamable HTTP", "2026-07-28", launch.EndpointPath, streamable.ClientWith},
		{"Streamable HTTP with sessions", "2025-11-25", launch.EndpointPath, streamable.ClientWith},
		{"HTTP+SSE", "2024-11-05", up.OlderPath, func(url string, o streamable.ClientOptions) mcp.Transport {
			return httpsse.ClientWith(url, httpsse.ClientOptions{HTTP: o.HTTP, Header: o.Header})
		}},
	}},
	{"https", "", `{"listen":{"http":"127.0.0.1:0","tls":{"cert":"up.pem","key":"up.key"},"admin":"127.0.0.1:0"},"auth":["keys","local"]}`, []string{"", "/p"}, nil, "none",
		[]changedTransport{{"HTTP/2", "2026-07-28", launch.EndpointPath, streamable.ClientWith}}},
	{"unix", "", `{"listen":{"http":"unix:up.sock","admin":"127.0.0.1:0"},"auth":["keys"]}`, []string{"", "/p"}, nil, "listen.tls.",
		[]changedTransport{{"a Unix socket", "2026-07-28", launch.EndpointPath, streamable.ClientWith}}},
	{"stdio", "--stdio --admin 127.0.0.1:0", "{}", []string{""}, []string{"authorization.", "roles.", "servers.s.instances", "servers.s.idle"}, "listen.tls.",
		[]changedTransport{{name: "standard streams", revision: "2026-07-28"}}},
	{"stdio of a profile", "--stdio --profile p --admin 127.0.0.1:0", "{}", []string{"/p"}, []string{"authorization.", "roles.", "servers.s.instances", "servers.s.idle"}, "listen.tls.",
		[]changedTransport{{name: "standard streams", revision: "2025-11-25"}}},
}

// A changedFront is a way in which a junction up serves.
type changedFront struct {
	name, flags, settings string
	paths                 []string // of what its clients look at: everything, or a profile
	unused                []string // beginnings of the paths of settings of which it has no use
	apart                 string   // beginning of the paths of settings that cannot be changed alone
	transports            []changedTransport
}

// A changedTransport is how a client reaches a junction up: at a path, or, without one, as the program that starts it.
type changedTransport struct {
	name, revision, path string
	to                   func(url string, o streamable.ClientOptions) mcp.Transport
}

// TestEachSettingIsChangedWhileACallRuns changes each member of the settings alone, of a junction up that runs and has a call in flight
// over each transport. The calls end as they began. What each client and the audit log see must be other than before, or the change
// restarts the server, or junction up reports that it waits for a restart. It runs before the tests that are parallel: its own parts keep
// all processors busy, and would come last among those.
func TestEachSettingIsChangedWhileACallRuns(t *testing.T) {
	fronts := changedFronts
	if testing.Short() {
		fronts = fronts[:1] // with three transports
	}
	for _, front := range fronts {
		t.Run(front.name, func(t *testing.T) {
			t.Parallel()
			c := changes(t, front)
			eachMember(reflect.TypeFor[settings.Settings](), "", func(path string, field reflect.StructField) {
				if changedNowhere[path] == "" && !strings.HasPrefix(path, front.apart) {
					t.Run(path, func(t *testing.T) { c.change(t, path, field) })
				}
			})
		})
	}
}

// eachMember calls each with all members of settings. Of what has names there is one.
func eachMember(of reflect.Type, at string, each func(path string, field reflect.StructField)) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		path, typ := at+name, field.Type
		if field.Anonymous {
			eachMember(typ, at, each)
			continue
		}
		if typ.Kind() == reflect.Pointer && field.Tag.Get("restart") == "" {
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Map && typ.Elem().Kind() == reflect.Struct && field.Tag.Get("restart") == "" {
			path += "." + map[string]string{"servers": "s", "profiles": "p", "roles": "r", "tools": "echo", "prompts": "hello", "resources": "x:a"}[name]
			typ = typ.Elem()
		}
		if typ.Kind() == reflect.Struct {
			eachMember(typ, path+".", each)
		} else {
			each(path, field)
		}
	}
}

// A changing is a junction up whose settings are changed.
type changing struct {
	*world
	changedFront
	server  *changedServer
	up      *startedCommand
	admin   string // an address
	token   string // of admin
	clients []*changedClient
	now     string     // its configuration, with which clients see what is usual
	failing sync.Mutex // held for a call that fails
}

// A changedClient has a call run over a transport, and looks at the same path over it, at an address as another user.
type changedClient struct {
	name, path, user string
	runs, sees       *mcp.Client
	usual            string // what is seen before something changes
}

// changes starts a junction up and connects clients to it.
func changes(t *testing.T, front changedFront) *changing {
	dir, err := os.MkdirTemp("", "s") // a short path: those of sockets are limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &changing{world: &world{T: t, dir: dir}, changedFront: front, server: newChangedServer(t)}
	c.write("rules.json", `{"default":"allow","rules":[{"effect":"deny","tool":"forbidden"}]}`)
	c.write("stricter.json", `{"default":"allow","rules":[{"effect":"deny","tool":"echo"}]}`)
	c.write("mcp.json", c.configuration(t))
	args := append([]string{"up", "--config", "mcp.json"}, strings.Fields(front.flags)...)
	if c.stdio() {
		c.startOnStreams(args)
	} else {
		c.startServing(args)
	}
	c.admin = strings.TrimSuffix(c.up.find(`http://127\.0\.0\.1:\d+/metrics`), "/metrics")
	c.up.find(`the token for /api is in`)
	token, err := os.ReadFile(filepath.Join(dir, "junction", "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	c.token = strings.TrimSpace(string(token))
	return c
}

// stdio reports whether the only client starts the junction up.
func (c *changing) stdio() bool { return c.transports[0].path == "" }

// startOnStreams starts a junction up by its one client.
func (c *changing) startOnStreams(args []string) {
	c.up = &startedCommand{world: c.world, objects: new(clitest.SafeBuffer), printed: new(clitest.SafeBuffer)}
	cmd := c.command(args...)
	program := command.New(cmd.Path, args...)
	program.Environ, program.Dir = cmd.Env, cmd.Dir
	program.Stderr = func(line string) { fmt.Fprintln(c.up.printed, line) }
	client := c.dial(program, c.transports[0].revision)
	c.clients = []*changedClient{{name: c.transports[0].name, path: c.paths[0], runs: client, sees: client}}
}

// startServing starts a junction up at an address, and connects a user who looks and one whose call runs to each path over each transport.
func (c *changing) startServing(args []string) {
	authority, pool := clitest.NewAuthority(c.T), x509.NewCertPool()
	pool.AddCert(authority.Cert)
	cert, certKey := authority.Sign(c.T, &x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}})
	clitest.Save(c.T, c.dir, "up", cert, certKey)
	key := func(user string) http.Header {
		return http.Header{"Authorization": {"Bearer " + strings.TrimSpace(c.run("key", "create", user))}}
	}
	runs := key("runs")
	sees := map[*changedClient]http.Header{}
	for _, transport := range c.transports {
		for _, path := range c.paths {
			client := &changedClient{name: transport.name + path, path: path, user: fmt.Sprint("sees", len(c.clients))}
			sees[client], c.clients = key(client.user), append(c.clients, client)
		}
	}
	c.up = c.start(args...)
	origin := strings.Fields(c.up.find(`junction serves at http\S+\s`))[3]
	through := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true}
	if socket, is := strings.CutPrefix(origin, launch.HTTPUnix+":"); is {
		origin = "http://localhost"
		through.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	c.Cleanup(through.CloseIdleConnections)
	for i, client := range c.clients {
		transport := c.transports[i/len(c.paths)]
		to := func(user http.Header) *mcp.Client {
			url := strings.TrimSuffix(origin, launch.EndpointPath) + transport.path + client.path
			return c.dial(transport.to(url, streamable.ClientOptions{HTTP: &http.Client{Transport: through}, Header: user}), transport.revision)
		}
		client.runs, client.sees = to(runs), to(sees[client])
	}
}

// dial connects a client until the test is over.
func (c *changing) dial(to mcp.Transport, revision string) *mcp.Client {
	c.Helper()
	client, err := mcp.DialWith(c.Context(), to, mcp.ClientOptions{Revision: revision, NoCache: true, Timeout: -1}) // what is waited for too long is said once
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { client.Close() })
	return client
}

// each has the clients do something side by side.
func (c *changing) each(do func(*changedClient)) {
	var all sync.WaitGroup
	for _, client := range c.clients {
		all.Go(func() { do(client) })
	}
	all.Wait()
}

// seen waits until something is so for all clients.
func (c *changing) seen(t *testing.T, so func(*changedClient) bool, otherwise string) {
	t.Helper()
	c.each(func(client *changedClient) {
		if !c.up.waitFor(func() bool { return so(client) }) {
			t.Errorf("%s: %s\n%s\nwant\n%s", client.name, otherwise, c.observe(client), client.usual)
		}
	})
}

// configuration returns the usual one with some settings.
func (c *changing) configuration(t *testing.T, with ...string) string {
	all := map[string]any{}
	for _, text := range append([]string{`{"tools":"all","policy":"rules.json","audit":{"folder":"log"},"authorization":{"scopes":["more"]},"servers":{"s":{}},"profiles":{"p":{}}}`, c.changedFront.settings}, with...) {
		var some map[string]any
		if err := json.Unmarshal([]byte(text), &some); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		merge(all, some)
	}
	text, _ := json.Marshal(map[string]any{"junction": all, "mcpServers": map[string]any{"s": map[string]any{"url": c.server.url + "/s"}, "b": map[string]any{"url": c.server.url + "/b"}}}) // what was read is written
	return string(text)
}

// merge sets what some has, deep within all.
func merge(all, some map[string]any) {
	for name, value := range some {
		inner, is := value.(map[string]any)
		if outer, there := all[name].(map[string]any); is && there {
			merge(outer, inner)
		} else {
			all[name] = value
		}
	}
}

// reload has junction up read a configuration, and returns what waits for its restart.
func (c *changing) reload(t *testing.T, configuration string) []string {
	t.Helper()
	const done = "Configuration reloaded"
	said := len(c.up.printed.String())
	c.write("mcp.json", configuration)
	if answer := c.ask("POST", "/api/reload"); answer != "" {
		t.Fatalf("it is not read: %s", answer)
	}
	if !c.up.waitFor(func() bool { return strings.Contains(c.up.printed.String()[said:], done) }) {
		t.Fatal("it is not used")
	}
	_, waits, _ := strings.Cut(c.up.printed.String()[said:], "these changes apply when junction up starts again: ")
	waits, _, _ = strings.Cut(waits, "\n")
	return strings.Split(waits, ", ")
}

// ask returns what the address for those who watch answers.
func (c *changing) ask(method, path string) string {
	req, err := http.NewRequestWithContext(c.Context(), method, c.admin+path, nil)
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// use has junction up read a configuration, and clients see what is usual with it.
func (c *changing) use(t *testing.T, configuration string) {
	t.Helper()
	if c.now == configuration {
		return
	}
	c.reload(t, configuration)
	c.now = configuration
	c.seen(t, func(client *changedClient) (settled bool) {
		last := client.usual
		client.usual = c.observe(client)
		return client.usual == last && strings.Contains(last, metText)
	}, "what is seen is different each time")
}

// change changes one member while calls run, and back.
func (c *changing) change(t *testing.T, path string, field reflect.StructField) {
	before := cmp.Or(changedWith[path], "{}")
	c.use(t, c.configuration(t, before))
	set := changedValue(t, path, field)
	for _, name := range slices.Backward(strings.Split(path, ".")) {
		set = fmt.Sprintf("{%q:%s}", name, set)
	}
	ended := make(chan error, len(c.clients))
	for _, client := range c.clients {
		go func() {
			r, err := client.runs.CallTool(t.Context(), "s__slow", nil)
			if err == nil && r.IsError {
				err = errors.New(r.Text())
			}
			if err != nil {
				err = fmt.Errorf("%s: %w", client.name, err)
			}
			ended <- err
		}()
	}
	for range c.clients {
		select {
		case <-c.server.begun:
		case err := <-ended:
			t.Fatalf("a call does not begin: %v", err)
		}
	}
	connected := c.server.connected.Load()
	release := sync.OnceFunc(func() {
		for range c.clients {
			c.server.goes <- struct{}{}
		}
	})
	defer release() // also after a failure, as later members wait for these calls

	waits := strings.Join(c.reload(t, c.configuration(t, before, set)), ", ")
	var want string
	restart := settings.Restart(field.Tag.Get("restart"))
	if restart == settings.RestartGateway || restart == settings.RestartTokens && strings.Contains(c.changedFront.settings, "local") {
		want = path
	}
	if c.stdio() && (strings.HasPrefix(path, "listen.") || path == "auth") {
		want = ""
	}
	if waits != want {
		t.Errorf("until it starts again %q waits, want %q", waits, want)
	}
	later := (restart == settings.RestartGateway || restart == settings.RestartTokens) && changedInPart[path] == ""
	unused := slices.ContainsFunc(c.unused, func(some string) bool { return strings.HasPrefix(path, some) })
	usual := func(client *changedClient) bool { return c.observe(client) == client.usual }
	c.seen(t, func(client *changedClient) bool {
		none := later || unused || client.path == "" && strings.HasPrefix(path, "profiles.")
		return usual(client) == none || restart == settings.RestartServer && c.server.connected.Load() > connected // it starts when it is looked at
	}, set+" has not the effect that it should have")
	release()
	for range c.clients {
		if err := <-ended; err != nil {
			t.Errorf("the call that ran: %v", err)
		}
	}
	c.reload(t, c.now)
	c.seen(t, usual, "when it is back, not all is as it was")
}

// changedValue returns a value that a member does not have by default.
func changedValue(t *testing.T, path string, field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if value := changedTo[path]; value != "" {
		return value
	}
	if enum := field.Tag.Get("enum"); enum != "" {
		words := slices.DeleteFunc(strings.Split(enum, ","), func(word string) bool { return word == field.Tag.Get("default") })
		return fmt.Sprintf("%q", words[len(words)-1])
	}
	switch of := field.Type; {
	case of.Kind() == reflect.Bool:
		return "true"
	case changedTo[name] != "":
		return changedTo[name]
	case field.Tag.Get("example") != "":
		return fmt.Sprintf("%q", field.Tag.Get("example"))
	case of == reflect.TypeFor[time.Duration](), of == reflect.TypeFor[*time.Duration]():
		return `"2m"`
	case of.Kind() == reflect.Int:
		return field.Tag.Get("min")
	case of.Kind() == reflect.String:
		return `"x"`
	case of == reflect.TypeFor[[]string]():
		return `["x"]`
	}
	t.Fatalf("give it a value in changedTo, or a reason in changedNowhere")
	return ""
}

// observe returns what a client, the audit log and the status see.
func (c *changing) observe(client *changedClient) string {
	var seen strings.Builder
	_, from := c.logged(nil)
	var status struct {
		Servers []struct {
			Name         string
			MaxInstances int
			Users        []string
		}
	}
	if text := c.ask("GET", "/api/status"); json.Unmarshal([]byte(text), &status) != nil {
		fmt.Fprintln(&seen, text)
	}
	for _, one := range status.Servers {
		fmt.Fprintln(&seen, one.Name, one.MaxInstances, slices.Contains(one.Users, client.user)) // the call that runs is another user's
	}
	do := func(method, params string) {
		result, err := client.sees.Do(c.Context(), method, json.RawMessage(params))
		body, _ := result.Encoded() // none with an error
		fmt.Fprintf(&seen, "%s %s: %s %v\n", method, params, body, err)
	}
	for _, method := range []string{"tools/list", "prompts/list", "resources/list"} {
		do(method, "{}")
	}
	calls := func(calls ...string) {
		for _, call := range calls {
			do("tools/call", `{"name":"s__`+call+`}`)
		}
	}
	c.failing.Lock() // else all fail in a row, and the server is not asked for a while
	c.server.fails.Store(client.user, true)
	calls(`long"`, `failing","arguments":{"user":"`+client.user+`"}`)
	c.failing.Unlock()
	calls(`echo","arguments":{"text":"a"}`, `echo","arguments":{"text":"b"}`, `forbidden"`,
		`echo","arguments":{"text":"ghp_`+strings.Repeat("a1B2", 9)+`"}`, `echo","arguments":{"text":"c"}`)
	do("prompts/get", `{"name":"s__hello"}`)
	do("resources/read", `{"uri":"x:a"}`)
	m := c.server.meeting(client.user)
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { // the server says whether they ran at once
			_, _ = client.sees.CallTool(c.Context(), "s__echo", map[string]string{"text": "meet", "other": client.user})
		})
	}
	both.Wait()
	if m.met.Load() {
		fmt.Fprintln(&seen, metText)
	}
	lines, _ := c.logged(from)
	for _, line := range lines {
		var r struct {
			Name, Principal, Outcome string
			Arguments, Result        json.RawMessage
		}
		// One line may be for many that are refused.
		if err := json.Unmarshal([]byte(line), &r); err == nil && r.Outcome == "ok" && r.Principal == client.user && r.Name != "s__slow" {
			fmt.Fprintf(&seen, "%s %s %s\n", r.Name, r.Arguments, r.Result)
		}
	}
	return seen.String()
}

// logged returns the lines of the audit log's files from some bytes on, and where these files end; nil: no lines.
func (c *changing) logged(from map[string]int64) (lines []string, ends map[string]int64) {
	files, _ := filepath.Glob(filepath.Join(c.dir, "log", "*.jsonl")) // the pattern is right
	ends = map[string]int64{}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			continue // it is gone
		}
		ends[name], _ = file.Seek(0, io.SeekEnd)
		if from != nil {
			text, _ := io.ReadAll(io.NewSectionReader(file, from[name], ends[name]-from[name]))
			lines = append(lines, slices.Collect(strings.Lines(string(text)))...)
		}
		file.Close()
	}
	return lines, ends
}

// A changedServer is the server whose settings are changed, at two addresses.
type changedServer struct {
	url         string
	begun, goes chan struct{} // of a slow call
	connected   atomic.Int32  // connections
	fails       sync.Map      // users whose next such call does
	meetings    sync.Map      // by users
}

// metText is what is seen where two calls of a user run at once, as usual.
const metText = "two calls ran at once"

// A meeting is whether two calls of a user run at once.
type meeting struct {
	calls      chan struct{} // one of two has the other's
	alone, met atomic.Bool
}

// meeting returns a new one of a user.
func (s *changedServer) meeting(user string) *meeting {
	m := &meeting{calls: make(chan struct{})}
	s.meetings.Store(user, m)
	return m
}

// wait waits for the other call, unless there was none while the first one ran.
func (m *meeting) wait(ctx context.Context) {
	if m.alone.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
	defer cancel()
	select {
	case m.calls <- struct{}{}:
	case <-m.calls:
		m.met.Store(true)
	case <-ctx.Done():
		m.alone.Store(true)
	}
}

func newChangedServer(t *testing.T) *changedServer {
	s := &changedServer{begun: make(chan struct{}), goes: make(chan struct{})}
	tools := mcp.NewServer("changed", "1")
	type text struct {
		Text  string `json:"text,omitempty"`
		Other string `json:"other,omitempty"`
	}
	mcp.AddTool(tools, "slow", func(context.Context, struct{}) (string, error) {
		s.begun <- struct{}{}
		<-s.goes
		return "it ran", nil
	})
	mcp.AddTool(tools, "forbidden", func(context.Context, struct{}) (string, error) { return "it ran", nil })
	mcp.AddTool(tools, "long", func(context.Context, struct{}) (string, error) { return strings.Repeat("long ", 1000), nil })
	mcp.AddTool(tools, "echo", func(ctx context.Context, in text) (text, error) {
		if m, is := s.meetings.Load(in.Other); is && in.Text == "meet" {
			m.(*meeting).wait(ctx)
		}
		return in, nil
	})
	mcp.AddToolWith(tools, mcp.Tool{Name: "failing", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(context.Context, struct {
		User string `json:"user"`
	}) (string, error) {
		return "it goes", nil
	})
	mcp.AddPromptWith(tools, mcp.Prompt{Name: "hello"}, func(context.Context, struct{}) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	tools.AddResource(mcp.Resource{URI: "x:a", Name: "a"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: "x:a", Text: "a"}}}, nil
	})
	h := streamable.Handler(tools)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Mcp-Method") {
		case "server/discover":
			s.connected.Add(1)
		case "tools/call":
			if r.Header.Get("Mcp-Name") != "failing" {
				break
			}
			var call struct {
				Params struct{ Arguments struct{ User string } }
			}
			body, err := io.ReadAll(r.Body)
			if err == nil {
				err = json.Unmarshal(body, &call)
			}
			if _, fails := s.fails.LoadAndDelete(call.Params.Arguments.User); fails || err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	s.url = served.URL
	return s
}
