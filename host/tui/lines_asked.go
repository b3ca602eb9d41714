package tui

import (
	"context"
	"time"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// Lines is a person who is asked line by line, with the cards of the screen, where there is no conversation on the
// screen. It is a [host.Person].
type Lines struct{ byCard }

// NewLines returns the Lines of a person; onDisk is as in [Options], and may be nil.
func NewLines(person *terminal.Person, onDisk func(path string) (text string, ok bool)) *Lines {
	return &Lines{byCard{func(ctx context.Context, what any) (any, error) { return inLines(ctx, person, what) }, onDisk}}
}

// inLines asks with one card.
func inLines(ctx context.Context, person *terminal.Person, what any) (any, error) {
	end, err := person.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	s := &screen{ctx: ctx, byLine: true, width: person.Width(), now: time.Now}
	s.theme, _ = ink.Named("bare")
	t, a := typist{screen: s, person: person}, &ask{what: what, reply: make(chan any, 1)}
	c := newCard(s, a)
	if f, isForm := c.(*formCard); isForm && f.fault != "" { // the server's mistake, which is none of the person's
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%s", f.fault)
	}
	if err := t.answer(ctx, c); err != nil {
		return nil, err
	}
	t.flushLines()
	return <-a.reply, nil
}
