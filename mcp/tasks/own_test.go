package tasks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// A legacySession is a session of 2025-11-25 whose messages the test writes.
type legacySession struct{ url, user, id string }

func legacyClient(t *testing.T, url, user string) *legacySession {
	t.Helper()
	s := &legacySession{url: url, user: user}
	got := s.send(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"c","version":"1"}}`)
	if !strings.Contains(got, `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`) {
		t.Fatalf("initialize: %s", got)
	}
	return s
}

// send sends a request and returns the response.
func (s *legacySession) send(t *testing.T, method, params string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"}, "X-User": {s.user}}
	if s.id != "" {
		req.Header.Set("Mcp-Session-Id", s.id)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		s.id = id
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// start calls a tool and returns the id of its task.
func (s *legacySession) start(t *testing.T, tool string) string {
	t.Helper()
	var begun struct {
		Result struct{ Task struct{ TaskID string } }
	}
	got := s.send(t, "tools/call", fmt.Sprintf(`{"name":%q,"task":{}}`, tool))
	if err := json.Unmarshal([]byte(got), &begun); err != nil || begun.Result.Task.TaskID == "" {
		t.Fatalf("%s: %s, %v", tool, got, err)
	}
	return begun.Result.Task.TaskID
}

// list returns the ids on all pages and the number of pages.
func (s *legacySession) list(t *testing.T) (ids []string, pages int) {
	t.Helper()
	for params := `{}`; ; pages++ {
		var page struct {
			Result struct {
				Tasks      []struct{ TaskID, Status, CreatedAt string }
				NextCursor string
			}
		}
		got := s.send(t, "tasks/list", params)
		if err := json.Unmarshal([]byte(got), &page); err != nil || page.Result.Tasks == nil {
			t.Fatalf("tasks/list: %s, %v", got, err)
		}
		for _, task := range page.Result.Tasks {
			ids = append(ids, task.TaskID)
		}
		if page.Result.NextCursor == "" {
			return ids, pages + 1
		}
		params = fmt.Sprintf(`{"cursor":%q}`, page.Result.NextCursor)
	}
}

func TestAListHoldsTheTasksOfItsUserInAllSessions(t *testing.T) {
	url, _ := site(t, tasks.Options{}, nil)
	first, second := legacyClient(t, url, "ada"), legacyClient(t, url, "ada")
	eve, nobody := legacyClient(t, url, "eve"), legacyClient(t, url, "")
	want := []string{}
	for i := range 120 {
		s := first
		if i%2 == 1 {
			s = second
		}
		want = append(want, s.start(t, "greet"))
	}
	slices.Reverse(want)
	for name, s := range map[string]*legacySession{"the first session": first, "the second": second, "a new one": legacyClient(t, url, "ada")} {
		if got, pages := s.list(t); pages != 3 || !slices.Equal(got, want) {
			t.Errorf("%s lists, on %d pages, %d tasks: %v, want %v", name, pages, len(got), got, want)
		}
	}
	hers, of := eve.start(t, "fail"), nobody.start(t, "fail")
	if got, _ := eve.list(t); !slices.Equal(got, []string{hers}) {
		t.Errorf("another user lists %v, want %s", got, hers)
	}
	if got, _ := nobody.list(t); !slices.Equal(got, []string{of}) {
		t.Errorf("one who is not known lists %v, want %s", got, of)
	}
	if got, _ := legacyClient(t, url, "").list(t); len(got) != 0 {
		t.Errorf("another who is not known lists %v", got)
	}

	// A cursor of another user returns none of that user's tasks, and a made-up one returns
	// nothing.
	var page struct{ Result struct{ NextCursor string } }
	if err := json.Unmarshal([]byte(first.send(t, "tasks/list", `{}`)), &page); err != nil || page.Result.NextCursor == "" {
		t.Fatal(page, err)
	}
	if got := eve.send(t, "tasks/list", fmt.Sprintf(`{"cursor":%q}`, page.Result.NextCursor)); slices.ContainsFunc(want, func(id string) bool { return strings.Contains(got, id) }) {
		t.Errorf("with a cursor of Ada's, Eve lists %s", got)
	}
	for _, cursor := range []string{`""`, `"x"`, `7`, `"../../task/"`, `"7fffffffffffffff-"`, `"7fffffffffffffff-` + strings.Repeat("x", 600) + `"`} {
		if got := first.send(t, "tasks/list", `{"cursor":`+cursor+`}`); !strings.Contains(got, `"code":-32602`) {
			t.Errorf("the cursor %s: %.200s", cursor, got)
		}
	}
}

// asking adds a user to the requests for a Handler, or none if user is empty.
func asking(h mcp.Handler, user string) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		other := *req
		if other.Principal = nil; user != "" {
			other.Principal = &mcp.Principal{Subject: user}
		}
		return h.Handle(ctx, &other)
	})
}

// listed returns the ids and statuses that a Handler lists for a user.
func listed(ctx context.Context, h mcp.Handler, user string) (string, error) {
	c := mcp.NewClientWith(asking(h, user), mcp.ClientOptions{Capabilities: tasks.Capabilities()})
	result, err := c.Do(ctx, "tasks/list", nil)
	if err != nil {
		return "", err
	}
	body, err := result.Encoded()
	if err != nil {
		return "", err
	}
	var page struct {
		Tasks []struct{ TaskID, Status string }
	}
	if err := json.Unmarshal(body, &page); err != nil {
		return "", err
	}
	text := []string{}
	for _, task := range page.Tasks {
		text = append(text, task.TaskID+" "+task.Status)
	}
	return strings.Join(text, ", "), nil
}

// A task is listed as long as it can be read, even if its TTL grew or another process left it.
func TestATaskIsListedForAsLongAsItCanBeGot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := state.NewMemory(0)
		ended := make(chan error, 10)
		open := func() (*tasks.Tasks, mcp.Handler) {
			long, err := tasks.New(tasks.Options{Store: store, TTL: time.Minute, Tools: map[string]tasks.Tool{"*": {}}})
			if err != nil {
				t.Fatal(err)
			}
			return long, long.Middleware()(longServer(ended))
		}
		first, h := open()
		_, task, err := tasks.Start(t.Context(), mcp.NewClientWith(asking(h, "ada"), mcp.ClientOptions{Capabilities: tasks.Capabilities()}), "wait", nil)
		if err != nil {
			t.Fatal(err)
		}
		see := func(when string, h mcp.Handler, want string) {
			t.Helper()
			if got, err := listed(t.Context(), h, "ada"); err != nil || got != want {
				t.Errorf("%s: %q, %v, want %q", when, got, err, want)
			}
		}
		see("while it runs", h, task.ID+" working")
		time.Sleep(5 * time.Minute) // it was stopped after a minute
		see("behind its time", h, task.ID+" failed")
		first.Close()
		second, h := open()
		defer second.Close()
		see("in another process", h, task.ID+" failed")
		time.Sleep(10 * time.Minute)
		see("long after it ended", h, "")
	})
}

func TestListsRequirePartAndUser(t *testing.T) {
	long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"fail": {}}})
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	s := longServer(nil)
	a, b := long.Part("a")(s), long.Part("b")(s)
	_, task, err := tasks.Start(t.Context(), mcp.NewClientWith(asking(a, "ada"), mcp.ClientOptions{Capabilities: tasks.Capabilities()}), "fail", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := task.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, err := listed(t.Context(), a, "ada"); err != nil || got != task.ID+" completed" {
		t.Errorf("its part: %q, %v", got, err)
	}
	if got, err := listed(t.Context(), b, "ada"); err != nil || got != "" {
		t.Errorf("another part: %q, %v", got, err)
	}
	if got, err := listed(t.Context(), a, ""); !errors.Is(err, &mcp.Error{Code: mcp.CodeMethodNotFound}) {
		t.Errorf("one who is not known: %q, %v", got, err)
	}
	knowsNone := mcp.NewClient(asking(a, "ada"))
	if _, err := knowsNone.Do(t.Context(), "tasks/list", nil); !errors.Is(err, &mcp.Error{Code: mcp.CodeMissingCapability}) {
		t.Errorf("one who knows no tasks: %v", err)
	}
}

// Without sessions calls never become tasks of 2025-11-25, and the server does not declare tasks.
func TestAServerWithoutSessionsDeclaresNoTasksToLegacyClients(t *testing.T) {
	long, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"*": {}}})
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	endpoint := streamable.HandlerWith(long.Middleware()(longServer(nil)), streamable.Options{Stateless: true})
	server := httptest.NewServer(endpoint)
	defer func() { server.Close(); endpoint.Close() }()
	s := &legacySession{url: server.URL}
	if got := s.send(t, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`); !strings.Contains(got, `"capabilities":{"tools"`) || strings.Contains(got, "tasks") || strings.Contains(got, "extensions") {
		t.Errorf("initialize: %s", got)
	}
	if got := s.send(t, "tools/call", `{"name":"fail","task":{}}`); !strings.Contains(got, `"content":[`) {
		t.Errorf("a call: %s", got)
	}
	if got := s.send(t, "tasks/list", `{}`); !strings.Contains(got, `"error":{"code":`) {
		t.Errorf("a list: %s", got)
	}
}
