package up

import (
	"context"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/tasks"
	"github.com/junction-mcp/junction/state"
)

// taskTime is how long a call runs before it becomes a task, where its client knows tasks.
const taskTime = 30 * time.Second

// openTasks makes what keeps the tasks of a gateway's clients, in a file, so that a gateway that was started again knows
// them.
func (y *Layers) openTasks(a *cli.App) (err error) {
	y.Tasks, err = tasks.New(tasks.Options{Others: &tasks.Tool{Later: true, After: taskTime}, Logger: a.Logger(),
		OnRequest: func(ctx context.Context, _ *mcp.Request, tool string) { audit.About(ctx, tool) },
		Open: func(ctx context.Context) (state.Store, error) {
			return cli.Kept(a.Place, "tasks.db", func(path string) (state.Store, error) { return a.Launch.OpenState(ctx, path) })
		}})
	return err
}
