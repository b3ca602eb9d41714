package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/consent"
)

// OwnServer is the name under which [Options].Tools are shown, and which rules are about.
// No other server can have it.
const OwnServer = "host"

// isOwn reports whether a name is, or reads like, that of the program's own tools.
func isOwn(server string) bool { return strings.EqualFold(strings.TrimSpace(server), OwnServer) }

// Reserved reports whether a name is, or reads like, [OwnServer] or another one under which
// the person is shown what no server said. No server can have it.
func Reserved(server string) bool {
	return slices.ContainsFunc([]string{OwnServer, fromPerson, consent.FromBefore, FromNotes}, func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(server), name)
	})
}

// FromNotes is the source of what was noted in earlier conversations; see [Read].
const FromNotes = "what was remembered"

// Labels are what the conversation has read in which the tool of [Options].Tools is called
// that ctx belongs to. Elsewhere they are all there are, as nothing is known then.
func Labels(ctx context.Context) guard.Labels {
	if c, err := ownCall(ctx); err == nil {
		return c.run.c.decider.Labels()
	}
	return guard.Private | guard.Untrusted
}

// Read notes, for the tool of [Options].Tools that ctx belongs to, from where the text is that it
// returns: a note that was taken while a stranger's page was read is a stranger's text still.
// A tool that says so is not labelled by its annotations. A source without an origin is that of
// no server, whatever its name is.
func Read(ctx context.Context, from guard.Source, labels guard.Labels, text string) error {
	c, err := ownCall(ctx)
	if err != nil {
		return err
	}
	c.labelled.Store(true)
	if labels != 0 {
		c.run.c.decider.Read(from, labels, text)
	}
	noteResult(ctx, from, labels)
	return nil
}

var errNotOwn = errors.New("the context is not that of a call of one of Options.Tools; pass on the one that the tool was called with")

// ownCall is the call of an own tool that runs with this context.
func ownCall(ctx context.Context) (*calling, error) {
	c := callFrom(ctx)
	if c == nil || c.run == nil || c.server.Name != OwnServer {
		return nil, errNotOwn
	}
	if c.over.Load() {
		return nil, fmt.Errorf("the call of %s is over", c.toolName())
	}
	return c, nil
}
