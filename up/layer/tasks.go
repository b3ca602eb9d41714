package layer

import (
	"context"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// taskTime is how long a call runs before it becomes a task, if the client supports tasks.
const taskTime = 30 * time.Second

// openTasks opens the tasks of the gateway's clients, unless the settings have none. Tasks in a file
// survive a restart of the gateway.
func openTasks(s *Stack) (err error) {
	if s.Opened.Tasks == "none" {
		return nil
	}
	o := tasks.Options{Others: &tasks.Tool{Later: true, After: taskTime}, TTL: s.Opened.Limits.TaskTime, Logger: s.Logger,
		OnRequest: func(ctx context.Context, _ *mcp.Request, tool string) { audit.About(ctx, tool) }}
	if s.OpenState != nil {
		o.Open = func(ctx context.Context) (state.Store, error) {
			path, err := s.Place.State("tasks.db")
			if err != nil {
				return nil, err
			}
			return s.OpenState(ctx, path)
		}
	}
	s.Tasks, err = tasks.New(o)
	return err
}

// closeTasks ends running tasks. The owner of the Stack should call [tasks.Tasks.Close] earlier,
// while the servers can still be reached.
func closeTasks(s *Stack) error {
	if s.Tasks == nil {
		return nil
	}
	return s.Tasks.Close()
}

// callsAsTasks returns middleware that turns long calls into tasks.
func callsAsTasks(s *Stack, _ *Plan, part Part) mcp.Middleware {
	if s.Tasks == nil {
		return nil
	}
	calls, _ := s.Tasks.Split(part.Profile)
	return calls
}

// requestsAboutTasks returns middleware that responds to requests about the tasks of callsAsTasks.
func requestsAboutTasks(s *Stack, _ *Plan, part Part) mcp.Middleware {
	if s.Tasks == nil {
		return nil
	}
	_, requests := s.Tasks.Split(part.Profile)
	return requests
}
