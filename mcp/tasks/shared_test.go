package tasks_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// A replica serves longServer as one of several whose sessions and tasks are shared.
type replica struct {
	url  string
	long *tasks.Tasks
}

// replicasOf returns replicas that share a store, and whose calls become tasks by themselves only
// after an hour.
func replicasOf(t *testing.T, n int, store state.Store) (all []replica) {
	t.Helper()
	for range n {
		long, err := tasks.New(tasks.Options{Store: store, Poll: 10 * time.Millisecond, Others: &tasks.Tool{Later: true, After: time.Hour}})
		if err != nil {
			t.Fatal(err)
		}
		endpoint := streamable.HandlerWith(long.Middleware()(longServer(make(chan error, 100))), streamable.Options{
			SharedSessions: "/mcp", SharedTasks: true, ServeOptions: mcp.ServeOptions{StateKeys: [][]byte{[]byte(strings.Repeat("k", 32))}},
			Principal: func(r *http.Request) (*mcp.Principal, error) {
				if user := r.Header.Get("X-User"); user != "" {
					return &mcp.Principal{Subject: user}, nil
				}
				return nil, nil
			}})
		server := httptest.NewServer(endpoint)
		t.Cleanup(func() { endpoint.Close(); server.Close(); long.Close() })
		all = append(all, replica{server.URL, long})
	}
	return all
}

// at returns the session at another replica.
func (s *legacySession) at(r replica) *legacySession {
	return &legacySession{r.url, s.user, s.id}
}

// TestAnyReplicaKnowsTheTasksOfASharedSession begins tasks at one replica, and asks others about them.
func TestAnyReplicaKnowsTheTasksOfASharedSession(t *testing.T) {
	for _, user := range []string{"", "ada"} {
		t.Run("user "+user, func(t *testing.T) {
			all := replicasOf(t, 3, state.NewMemory(0))
			s := legacyClient(t, all[0].url, user)
			failed, waits := s.start(t, "fail"), s.at(all[1]).start(t, "wait")
			if got := s.at(all[1]).send(t, "tasks/result", `{"taskId":"`+failed+`"}`); !strings.Contains(got, "it did not work") || !strings.Contains(got, `"io.modelcontextprotocol/related-task":{"taskId":"`+failed) {
				t.Errorf("the result at another replica: %s", got)
			}
			if got := s.at(all[2]).send(t, "tasks/get", `{"taskId":"`+waits+`"}`); !strings.Contains(got, `"status":"working"`) {
				t.Errorf("a task that runs, at another replica: %s", got)
			}
			for i := range all {
				if got := s.at(all[i]).send(t, "tasks/list", `{}`); strings.Count(got, `"taskId"`) != 2 || !strings.Contains(got, failed) || !strings.Contains(got, waits) {
					t.Errorf("replica %d lists %s", i, got)
				}
			}
			if got := legacyClient(t, all[2].url, user).send(t, "tasks/list", `{}`); strings.Contains(got, failed) != (user != "") {
				t.Errorf("another session of the user lists %s", got)
			}
			if got := legacyClient(t, all[2].url, "eve").send(t, "tasks/list", `{}`); strings.Contains(got, "taskId") {
				t.Errorf("another user lists %s", got)
			}
			if got := s.at(all[2]).send(t, "tasks/cancel", `{"taskId":"`+waits+`"}`); !strings.Contains(got, `"status":"cancelled"`) {
				t.Errorf("cancelled at another replica: %s", got)
			}
			if got := s.at(all[0]).send(t, "tasks/get", `{"taskId":"`+waits+`"}`); !strings.Contains(got, `"status":"cancelled"`) {
				t.Errorf("afterwards: %s", got)
			}
		})
	}
}

// TestATaskOfASharedSessionOutlivesItsReplica ends the replica that ran a task.
func TestATaskOfASharedSessionOutlivesItsReplica(t *testing.T) {
	all := replicasOf(t, 2, state.NewMemory(0))
	s := legacyClient(t, all[0].url, "ada")
	done, waits := s.start(t, "fail"), s.start(t, "wait")
	s.send(t, "tasks/result", `{"taskId":"`+done+`"}`)
	all[0].long.Close()
	if got := s.at(all[1]).send(t, "tasks/result", `{"taskId":"`+done+`"}`); !strings.Contains(got, "it did not work") {
		t.Errorf("a task that had ended: %s", got)
	}
	if got := s.at(all[1]).send(t, "tasks/result", `{"taskId":"`+waits+`"}`); !strings.Contains(got, `"error"`) {
		t.Errorf("a task that ran: %s", got)
	}
}

// TestACallBecomesNoTaskWithoutItsStore calls tools of a shared session while the store is away.
func TestACallBecomesNoTaskWithoutItsStore(t *testing.T) {
	store := &awayStore{Store: state.NewMemory(0)}
	store.away.Store(true)
	all := replicasOf(t, 1, store)
	s := legacyClient(t, all[0].url, "ada")
	if got := s.send(t, "tools/call", `{"name":"fail","task":{}}`); !strings.Contains(got, `"error"`) {
		t.Errorf("a call that was to be a task: %s", got)
	}
	if got := s.send(t, "tools/call", `{"name":"fail"}`); !strings.Contains(got, "it did not work") {
		t.Errorf("another call: %s", got)
	}
}
