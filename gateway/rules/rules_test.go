package rules_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/gateway/rules"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/policy"
)

func compiled(t testing.TB, fallback policy.Effect, all ...policy.Rule) func(context.Context) *policy.Policy {
	t.Helper()
	p, err := policy.Compile(all, policy.Options{Default: fallback})
	if err != nil {
		t.Fatal(err)
	}
	return func(context.Context) *policy.Policy { return p }
}

// files returns a server with tools that count their calls. The tool ask asks the user itself.
func files(calls *atomic.Int32) *mcp.Server {
	s := mcp.NewServer("files", "1")
	run := func(_ context.Context, in struct{ Path string }) (string, error) {
		calls.Add(1)
		return "did " + in.Path, nil
	}
	mcp.AddToolWith(s, mcp.Tool{Name: "read", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}}, run)
	mcp.AddTool(s, "write", run)
	mcp.AddTool(s, "drop", run)
	mcp.AddTool(s, "ask", func(ctx context.Context, _ struct{ Path string }) (string, error) {
		in, err := mcp.Elicit[struct{ Name string }](ctx, "Who are you?")
		if err == nil {
			calls.Add(1)
		}
		return "hello " + in.Name, err
	})
	return s
}

// A user answers the requests of a client.
type user struct {
	mu    sync.Mutex
	asked []string
	allow string
}

func (u *user) elicit(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, req.Message)
	if strings.HasPrefix(req.Message, "Who") {
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"Name":"Ada"}`)}, nil
	}
	if u.allow == "" {
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"allow":` + u.allow + `}`)}, nil
}

// both runs a test with clients of both eras, around a Handler and in a gateway.
func both(t *testing.T, o rules.Options, u *user, f func(t *testing.T, c *mcp.Client, prefix string, calls *atomic.Int32)) {
	o.Server = "files"
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		for _, place := range []string{"handler", "gateway"} {
			t.Run(revision+" "+place, func(t *testing.T) {
				var calls atomic.Int32
				h, prefix := rules.Middleware(o)(files(&calls)), ""
				if place == "gateway" {
					g := gateway.New(gateway.Options{})
					defer g.Close()
					dial := func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
						return mcp.DialWith(ctx, stream.Pipe(files(&calls)), mcp.ClientOptions{Name: "files", Bridge: true})
					}
					if err := g.Add("files", gateway.Upstream{Dial: dial, Middleware: []mcp.Middleware{rules.Middleware(o)}}); err != nil {
						t.Fatal(err)
					}
					if err := g.Settle(t.Context()); err != nil {
						t.Fatal(err)
					}
					h, prefix = g, "files"+gateway.Separator
				}
				co := mcp.ClientOptions{Info: mcp.Implementation{Name: "assistant", Version: "1"}, Name: "files", Revision: revision}
				if u != nil {
					u.asked = nil
					co.OnElicit = u.elicit
				}
				c, err := mcp.DialWith(t.Context(), stream.Pipe(h), co)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				f(t, c, prefix, &calls)
			})
		}
	}
}

func listed(t *testing.T, c *mcp.Client) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name[strings.LastIndex(tool.Name, "__")+1:])
	}
	for i := range names {
		names[i] = strings.TrimLeft(names[i], "_")
	}
	slices.Sort(names)
	return names
}

// said returns the text of a call, or its error.
func said(c *mcp.Client, tool, path string) string {
	result, err := c.CallTool(context.Background(), tool, map[string]string{"Path": path})
	if err != nil {
		return "error: " + err.Error()
	}
	text := ""
	for _, block := range result.Content {
		text += block.Text
	}
	if result.IsError {
		text = "failed: " + text
	}
	return text
}

func TestDeniedToolsAreHidden(t *testing.T) {
	o := rules.Options{
		Policy: compiled(t, policy.Allow,
			policy.Rule{Effect: policy.Deny, Server: "files", Tool: "drop"},
			policy.Rule{Effect: policy.Deny, Tool: "write", When: "args.Path.startsWith('/etc')", Reason: "nobody writes to /etc"},
			policy.Rule{Effect: policy.Deny, When: "!annotations.readOnly && client != 'assistant'"}),
	}
	both(t, o, nil, func(t *testing.T, c *mcp.Client, prefix string, calls *atomic.Int32) {
		if got := fmt.Sprint(listed(t, c)); got != "[ask read write]" {
			t.Errorf("listed: %s", got)
		}
		for _, call := range [][3]string{
			{"read", "a", "did a"},
			{"write", "a", "did a"},
			{"write", "/etc/passwd", "failed: not allowed: nobody writes to /etc"},
			{"drop", "a", `error: server "files": not allowed: the rule deny tool "drop" of server "files"`},
		} {
			if got := said(c, prefix+call[0], call[1]); !strings.HasPrefix(got, call[2]) {
				t.Errorf("%s %s: %s", call[0], call[1], got)
			}
		}
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls reached the server", n)
		}
	})
	for shadow, want := range map[bool]note.Decision{
		false: {Effect: "deny", Rule: `deny tool "write" of any server when args.Path.startsWith('/etc')`, Reason: "nobody writes to /etc", Refused: true},
		true:  {Effect: "deny", Rule: `deny tool "write" of any server when args.Path.startsWith('/etc')`, Reason: "in the shadow: nobody writes to /etc"},
	} {
		o.Shadow = shadow
		if got := noted(t, o, "write", "/etc/passwd"); !slices.Equal(got, []note.Decision{want}) {
			t.Errorf("shadow %v: noted %+v, want %+v", shadow, got, want)
		}
	}
}

func TestAResourceIsDecidedInEachSpellingOfItsURI(t *testing.T) {
	const secret = `{"contents":[{"uri":"x","text":"{\"pin\":1,\"n\":2}"}]}`
	read := ""
	h := rules.Middleware(rules.Options{Server: "files", Policy: compiled(t, policy.Allow,
		policy.Rule{Effect: policy.Deny, When: "resource.startsWith('file:///secret/')"},
		policy.Rule{Effect: policy.Deny, When: "resource == 'file:///a b'"},
		policy.Rule{Effect: policy.Deny, When: "resource.startsWith('https://inner.example/')"},
		policy.Rule{Effect: policy.Allow, When: "resource.startsWith('file:///private/')", Redact: &policy.Redact{Results: []string{"/pin"}}},
	)})(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		read = req.Name
		return mcp.Result{JSON: json.RawMessage(secret)}, nil
	}))
	for _, test := range []struct {
		uri     string
		passes  bool
		without bool // is set if the pin is missing
	}{
		{"file:///public/x", true, false},
		{"file:///secret/x", false, false},
		{"file:///%73ecret/x", false, false},
		{"FILE:///secret/x", false, false},
		{"file:///public/../secret/x", false, false},
		{"file:///public/%2e%2E/./secret/x", false, false},
		{"file:///a b", false, false},
		{"https://INNER.example/x", false, false},
		{"file:///private/x", true, true},
		{"file:///%70rivate/x", true, true},
		{"file:///a/%2Fb", true, false},
		{"mailto:a@b", true, false},
		{"%zz", true, false},
	} {
		params, err := json.Marshal(map[string]string{"uri": test.uri})
		if err != nil {
			t.Fatal(err)
		}
		read = ""
		result, err := h.Handle(t.Context(), mcp.NewRequest("resources/read", params))
		if passed := err == nil; passed != test.passes {
			t.Errorf("%s: got %v", test.uri, err)
			continue
		}
		if err != nil {
			continue
		}
		body, err := result.Encoded()
		if without := !strings.Contains(string(body), "pin\\\":1"); err != nil || without != test.without || read != test.uri {
			t.Errorf("%s: read %s, got %s, %v", test.uri, read, body, err)
		}
	}
}

// noted returns the noted decisions about a call.
func noted(t *testing.T, o rules.Options, tool, path string) (all []note.Decision) {
	ctx := mcp.WithNoteObserver(t.Context(), noteFunc(func(kind string, value any) {
		if d, ok := value.(note.Decider).Decision(); ok && kind == note.Policy {
			all = append(all, d)
		}
	}))
	_, _ = mcp.NewClientWith(rules.Middleware(o)(files(new(atomic.Int32))), mcp.ClientOptions{Info: mcp.Implementation{Name: "assistant", Version: "1"}}).CallTool(ctx, tool, map[string]string{"Path": path})
	return all
}

// A noteFunc is a function that is an [mcp.NoteObserver].
type noteFunc func(kind string, value any)

func (n noteFunc) Note(kind string, value any) { n(kind, value) }

func TestARuleThatAsks(t *testing.T) {
	for _, test := range []struct {
		name, allow, want string
		calls             int32
	}{
		{"yes", "true", "did x", 1},
		{"no", "false", "failed: not allowed: writing is asked about; the user declined", 0},
		{"declined", "", "failed: not allowed: writing is asked about; the user declined", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			u := &user{allow: test.allow}
			o := rules.Options{Policy: compiled(t, policy.Allow, policy.Rule{Effect: policy.Ask, Tool: "write", Reason: "writing is asked about"})}
			both(t, o, u, func(t *testing.T, c *mcp.Client, prefix string, calls *atomic.Int32) {
				if got := said(c, prefix+"write", "x"); got != test.want || calls.Load() != test.calls {
					t.Errorf("got %q, %d calls", got, calls.Load())
				}
				want := "May the tool write of server files be called?\nwriting is asked about\nArguments: {\"Path\":\"x\"}"
				if len(u.asked) != 1 || u.asked[0] != want {
					t.Errorf("asked %q", u.asked)
				}
			})
		})
	}
}

func TestAToolThatAsksItselfIsAskedAboutOnce(t *testing.T) {
	u := &user{allow: "true"}
	o := rules.Options{Policy: compiled(t, policy.Ask)}
	both(t, o, u, func(t *testing.T, c *mcp.Client, prefix string, calls *atomic.Int32) {
		if got := said(c, prefix+"ask", ""); got != "hello Ada" || calls.Load() != 1 {
			t.Errorf("got %q, %d calls", got, calls.Load())
		}
		if len(u.asked) != 2 || !strings.HasPrefix(u.asked[0], "May the tool ask") || u.asked[1] != "Who are you?" {
			t.Errorf("asked %q", u.asked)
		}
	})
}

func TestReasonsForMissingAnswersAreReported(t *testing.T) {
	o := rules.Options{Policy: compiled(t, policy.Ask), Trusted: func(context.Context) bool { return true }}
	both(t, o, nil, func(t *testing.T, c *mcp.Client, prefix string, calls *atomic.Int32) {
		if got := said(c, prefix+"write", "x"); !strings.HasSuffix(got, "; the client cannot ask its user; the operator can add a rule that allows it") {
			t.Errorf("got %q", got)
		}
		if got := said(c, prefix+"read", "x"); got != "did x" { // as a trusted server claims that it only reads
			t.Errorf("got %q", got)
		}
		if calls.Load() != 1 {
			t.Errorf("%d calls", calls.Load())
		}
	})
}

func TestInTheShadowEverythingIsLetThrough(t *testing.T) {
	o := rules.Options{Policy: compiled(t, policy.Deny, policy.Rule{Effect: policy.Ask, Tool: "write"}), Shadow: true}
	both(t, o, nil, func(t *testing.T, c *mcp.Client, prefix string, _ *atomic.Int32) {
		if got := fmt.Sprint(listed(t, c)); got != "[ask drop read write]" {
			t.Errorf("listed: %s", got)
		}
		if got := said(c, prefix+"write", "x") + said(c, prefix+"drop", "x"); got != "did xdid x" {
			t.Errorf("got %q", got)
		}
	})
	for tool, want := range map[string]string{"drop": "deny", "write": "ask"} {
		if got := noted(t, o, tool, "x"); len(got) != 1 || got[0].Effect != want || got[0].Refused {
			t.Errorf("%s: noted %+v, want %s", tool, got, want)
		}
	}
}

func TestChangedRulesChangeLists(t *testing.T) {
	var current atomic.Pointer[policy.Policy]
	current.Store(compiled(t, policy.Allow)(nil))
	var calls atomic.Int32
	g := gateway.New(gateway.Options{})
	defer g.Close()
	dial := func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		return mcp.DialWith(ctx, stream.Pipe(files(&calls)), mcp.ClientOptions{Name: "files", Bridge: true})
	}
	m := rules.Middleware(rules.Options{Server: "files", Policy: func(context.Context) *policy.Policy { return current.Load() }})
	if err := g.Add("files", gateway.Upstream{Dial: dial, Middleware: []mcp.Middleware{m}}); err != nil {
		t.Fatal(err)
	}
	if err := g.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClientWith(g, mcp.ClientOptions{})
	if got := fmt.Sprint(listed(t, c)); got != "[ask drop read write]" {
		t.Errorf("listed: %s", got)
	}
	if tool, ok := g.Tool("files__drop"); !ok || tool.Server != "files" || tool.Name != "drop" || !strings.Contains(string(tool.Definition), "inputSchema") {
		t.Errorf("got %+v, %v", tool, ok)
	}
	current.Store(compiled(t, policy.Allow, policy.Rule{Effect: policy.Deny, Tool: "d*"})(nil))
	if err := g.Reread("files"); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(listed(t, c)); got != "[ask read write]" {
		t.Errorf("listed: %s", got)
	}
	if _, ok := g.Tool("files__drop"); ok {
		t.Error("a hidden tool has a name")
	}
}

// Rules hide values by user and by profile: arguments from the server, and results from the client.
func TestRulesHideByUser(t *testing.T) {
	s := mcp.NewServer("people", "1")
	type person struct {
		Name   string `json:"name"`
		Salary int    `json:"salary"`
		Note   string `json:"note"`
	}
	mcp.AddTool(s, "find", func(_ context.Context, in struct {
		Name string `json:"name"`
		Note string `json:"note,omitempty"`
	}) (person, error) {
		return person{in.Name, 7777, in.Note}, nil
	})
	p := compiled(t, policy.Allow,
		policy.Rule{Effect: policy.Allow, Tool: "find", When: "principal.subject != 'boss' && !('payroll' in principal.groups)", Redact: &policy.Redact{Results: []string{"/salary"}}},
		policy.Rule{Effect: policy.Allow, Tool: "find", When: "profile == 'public'", Redact: &policy.Redact{Arguments: []string{"/note"}}})
	type profile struct{}
	options := rules.Options{Server: "people", Policy: p, Profile: func(ctx context.Context) string { name, _ := ctx.Value(profile{}).(string); return name }}
	h := rules.Middleware(options)(s)
	options.Shadow = true
	shadow := rules.Middleware(options)(s)
	for _, test := range []struct {
		name, who, profile string
		h                  mcp.Handler
		want               string
	}{
		{"one who may see all", "boss", "", h, `{"name":"Ada","salary":7777,"note":"private"}`},
		{"another one", "bob", "", h, `{"name":"Ada","salary":"***","note":"private"}`},
		{"one of a group", "payroll/eve", "", h, `{"name":"Ada","salary":7777,"note":"private"}`},
		{"nobody known", "", "", h, `{"name":"Ada","salary":"***","note":"private"}`},
		{"in a profile", "boss", "public", h, `{"name":"Ada","salary":7777,"note":"***"}`},
		{"both", "bob", "public", h, `{"name":"Ada","salary":"***","note":"***"}`},
		{"in the shadow", "bob", "public", shadow, `{"name":"Ada","salary":7777,"note":"private"}`},
	} {
		req := mcp.NewRequest("tools/call", json.RawMessage(`{"name":"find","arguments":{"name":"Ada","note":"private"}}`))
		if test.who != "" {
			group, name := path.Split(test.who)
			req.Principal = &mcp.Principal{Subject: name, Groups: []string{strings.TrimSuffix(group, "/")}}
		}
		result, err := test.h.Handle(context.WithValue(t.Context(), profile{}, test.profile), req)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		body, err := result.Encoded()
		var got struct {
			StructuredContent json.RawMessage
			Content           []struct{ Text string }
		}
		if err := json.Unmarshal(body, &got); err != nil || len(got.Content) != 1 {
			t.Fatal(err, string(body))
		}
		if string(got.StructuredContent) != test.want || got.Content[0].Text != test.want || err != nil {
			t.Errorf("%s: got %s", test.name, body)
		}
	}
	for name, test := range map[string]struct {
		h    mcp.Handler
		want bool
	}{"with rules": {h, false}, "in the shadow": {shadow, true}} {
		for tool, err := range mcp.NewClient(test.h).Tools(t.Context()) {
			if err != nil || (tool.OutputSchema != nil) != test.want {
				t.Errorf("%s: the output schema is %s, %v", name, tool.OutputSchema, err)
			}
		}
	}
}
