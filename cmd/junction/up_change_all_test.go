package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/mcp"
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
	"authorization.tools":          `{"s__echo":["more"]}`,
	"authorization.trustedProxies": `["unix"]`,
	"authorization.provider":       `{"issuer":"https://login.example","clientId":"x","domains":["example.com"]}`,
	"authorization.issuers":        `{"https://login.example":{"clientId":"x"}}`,
	"profiles.p.servers":           `["b"]`,
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
	"servers.s.tags":               `{"profiles":{"p":{"hide":["tag:x"]}}}`,
	"servers.s.tools.echo.tags":    `{"profiles":{"p":{"hide":["tag:x"]}}}`,
	"servers.s.prompts.hello.tags": `{"profiles":{"p":{"hide":["tag:x"]}}}`,
	"servers.s.resources.x:a.tags": `{"profiles":{"p":{"hide":["tag:x"]}}}`,
	"servers.s.instances":          `{"servers":{"s":{"isolation":"user"}}}`,
	"servers.s.idle":               `{"servers":{"s":{"isolation":"user"}}}`,
}

// changedNowhere are the members of which junction up has no use, and why.
var changedNowhere = map[string]string{
	"registries":                   "the commands that search for servers read them each time",
	"servers.s.resources.x:a.name": "a resource is known by its URI",
}

// TestEachSettingIsChangedWhileACallRuns changes each member of the settings alone, of a junction up that runs and has a call in flight.
// The call ends as it began. What clients and the audit log see must be other than before, or the change restarts the server, or junction
// up reports that it waits for a restart.
func TestEachSettingIsChangedWhileACallRuns(t *testing.T) {
	t.Parallel()
	type member struct {
		path  string
		field reflect.StructField
	}
	var all []member
	eachMember(reflect.TypeFor[settings.Settings](), "", func(path string, field reflect.StructField) {
		if changedNowhere[path] == "" {
			all = append(all, member{path, field})
		}
	})
	var groups sync.WaitGroup
	for some := range slices.Chunk(all, 20) { // each with a junction up of its own; they do not wait for a turn of theirs, which would be the last
		groups.Go(func() {
			t.Run(some[0].path+" and on", func(t *testing.T) {
				c := newChanging(t)
				for _, m := range some {
					t.Run(m.path, func(t *testing.T) { c.change(t, m.path, m.field) })
				}
			})
		})
	}
	groups.Wait()
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
			path += "." + map[string]string{"servers": "s", "profiles": "p", "tools": "echo", "prompts": "hello", "resources": "x:a"}[name]
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
	server     *changedServer
	up         *startedCommand
	url, admin string                        // addresses
	token      string                        // of admin
	runs, sees func(path string) *mcp.Client // of two users
}

func newChanging(t *testing.T) *changing {
	w := newWorld(t)
	w.write("rules.json", `{"default":"allow","rules":[{"effect":"deny","tool":"forbidden"}]}`)
	w.write("stricter.json", `{"default":"allow","rules":[{"effect":"deny","tool":"echo"}]}`)
	c := &changing{world: w, server: newChangedServer(t)}
	c.write("mcp.json", c.configuration(t))
	ada, bea := strings.TrimSpace(w.run("key", "create", "ada")), strings.TrimSpace(w.run("key", "create", "bea"))
	c.up = w.start("up", "--config", "mcp.json", "--http", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--auth", "keys,local")
	c.url, c.admin = c.up.find(`https?://127\.0\.0\.1:\d+/mcp`), strings.TrimSuffix(c.up.find(`http://127\.0\.0\.1:\d+/metrics`), "/metrics")
	c.up.find(`the token for /api is in`)
	token, err := os.ReadFile(filepath.Join(w.dir, "junction", "admin.token"))
	if err != nil {
		t.Fatal(err)
	}
	c.token = strings.TrimSpace(string(token))
	c.runs, c.sees = c.dials(ada), c.dials(bea)
	return c
}

// dials returns what connects a user to an endpoint, until the test is over.
func (c *changing) dials(key string) func(path string) *mcp.Client {
	return func(path string) *mcp.Client {
		client, err := mcp.Dial(c.Context(), streamable.ClientWith(c.url+path, streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key}}}))
		if err != nil {
			c.Fatal(err)
		}
		return client
	}
}

// configuration returns the usual one with some settings.
func (c *changing) configuration(t *testing.T, with ...string) string {
	all := map[string]any{}
	for _, text := range append([]string{`{"tools":"all","policy":"rules.json","audit":{"folder":"log"},"authorization":{"scopes":["more"]},"servers":{"s":{}},"profiles":{"p":{}}}`}, with...) {
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
	if answer := c.ask(t, "POST", "/api/reload"); answer != "" {
		t.Fatalf("it is not read: %s", answer)
	}
	if !c.up.waitFor(func() bool { return strings.Contains(c.up.printed.String()[said:], done) }) {
		t.Fatal("it is not used")
	}
	_, waits, _ := strings.Cut(c.up.printed.String()[said:], "until junction up starts again this stays as it was: ")
	waits, _, _ = strings.Cut(waits, "\n")
	return strings.Split(waits, ", ")
}

// ask returns what the address for those who watch answers.
func (c *changing) ask(t *testing.T, method, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.admin+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// change changes one member while a call runs, and back.
func (c *changing) change(t *testing.T, path string, field reflect.StructField) {
	before := []string{cmp.Or(changedWith[path], "{}")}
	c.reload(t, c.configuration(t, before...))
	client := c.runs("")
	defer client.Close()
	ended := make(chan error, 1)
	go func() {
		r, err := client.CallTool(t.Context(), "s__slow", nil)
		if err == nil && r.IsError {
			err = errors.New(r.Text())
		}
		ended <- err
	}()
	select {
	case <-c.server.begun:
	case err := <-ended:
		t.Fatalf("the call does not begin: %v", err)
	}
	var usual string
	if !c.up.waitFor(func() (settled bool) {
		last := usual
		usual = c.observe(t)
		return usual == last
	}) {
		t.Fatal("what is seen is different each time")
	}
	connected := c.server.connected.Load()

	set := changedValue(t, path, field)
	for _, name := range slices.Backward(strings.Split(path, ".")) {
		set = fmt.Sprintf("{%q:%s}", name, set)
	}
	waits := strings.Join(c.reload(t, c.configuration(t, append(before, set)...)), ", ")
	var want string
	restart := settings.Restart(field.Tag.Get("restart"))
	if restart == settings.RestartGateway || restart == settings.RestartTokens {
		want = path
	}
	if waits != want {
		t.Errorf("until it starts again %q waits, want %q", waits, want)
	}
	holds := func() bool {
		is := c.observe(t) // which has a server start
		return is != usual || restart == settings.RestartServer && c.server.connected.Load() > connected
	}
	if want == "" && !c.up.waitFor(holds) {
		t.Errorf("%s changes nothing of\n%s", set, usual)
	}
	c.server.goes <- struct{}{}
	if err := <-ended; err != nil {
		t.Errorf("the call that ran: %v", err)
	}
	c.reload(t, c.configuration(t, before...))
	if !c.up.waitFor(func() bool { return c.observe(t) == usual }) {
		t.Errorf("when it is back, not all is as it was, but\n%s\nwant\n%s", c.observe(t), usual)
	}
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

// observe returns what clients, the audit log and the status see.
func (c *changing) observe(t *testing.T) string {
	t.Helper()
	var seen strings.Builder
	logged := c.logged(t)
	var status struct {
		Servers []struct {
			Name         string
			MaxInstances int
			Users        []string
		}
	}
	if err := json.Unmarshal([]byte(c.ask(t, "GET", "/api/status")), &status); err != nil {
		t.Fatal(err)
	}
	for _, one := range status.Servers {
		fmt.Fprintln(&seen, one.Name, one.MaxInstances, slices.Contains(one.Users, "bea")) // the call that runs is another user's
	}
	for _, path := range []string{"", "/p"} {
		client := c.sees(path)
		do := func(method, params string) {
			result, err := client.Do(t.Context(), method, json.RawMessage(params))
			body, _ := result.Encoded() // none with an error
			fmt.Fprintf(&seen, "%s %s %s: %s %v\n", path, method, params, body, err)
		}
		for _, method := range []string{"tools/list", "prompts/list", "resources/list"} {
			do(method, "{}")
		}
		c.server.failing.Store(true)
		for _, call := range []string{
			`"failing"`, `"echo","arguments":{"text":"a"}`, `"echo","arguments":{"text":"b"}`, `"forbidden"`, `"long"`,
			`"echo","arguments":{"text":"ghp_` + strings.Repeat("a1B2", 9) + `"}`, `"echo","arguments":{"text":"c"}`,
		} {
			do("tools/call", `{"name":"s__`+call[1:]+`}`)
		}
		do("prompts/get", `{"name":"s__hello"}`)
		do("resources/read", `{"uri":"x:a"}`)
		if path == "" {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() { _, _ = client.CallTool(t.Context(), "s__echo", map[string]string{"text": "meet"}) }) // the server says whether they ran at once
			}
			both.Wait()
			fmt.Fprintf(&seen, "met: %t\n", c.server.met.Swap(false))
		}
		client.Close()
	}
	for _, line := range c.logged(t)[len(logged):] {
		var r struct {
			Name, Outcome     string
			Arguments, Result json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &r); err == nil && r.Outcome == "ok" { // one line may be for many that are refused
			fmt.Fprintf(&seen, "%s %s %s\n", r.Name, r.Arguments, r.Result)
		}
	}
	return seen.String()
}

// logged returns the lines of the audit log.
func (c *changing) logged(t *testing.T) (lines []string) {
	files, err := filepath.Glob(filepath.Join(c.dir, "log", "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(in(t, file))
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, slices.Collect(strings.Lines(string(data)))...)
	}
	return lines
}

// A changedServer is the server whose settings are changed, at two addresses.
type changedServer struct {
	url         string
	begun, goes chan struct{} // of a slow call
	connected   atomic.Int32  // connections
	failing     atomic.Bool   // the next such call fails
	meet        chan struct{} // one of two calls that run at once has the other's
	met         atomic.Bool
}

func newChangedServer(t *testing.T) *changedServer {
	s := &changedServer{begun: make(chan struct{}), goes: make(chan struct{}), meet: make(chan struct{})}
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
		if in.Text != "meet" {
			return in, nil
		}
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		select {
		case s.meet <- struct{}{}:
		case <-s.meet:
			s.met.Store(true)
		case <-ctx.Done():
		}
		return in, nil
	})
	mcp.AddToolWith(tools, mcp.Tool{Name: "failing", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true)}}, func(context.Context, struct{}) (string, error) { return "it goes", nil })
	mcp.AddPromptWith(tools, mcp.Prompt{Name: "hello"}, func(context.Context, struct{}) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{}, nil
	})
	tools.AddResource(mcp.Resource{URI: "x:a", Name: "a"}, func(context.Context, string, map[string]string) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	h := streamable.Handler(tools)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Mcp-Method") {
		case "server/discover":
			s.connected.Add(1)
		case "tools/call":
			if r.Header.Get("Mcp-Name") == "failing" && s.failing.Swap(false) {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(served.Close)
	s.url = served.URL
	return s
}
