package policies

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
)

// Queue returns the queue of events for the audit logs of this installation. It returns nil if the
// installation has no key of an audit log, and thus no log.
func Queue(p place.Place) (*audit.Queue, error) {
	path, err := p.State("audit.key")
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	key, err := audit.ReadKey(path)
	if err != nil {
		return nil, err
	}
	return cli.OpenState(p, "audit.queue", func(path string) (*audit.Queue, error) { return audit.NewQueue(path, key), nil })
}

// logged calls change, and queues lines for the audit log about the events that it returns. If the
// queue cannot be written, change is not called.
func logged(ctx context.Context, a *cli.App, change func() (done []audit.Record, err error)) error {
	q, err := Queue(a.Place)
	if err == nil && q != nil {
		err = q.Check()
	}
	if err != nil {
		return err
	}
	done, err := change()
	if q == nil {
		return err
	}
	for i := range done {
		done[i].Operator = audit.Operator()
		if fault := q.Add(context.WithoutCancel(ctx), &done[i]); fault != nil {
			return errors.Join(err, fmt.Errorf("this was done, but the audit log lacks it: %w", fault))
		}
	}
	return err
}
