package layer

import (
	"context"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// taskTime is how long a call runs before it becomes a task, where its client knows tasks.
const taskTime = 30 * time.Second

// openTasks opens the tasks of the gateway's clients, which a gateway that is started again still knows if they are in a file.
func openTasks(s *Stack) (err error) {
	o := tasks.Options{Others: &tasks.Tool{Later: true, After: taskTime}, Logger: s.Logger,
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

// closeTasks ends what runs. Whoever closes the servers calls [tasks.Tasks.Close] before, while they can still be reached.
func closeTasks(s *Stack) error {
	if s.Tasks == nil {
		return nil
	}
	return s.Tasks.Close()
}

// callsAsTasks makes tasks of calls that last.
func callsAsTasks(s *Stack, _ *Plan, part Part) mcp.Middleware {
	calls, _ := s.Tasks.Split(part.Profile)
	return calls
}

// requestsAboutTasks answers the requests about the tasks that callsAsTasks made.
func requestsAboutTasks(s *Stack, _ *Plan, part Part) mcp.Middleware {
	_, requests := s.Tasks.Split(part.Profile)
	return requests
}
