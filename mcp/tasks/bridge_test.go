package tasks_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// hear opens the session's stream and returns the task notifications on it.
func (s *legacySession) hear(t *testing.T) <-chan string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Accept": {"text/event-stream"}, "Mcp-Protocol-Version": {"2025-11-25"}, "X-User": {s.user}, "Mcp-Session-Id": {s.id}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	heard := make(chan string, 100)
	go func() {
		defer resp.Body.Close()
		for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
			var m struct {
				Method string
				Params struct{ TaskID, Status, CreatedAt string }
			}
			data, is := strings.CutPrefix(lines.Text(), "data: ")
			if is && json.Unmarshal([]byte(data), &m) == nil && m.Method == "notifications/tasks/status" && m.Params.CreatedAt != "" {
				heard <- m.Params.TaskID + " " + m.Params.Status
			}
		}
	}()
	return heard
}

// Through any bridge a client of 2025-11-25 lists the tasks of its session and receives their
// notifications.
func TestLegacyClientsFollowTasksThroughABridge(t *testing.T) {
	url, _ := site(t, tasks.Options{}, nil)
	for name, url := range map[string]string{"of a server": url, "of a modern server": proxy(t, url, ""), "of a legacy server": proxy(t, url, "2025-11-25")} {
		t.Run(name, func(t *testing.T) {
			first, second := legacyClient(t, url, ""), legacyClient(t, url, "")
			heard, other := first.hear(t), second.hear(t)
			asks, fails := first.start(t, "greet"), first.start(t, "fail")
			within := time.After(10 * time.Second)
			want := map[string]bool{asks + " input_required": true, fails + " failed": true}
			for len(want) > 0 {
				select {
				case got := <-heard:
					if !want[got] {
						t.Errorf("it hears %s", got)
					}
					delete(want, got)
				case <-within:
					t.Fatalf("it hears nothing of %v", want)
				}
			}
			first.send(t, "tasks/cancel", fmt.Sprintf(`{"taskId":%q}`, asks))
			if got, pages := first.list(t); pages != 1 || !slices.Equal(got, []string{fails, asks}) {
				t.Errorf("it lists %v, want %s and %s", got, fails, asks)
			}
			if got, _ := second.list(t); len(got) != 0 {
				t.Errorf("another lists %v", got)
			}
			select {
			case got := <-other:
				t.Errorf("another hears %s", got)
			default:
			}
		})
	}
}

// A modern client that listens for tasks receives notifications of those of a legacy server, in the
// modern form.
func TestModernSubscriptionsCarryTasksOfALegacyServer(t *testing.T) {
	url, _ := site(t, tasks.Options{}, nil)
	c := dial(t, proxy(t, url, "2025-11-25"), "", mcp.ClientOptions{Capabilities: tasks.Capabilities()})
	_, task, err := tasks.Start(t.Context(), c, "greet", nil)
	if err != nil || task == nil {
		t.Fatal(task, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	heard := make(chan string, 100)
	knows := tasks.Capabilities()
	req := mcp.NewRequest("subscriptions/listen", fmt.Appendf(nil, `{"notifications":{"taskIds":[%q]}}`, task.ID))
	req.Meta.Capabilities, req.Peer = &knows, peer(func(method string, params json.RawMessage) { heard <- method + " " + string(params) })
	over := make(chan struct{})
	go func() { defer close(over); _, _ = c.Handle(ctx, req) }()
	if got := <-heard; !strings.Contains(got, fmt.Sprintf(`"taskIds":[%q]`, task.ID)) {
		t.Fatalf("acknowledged: %s", got)
	}
	task.Ask = func(context.Context, mcp.ServerRequest) (json.RawMessage, error) {
		return []byte(`{"action":"accept","content":{"name":"Ada"}}`), nil
	}
	if result, err := task.Wait(ctx); err != nil || result.Text() != "hello Ada" {
		t.Errorf("%v, %v", result, err)
	}
	for {
		select {
		case got := <-heard:
			if !strings.HasPrefix(got, "notifications/tasks ") || !strings.Contains(got, task.ID) {
				t.Errorf("heard %s", got)
			}
			if !strings.Contains(got, `"status":"completed"`) {
				continue
			}
			if !strings.Contains(got, `"result":{"content":[{"type":"text","text":"hello Ada"}]`) || !strings.Contains(got, `"ttlMs":`) {
				t.Errorf("completed: %s", got)
			}
			cancel()
			<-over
			return
		case <-ctx.Done():
			t.Fatal("it does not hear the end")
		}
	}
}
