package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// messageTime is how long doctor waits for the first message of a program whose standard output began with something else.
const messageTime = 10 * time.Second

// errNoMessage is why a start ends of a program that writes something else than messages.
var errNoMessage = errors.New("no message came")

// dialDoctor connects as dial does. Of a program it returns the first line of its standard output that was no message,
// after which one must come soon.
func dialDoctor(ctx context.Context, t mcp.Transport, o mcp.ClientOptions) (client *mcp.Client, stray string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var first atomic.Pointer[string]
	if c, is := t.(*command.Command); is {
		c.Skipped = func(line string) {
			if strings.TrimSpace(line) != "" && first.CompareAndSwap(nil, &line) {
				time.AfterFunc(messageTime, func() { cancel(errNoMessage) })
			}
		}
	}
	client, err = reach.Dial(ctx, t, o)
	if err != nil && context.Cause(ctx) == errNoMessage {
		err = fmt.Errorf("%w: %w", errNoMessage, err)
	}
	if line := first.Load(); line != nil {
		stray = *line
	}
	return client, stray, err
}

// NotStarted reports which link of a server broke when it was started, and how to fix it.
func (p *Patient) NotStarted(t mcp.Transport, err error, name, stray string, limit time.Duration) bool {
	link := "start"
	if errors.Is(err, errNoMessage) {
		return p.Broken(link, fmt.Sprintf("standard output has a line that is not JSON-RPC, and none followed within %v: %q", messageTime, stray), reach.OnlyMessages)
	}
	p.strays(stray)
	switch {
	case launch.WantsLogin(err):
		link = "authorization"
	case reach.IsWebPage(err):
		return p.Broken("address", "it answers with a web page (text/html), not with messages of MCP: "+why.Of(err, name), reach.RightPath)
	}
	_, program := t.(*command.Command)
	return p.Broken(link, why.Of(err, name), reach.StartRemedy(program, err, name, limit))
}

// strays quotes a line that is no message, if there was one. Junction skips it.
func (p *Patient) strays(line string) {
	if line != "" {
		p.careful("output", "standard output has a line that is not JSON-RPC, on which other clients fail: %q; %s", line, reach.OnlyMessages)
	}
}
