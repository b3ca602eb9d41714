package tasks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

type form struct {
	Name string `json:"name"`
}

// longServer returns a server with tools that run as tasks. ended receives the reasons why waiting
// tools ended.
func longServer(ended chan<- error) *mcp.Server {
	s := mcp.NewServer("long", "1")
	mcp.AddTool(s, "greet", func(ctx context.Context, _ struct{}) (string, error) {
		who, err := mcp.Elicit[form](ctx, "Who are you?")
		if err != nil {
			return "", err
		}
		if err := mcp.Progress(ctx, 1, 2, "nearly done"); err != nil {
			return "", err
		}
		time.Sleep(20 * time.Millisecond)
		return "hello " + who.Name, nil
	})
	mcp.AddTool(s, "both", func(ctx context.Context, _ struct{}) (string, error) {
		var one, two form
		err := mcp.Parallel(
			func() (err error) { one, err = mcp.Elicit[form](ctx, "One?"); return err },
			func() (err error) { two, err = mcp.Elicit[form](ctx, "Two?"); return err },
		)
		return one.Name + two.Name, err
	})
	mcp.AddTool(s, "later", func(ctx context.Context, _ struct{}) (string, error) {
		who, err := mcp.Elicit[form](ctx, "Before?")
		if err != nil {
			return "", err
		}
		isTask, err := tasks.Begin(ctx)
		return fmt.Sprint(who.Name, " ", isTask), err
	})
	mcp.AddTool(s, "fail", func(context.Context, struct{}) (string, error) { return "", errors.New("it did not work") })
	mcp.AddTool(s, "break", func(context.Context, struct{}) (string, error) { return "", mcp.Errorf(4711, "broken") })
	mcp.AddTool(s, "panic", func(context.Context, struct{}) (string, error) { panic("as it should") })
	mcp.AddTool(s, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", context.Cause(ctx)
	})
	mcp.AddTool(s, "required", func(context.Context, struct{}) (string, error) { return "done", nil })
	return s
}

// site serves longServer over HTTP to the user that a header names.
func site(t *testing.T, o tasks.Options, ended chan<- error) (url string, long *tasks.Tasks) {
	t.Helper()
	o.Tools = map[string]tasks.Tool{"[^l]*": {}, "later": {Later: true}, "required": {Required: true}}
	o.Poll = 10 * time.Millisecond
	long, err := tasks.New(o)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := streamable.HandlerWith(long.Middleware()(longServer(ended)), streamable.Options{Principal: func(r *http.Request) (*mcp.Principal, error) {
		if user := r.Header.Get("X-User"); user != "" {
			return &mcp.Principal{Subject: user}, nil
		}
		return nil, nil
	}})
	server := httptest.NewServer(endpoint)
	t.Cleanup(func() { long.Close(); server.Close(); endpoint.Close() })
	return server.URL, long
}

// proxy serves a bridge in front of a server, which it speaks to in one revision.
func proxy(t *testing.T, url, revision string) string {
	t.Helper()
	behind := dial(t, url, "", mcp.ClientOptions{Bridge: true, Revision: revision})
	endpoint := streamable.Handler(behind)
	server := httptest.NewServer(endpoint)
	t.Cleanup(func() { server.Close(); endpoint.Close() })
	return server.URL
}

func dial(t *testing.T, url, user string, o mcp.ClientOptions) *mcp.Client {
	t.Helper()
	o.OnElicit = func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		name := map[string]string{"Who are you?": "Ada", "One?": "1", "Two?": "2", "Before?": "Ada"}[req.Message]
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: []byte(`{"name":"` + name + `"}`)}, nil
	}
	c, err := mcp.DialWith(t.Context(), streamable.ClientWith(url, streamable.ClientOptions{Header: http.Header{"X-User": {user}}}), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A caller of a tool gets its result, with or without support for tasks.
func TestACallGivesTheSameWithAndWithoutTasks(t *testing.T) {
	url, _ := site(t, tasks.Options{}, nil)
	modern, legacy := proxy(t, url, ""), proxy(t, url, "2025-11-25")
	for name, test := range map[string]struct {
		url, revision string
		isTask        bool
	}{
		"a client that waits":                             {url, "", true},
		"one that knows no tasks":                         {url, "", false},
		"a legacy one":                                    {url, "2025-11-25", false},
		"a legacy one that waits":                         {url, "2025-11-25", true},
		"an older one that waits":                         {url, "2025-06-18", false},
		"a modern client of a modern proxy":               {modern, "", true},
		"a modern client of a legacy server":              {legacy, "", true},
		"a legacy client of a modern server":              {modern, "2025-11-25", true},
		"a legacy client of a legacy server":              {legacy, "2025-11-25", true},
		"a client of a legacy server that knows no tasks": {legacy, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			o, isTask := mcp.ClientOptions{Revision: test.revision}, test.isTask
			if isTask || test.revision == "2025-06-18" {
				o.Middleware = []mcp.Middleware{tasks.Wait(tasks.WaitOptions{})}
			}
			c := dial(t, test.url, "", o)
			for tool, want := range map[string]string{"greet": "hello Ada", "both": "12", "later": fmt.Sprint("Ada ", isTask)} {
				if got, err := mcp.Call[string](t.Context(), c, tool, struct{}{}); got != want || err != nil {
					t.Errorf("%s: %q, %v", tool, got, err)
				}
			}
			result, err := c.CallTool(t.Context(), "fail", struct{}{})
			if err != nil || !result.IsError || !strings.Contains(result.Text(), "it did not work") {
				t.Errorf("fail: %+v, %v", result, err)
			}
			for tool, code := range map[string]int{"break": 4711, "panic": mcp.CodeInternalError} {
				if _, err := c.CallTool(t.Context(), tool, struct{}{}); !errors.Is(err, &mcp.Error{Code: code}) {
					t.Errorf("%s: %v", tool, err)
				}
			}
			got, err := mcp.Call[string](t.Context(), c, "required", struct{}{})
			if isTask && (got != "done" || err != nil) || !isTask && err == nil {
				t.Errorf("a tool that needs tasks: %q, %v", got, err)
			}
		})
	}
}

func TestATaskIsBegunLookedAtAndTakenUpAgain(t *testing.T) {
	url, _ := site(t, tasks.Options{}, nil)
	knows := mcp.ClientOptions{Capabilities: tasks.Capabilities()}
	first := dial(t, url, "", knows)
	result, task, err := tasks.Start(t.Context(), first, "greet", nil)
	if err != nil || task == nil {
		t.Fatal(result, err)
	}
	for {
		status, _, err := task.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if status == "input_required" {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	first.Close() // the program ends, and another one continues
	task = tasks.Resume(dial(t, url, "", knows), task.ID)
	if _, err := task.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "Ask is nil") {
		t.Errorf("a task that asks nobody: %v", err)
	}
	var messages []string
	task.OnMessage = func(text string) { messages = append(messages, text) }
	task.Ask = func(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
		if q.Method != "elicitation/create" || !strings.Contains(string(q.Params), "Who are you?") {
			t.Errorf("asked %s %s", q.Method, q.Params)
		}
		return []byte(`{"action":"accept","content":{"name":"Eve"}}`), nil
	}
	if result, err = task.Wait(t.Context()); err != nil || result.Text() != "hello Eve" {
		t.Errorf("%+v, %v", result, err)
	}
	if len(messages) == 0 || messages[0] != "nearly done" {
		t.Errorf("messages: %q", messages)
	}
	if result, err = task.Wait(t.Context()); err != nil || result.Text() != "hello Eve" {
		t.Errorf("again: %+v, %v", result, err)
	}
	if err := task.Cancel(t.Context()); err != nil {
		t.Errorf("cancel what is over: %v", err)
	}
	result, task, err = tasks.Start(t.Context(), dial(t, url, "", knows), "later", nil)
	if err != nil || task == nil {
		t.Fatalf("a tool that asks first: %v, %v", result, err)
	}
	if result, err = task.Wait(t.Context()); err != nil || result.Text() != "Ada true" {
		t.Errorf("a tool that asks first: %+v, %v", result, err)
	}
}

func TestATaskEndsWithItsCallAndItsTimeAndItsServer(t *testing.T) {
	ended := make(chan error, 1)
	url, long := site(t, tasks.Options{}, ended)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	givesUp := func(next mcp.Handler) mcp.Handler { // once the task runs
		return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tasks/get" {
				cancel(context.DeadlineExceeded)
			}
			return next.Handle(ctx, req)
		})
	}
	c := dial(t, url, "", mcp.ClientOptions{Middleware: []mcp.Middleware{tasks.Wait(tasks.WaitOptions{}), givesUp}})
	if _, err := c.CallTool(ctx, "wait", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call that is given up: %v", err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "cancelled the task") {
		t.Errorf("the tool ended with %v", err)
	}
	knows := dial(t, url, "", mcp.ClientOptions{Capabilities: tasks.Capabilities()})
	_, task, err := tasks.Start(t.Context(), knows, "wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := task.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	<-ended
	if _, err := task.Wait(t.Context()); !errors.Is(err, tasks.ErrCancelled) {
		t.Errorf("a task that was cancelled: %v", err)
	}
	short, _ := site(t, tasks.Options{TTL: 50 * time.Millisecond}, ended)
	_, task, err = tasks.Start(t.Context(), dial(t, short, "", mcp.ClientOptions{Capabilities: tasks.Capabilities()}), "wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	if _, err := task.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "exceeded its time limit") {
		t.Errorf("a task that takes too long: %v", err)
	}
	_, task, err = tasks.Start(t.Context(), knows, "wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	long.Close()
	<-ended
	if _, err := task.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "the server was stopped") {
		t.Errorf("a task of a server that ended: %v", err)
	}
	if _, _, err := tasks.Start(t.Context(), knows, "wait", nil); err == nil {
		t.Error("a task began after the end")
	}
}

func TestATaskIsItsUsersOnly(t *testing.T) {
	ended := make(chan error, 1)
	url, _ := site(t, tasks.Options{MaxRunning: 1}, ended)
	o := mcp.ClientOptions{Capabilities: tasks.Capabilities()}
	ada := dial(t, url, "ada", o)
	_, task, err := tasks.Start(t.Context(), ada, "wait", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{"eve", ""} {
		other := tasks.Resume(dial(t, url, user, o), task.ID)
		if _, _, err := other.Status(t.Context()); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
			t.Errorf("%q sees it: %v", user, err)
		}
		if err := other.Cancel(t.Context()); !errors.Is(err, &mcp.Error{Code: mcp.CodeInvalidParams}) {
			t.Errorf("%q cancels it: %v", user, err)
		}
	}
	if _, _, err := tasks.Start(t.Context(), ada, "wait", nil); err == nil || !strings.Contains(err.Error(), "1 tasks are running") {
		t.Errorf("one too many: %v", err)
	}
	if err := task.Cancel(t.Context()); err != nil {
		t.Error(err)
	}
	<-ended
}

// A call that waits for a task of another server, like a gateway's, is continued by another
// process.
func TestATaskOfAnotherServerIsWaitedForByTheNextProcess(t *testing.T) {
	url, _ := site(t, tasks.Options{}, nil)
	store := state.NewMemory(0)
	calls := 0
	front := func() (*tasks.Tasks, mcp.Handler) {
		behind := dial(t, url, "", mcp.ClientOptions{Bridge: true})
		long, err := tasks.New(tasks.Options{Store: store, Others: &tasks.Tool{Later: true}, Poll: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		waiting := tasks.Wait(tasks.WaitOptions{OnTask: func(ctx context.Context, _, _ string, over bool) {
			if isTask, err := tasks.Begin(ctx); !over && (!isTask || err != nil) {
				t.Errorf("begin: %v, %v", isTask, err)
			}
		}})
		counted := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "tools/call" {
				calls++
			}
			return behind.Handle(ctx, req)
		})
		return long, long.Middleware()(waiting(counted))
	}
	knows := mcp.ClientOptions{Capabilities: tasks.Capabilities(), OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) { return nil, nil }}
	first, h := front()
	_, task, err := tasks.Start(t.Context(), mcp.NewClientWith(h, knows), "greet", nil)
	if err != nil || task == nil {
		t.Fatal(task, err)
	}
	first.Close() // with its task, which stays as it was
	second, h := front()
	defer second.Close()
	task = tasks.Resume(mcp.NewClientWith(h, knows), task.ID)
	task.Ask = func(_ context.Context, q mcp.ServerRequest) (json.RawMessage, error) {
		return []byte(`{"action":"accept","content":{"name":"Eve"}}`), nil
	}
	result, err := task.Wait(t.Context())
	if err != nil || result.Text() != "hello Eve" || calls != 1 {
		t.Errorf("%+v, %v, the tool was called %d times", result, err, calls)
	}
}

func TestACallThatLastsBecomesATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer("slow", "1")
		mcp.AddTool(s, "slow", func(ctx context.Context, _ struct{}) (string, error) {
			time.Sleep(time.Minute)
			return "done", nil
		})
		mcp.AddTool(s, "fast", func(context.Context, struct{}) (string, error) { return "at once", nil })
		long, err := tasks.New(tasks.Options{Others: &tasks.Tool{Later: true, After: 30 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		defer long.Close()
		c := mcp.NewClientWith(long.Middleware()(s), mcp.ClientOptions{Capabilities: tasks.Capabilities()})
		if result, task, err := tasks.Start(t.Context(), c, "fast", nil); err != nil || task != nil || result.Text() != "at once" {
			t.Errorf("a fast call: %v, %v, %v", result, task, err)
		}
		before := time.Now()
		_, task, err := tasks.Start(t.Context(), c, "slow", nil)
		if err != nil || task == nil || time.Since(before) != 30*time.Second {
			t.Fatalf("a slow call: %v, %v, after %v", task, err, time.Since(before))
		}
		if result, err := task.Wait(t.Context()); err != nil || result.Text() != "done" {
			t.Errorf("%v, %v", result, err)
		}
	})
}

func TestTheTimeAfterWhichACallBecomesATaskIsKeptForAPattern(t *testing.T) {
	for name, tools := range map[string]map[string]tasks.Tool{
		"one pattern fits":           {"sl*": {Later: true, After: 30 * time.Second}},
		"the shortest of two counts": {"sl*": {Later: true, After: time.Minute}, "*ow": {Later: true, After: 30 * time.Second}},
		"one that says none":         {"sl*": {Later: true, After: 30 * time.Second}, "*ow": {Later: true}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := mcp.NewServer("work", "1.0")
				mcp.AddTool(s, "slow", func(ctx context.Context, _ struct{}) (string, error) {
					time.Sleep(time.Hour / 2)
					return "done", nil
				})
				long, err := tasks.New(tasks.Options{Tools: tools})
				if err != nil {
					t.Fatal(err)
				}
				defer long.Close()
				c := mcp.NewClientWith(long.Middleware()(s), mcp.ClientOptions{Capabilities: tasks.Capabilities()})
				before := time.Now()
				_, task, err := tasks.Start(t.Context(), c, "slow", nil)
				if err != nil || task == nil || time.Since(before) != 30*time.Second {
					t.Fatalf("%v, %v, after %v", task, err, time.Since(before))
				}
			})
		})
	}
}

func TestSubscriptionsCarryRequestsAndEndsOfTasks(t *testing.T) {
	url, _ := site(t, tasks.Options{}, nil)
	c := dial(t, url, "ada", mcp.ClientOptions{Capabilities: tasks.Capabilities()})
	_, task, err := tasks.Start(t.Context(), c, "greet", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	heard := make(chan string, 10)
	listen := func(c *mcp.Client, params string, capabilities mcp.ClientCapabilities, heard chan<- string) error {
		req := mcp.NewRequest("subscriptions/listen", []byte(params))
		req.Meta.Capabilities, req.Peer = &capabilities, peer(func(method string, params json.RawMessage) { heard <- method + " " + string(params) })
		_, err := c.Handle(ctx, req)
		return err
	}
	params := fmt.Sprintf(`{"notifications":{"taskIds":[%q,"none"]}}`, task.ID)
	go listen(c, params, tasks.Capabilities(), heard)
	if got := <-heard; !strings.HasPrefix(got, "notifications/subscriptions/acknowledged ") || !strings.Contains(got, fmt.Sprintf(`"taskIds":[%q]`, task.ID)) {
		t.Errorf("acknowledged: %s", got)
	}
	asked := false
	for got := range heard {
		if !strings.HasPrefix(got, "notifications/tasks ") || !strings.Contains(got, task.ID) {
			t.Fatalf("heard %s", got)
		}
		if strings.Contains(got, `"status":"input_required"`) && strings.Contains(got, "Who are you?") && !asked {
			asked = true
			task.Ask = func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
				return []byte(`{"action":"accept","content":{"name":"Ada"}}`), nil
			}
			go task.Wait(ctx)
		}
		if strings.Contains(got, `"status":"completed"`) {
			if !asked || !strings.Contains(got, "hello Ada") {
				t.Errorf("asked %v, completed: %s", asked, got)
			}
			break
		}
	}
	if err := listen(c, params, mcp.ClientCapabilities{}, nil); !errors.Is(err, &mcp.Error{Code: mcp.CodeMissingCapability}) {
		t.Errorf("a client that knows no tasks listens for one: %v", err)
	}
	others := make(chan string, 10)
	go listen(dial(t, url, "eve", mcp.ClientOptions{Capabilities: tasks.Capabilities()}), params, tasks.Capabilities(), others)
	if got := <-others; !strings.Contains(got, `"taskIds":[]`) {
		t.Errorf("another user listens: %s", got)
	}
}

// A peer receives notifications.
type peer func(method string, params json.RawMessage)

func (p peer) Notify(_ context.Context, method string, params json.RawMessage) error {
	p(method, params)
	return nil
}

func (p peer) Ask(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
	return nil, errors.New("nobody")
}
