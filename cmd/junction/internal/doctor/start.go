package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// messageTime is how long a program may take to write its first message after it wrote a line that
// is not a message.
const messageTime = 10 * time.Second

// errNoMessage is the cause of a start that ended after [messageTime].
var errNoMessage = errors.New("no message arrived")

// dialDoctor connects like [launch.DialBriefly], or within the limit of the options. stray is the first line of a program's standard output
// that is not a message. After it, a message must follow within [messageTime].
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
	if o.ConnectTimeout > 0 {
		limited, cancel := context.WithTimeout(ctx, o.ConnectTimeout)
		defer cancel()
		client, err = mcp.DialWith(limited, t, o)
	} else {
		client, err = launch.DialBriefly(ctx, t, o, nil, 0)
	}
	if err != nil {
		err = &cli.ConnectError{Cause: err}
	}
	if err != nil && context.Cause(ctx) == errNoMessage {
		err = fmt.Errorf("%w: %w", errNoMessage, err)
	}
	if line := first.Load(); line != nil {
		stray = *line
	}
	return client, stray, err
}

// FailStart adds the link that broke at the start of a server, with its remedy.
func (p *Report) FailStart(t mcp.Transport, err error, name, stray string, limit time.Duration) bool {
	link := "start"
	if errors.Is(err, errNoMessage) {
		return p.Fail(link, fmt.Sprintf("standard output has a line that is not JSON-RPC, and no message followed within %v: %q", messageTime, stray), reach.RemedyStrayOutput)
	}
	p.addStrayLine(stray)
	switch {
	case launch.WantsLogin(err):
		link = "authorization"
	case reach.IsWebPage(err):
		return p.Fail("address", "it answers with a web page (text/html), not with MCP messages: "+why.Of(err, name), reach.RemedyPath)
	}
	_, program := t.(*command.Command)
	return p.Fail(link, why.Of(err, name), reach.StartRemedy(program, err, name, limit))
}

// addStrayLine adds a link about a line of standard output that is not a message, if there is one.
func (p *Report) addStrayLine(line string) {
	if line != "" {
		p.careful("output", "standard output has a line that is not JSON-RPC, which other clients reject: %q; %s", line, reach.RemedyStrayOutput)
	}
}
