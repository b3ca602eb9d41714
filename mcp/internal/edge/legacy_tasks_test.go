package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
)

// A worker is a Handler whose calls are all tasks, with states that the test sets.
type worker struct {
	listens bool // notifications of tasks are supported

	mu      sync.Mutex
	tasks   map[string]string // members after the id; "stalled" gets no response
	begun   int
	asked   int // concurrent requests
	most    int // maximum of asked
	subs    map[string]mcp.Peer
	message string
}

func (w *worker) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	id, _ := jsonrpc.Unquote(jsonrpc.Get(req.Params, "taskId"))
	switch req.Method {
	case "server/discover":
		return mcp.Result{JSON: []byte(`{"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`)}, nil
	case "tools/call":
		w.mu.Lock()
		defer w.mu.Unlock()
		w.begun++
		return mcp.Result{Type: "task", JSON: w.task(fmt.Sprint("t", w.begun), "working")}, nil
	case "tasks/get":
		w.mu.Lock()
		state := w.tasks[id]
		w.asked++
		w.most = max(w.most, w.asked)
		w.mu.Unlock()
		defer func() { w.mu.Lock(); w.asked--; w.mu.Unlock() }()
		switch state {
		case "stalled":
			<-ctx.Done()
			return mcp.Result{}, ctx.Err()
		case "gone":
			return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "there is no task %q", id)
		case "":
			state = "working"
		}
		time.Sleep(time.Millisecond)
		return mcp.Result{JSON: w.task(id, state)}, nil
	case "subscriptions/listen":
		ids := jsonrpc.Get(jsonrpc.Get(req.Params, "notifications"), "taskIds")
		if ids != nil && w.listens {
			var id []string
			_ = json.Unmarshal(ids, &id)
			w.mu.Lock()
			w.subs[id[0]] = req.Peer
			w.mu.Unlock()
			defer func() { w.mu.Lock(); delete(w.subs, id[0]); w.mu.Unlock() }()
			_ = req.Peer.Notify(ctx, "notifications/subscriptions/acknowledged", fmt.Appendf(nil, `{"notifications":{"taskIds":%s}}`, ids))
		} else {
			_ = req.Peer.Notify(ctx, "notifications/subscriptions/acknowledged", []byte(`{"notifications":{}}`))
		}
		<-ctx.Done()
		return mcp.Result{}, ctx.Err()
	}
	return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "unknown method %q", req.Method)
}

func (w *worker) task(id, state string) json.RawMessage {
	return fmt.Appendf(nil, `{"taskId":%q,"status":%q,"statusMessage":%q,"createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":60000}`, id, state, w.message)
}

// listened returns the tasks with a listen request.
func (w *worker) listened() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	ids := []string{}
	for id := range w.subs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (w *worker) notify(t *testing.T, of, id, state string) {
	t.Helper()
	w.mu.Lock()
	peer := w.subs[of]
	w.mu.Unlock()
	if peer == nil {
		t.Fatalf("nobody listens for %s", of)
	}
	if err := peer.Notify(t.Context(), "notifications/tasks", w.task(id, state)); err != nil {
		t.Error(err)
	}
}

func (w *worker) session(t *testing.T) *edge.Session {
	t.Helper()
	session, reply := newEdge(t, w).Initialize(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), edge.From{})
	if session == nil {
		t.Fatalf("%s", reply.Message)
	}
	return session
}

func send(t *testing.T, session *edge.Session, method, params string) string {
	t.Helper()
	m := parse(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
	return string(session.Request(t.Context(), nil, m, edge.From{Out: deaf{}}).Message)
}

func beginTasks(t *testing.T, session *edge.Session, n int) {
	t.Helper()
	for range n {
		if got := send(t, session, "tools/call", `{"name":"x","task":{}}`); !strings.Contains(got, `"task":{"taskId":`) {
			t.Fatalf("a call: %s", got)
		}
	}
}

// list returns the ids and statuses on all pages.
func list(t *testing.T, session *edge.Session) (tasks []string, sizes []int) {
	t.Helper()
	for params := `{}`; ; {
		var page struct {
			Result struct {
				Tasks      []struct{ TaskID, Status string }
				NextCursor *string
			}
			Error *mcp.Error
		}
		got := send(t, session, "tasks/list", params)
		if err := json.Unmarshal([]byte(got), &page); err != nil || page.Error != nil {
			t.Fatalf("%s, %v", got, err)
		}
		for _, task := range page.Result.Tasks {
			tasks = append(tasks, task.TaskID+" "+task.Status)
		}
		sizes = append(sizes, len(page.Result.Tasks))
		if page.Result.NextCursor == nil {
			return tasks, sizes
		}
		params = fmt.Sprintf(`{"cursor":%q}`, *page.Result.NextCursor)
	}
}

func TestASessionListsItsTasksInPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{tasks: map[string]string{"t119": "completed", "t3": "gone"}}
		session := w.session(t)
		beginTasks(t, session, 120)
		got, sizes := list(t, session)
		if fmt.Sprint(sizes) != "[50 50 19]" || got[0] != "t120 working" || got[1] != "t119 completed" || got[118] != "t1 working" || slices.Contains(got, "t3 working") {
			t.Errorf("pages of %v: %v", sizes, got)
		}
		if w.most != 8 {
			t.Errorf("%d tasks were looked at at a time, want 8", w.most)
		}
		beginTasks(t, session, 200)
		if got, _ := list(t, session); len(got) != 256 || got[0] != "t320 working" || slices.Contains(got, "t119 completed") {
			t.Errorf("of 319 tasks %d are listed: %v", len(got), got)
		}
		if other, _ := list(t, w.session(t)); len(other) != 0 {
			t.Errorf("another session lists %v", other)
		}
	})
}

// A task without a response does not delay the others and is listed in its last state.
func TestAListOfTasksDoesNotWaitForOneThatIsNotAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{tasks: map[string]string{}}
		session := w.session(t)
		beginTasks(t, session, 40)
		for i := range 20 {
			w.tasks[fmt.Sprint("t", i+10)] = "stalled"
		}
		w.tasks["t30"], w.tasks["t40"] = "failed", "completed"
		began := time.Now()
		got, _ := list(t, session)
		if len(got) != 40 || got[0] != "t40 completed" || got[10] != "t30 failed" || got[20] != "t20 working" {
			t.Errorf("%v", got)
		}
		if took := time.Since(began); took < 5*time.Second || took > 6*time.Second {
			t.Errorf("the list took %v, want 5s", took)
		}
	})
}

func TestTasksOfASessionAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{tasks: map[string]string{}, message: strings.Repeat("m", 1<<20)}
		session := w.session(t)
		heap := func() int64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		beginTasks(t, session, 100)
		if kept := heap() - before; kept > 1<<20 {
			t.Errorf("%d KiB are kept", kept>>10)
		}
		for i := range 100 {
			w.tasks[fmt.Sprint("t", i+1)] = "stalled"
		}
		if got, _ := list(t, session); len(got) != 100 {
			t.Errorf("%d tasks are listed, want 100", len(got))
		}
	})
}

func TestStreamsCarryTasksOfTheirClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{listens: true, tasks: map[string]string{}, subs: map[string]mcp.Peer{}}
		session := w.session(t)
		beginTasks(t, session, 2)
		time.Sleep(time.Second)
		if got := w.listened(); len(got) != 0 {
			t.Errorf("without a stream it listens for %v", got)
		}
		client, end := listening(t, session)
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		beginTasks(t, session, 1)
		send(t, session, "tasks/get", `{"taskId":"t7"}`) // perhaps of an earlier session
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if got := fmt.Sprint(w.listened()); got != "[t1 t2 t3 t7]" {
			t.Errorf("it listens for %s", got)
		}
		w.notify(t, "t1", "t1", "working")        // known already
		w.notify(t, "t1", "t2", "completed")      // another task
		w.notify(t, "t2", "t2", "input_required") // 1
		w.notify(t, "t2", "t2", "input_required")
		w.notify(t, "t3", "t3", "completed") // 2, and it is over
		synctest.Wait()
		if got := client.String(); got != "tasks/status tasks/status" {
			t.Errorf("it hears %s", got)
		}
		if got := fmt.Sprint(w.listened()); got != "[t1 t2 t7]" {
			t.Errorf("when one is over it listens for %s", got)
		}
		end()
		synctest.Wait()
		if got := w.listened(); len(got) != 0 {
			t.Errorf("without a stream it listens for %v", got)
		}
		client, end = listening(t, session)
		defer end()
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		w.notify(t, "t2", "t2", "completed")
		if got := client.String(); got != "tasks/status" || fmt.Sprint(w.listened()) != "[t1 t2 t7]" && fmt.Sprint(w.listened()) != "[t1 t7]" {
			t.Errorf("on the next stream it hears %q, and listens for %v", got, w.listened())
		}
	})
}

// A server that agrees to no subscription to a task gets only one request for it.
func TestAServerThatDoesNotNotifyOfTasksIsAskedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &worker{tasks: map[string]string{}}
		var listens atomic.Int32
		counted := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method == "subscriptions/listen" && strings.Contains(string(req.Params), "taskIds") {
				listens.Add(1)
			}
			return w.Handle(ctx, req)
		})
		session, _ := newEdge(t, counted).Initialize(t.Context(), nil, parse(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`), edge.From{})
		_, end := listening(t, session)
		defer end()
		beginTasks(t, session, 1)
		for range 5 {
			send(t, session, "tasks/get", `{"taskId":"t1"}`)
			time.Sleep(time.Second)
		}
		if got := listens.Load(); got != 1 {
			t.Errorf("it was asked %d times, want once", got)
		}
	})
}
