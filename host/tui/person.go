package tui

import (
	"context"
	"errors"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/mcp"
)

// errGone says that nobody can be asked any more.
var errGone = errors.New("the terminal is closed: nobody can be asked")

// An ask is something that a person is asked, and waits for the answer.
type ask struct {
	what  any // wanted, []host.Review, host.Form or host.Sampling
	reply chan any
}

// wanted is a call that is asked about, with what it would change in a file of this disk.
type wanted struct {
	card   host.Card
	change *edit
}

// withdrawn tells the screen that nobody waits for the answer any more.
type withdrawn struct{ ask *ask }

// answer answers once; what is said later is not heard.
func (a *ask) answer(v any) {
	select {
	case a.reply <- v:
	default:
	}
}

// ask asks the person and waits.
func (u *UI) ask(ctx context.Context, what any) (any, error) {
	a := &ask{what: what, reply: make(chan any, 1)}
	u.hint("something waits for your answer; Enter shows it")
	select {
	case u.inbox <- a:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-u.closed:
		return nil, errGone
	}
	select {
	case v := <-a.reply:
		return v, nil
	case <-ctx.Done():
		u.post(withdrawn{a})
		return nil, context.Cause(ctx)
	case <-u.closed:
		return nil, errGone
	}
}

// Consent shows a call and waits for a yes or no.
func (u *UI) Consent(ctx context.Context, card host.Card) (host.Verdict, error) {
	return asked[host.Verdict](u.ask(ctx, wanted{card, fileChange(&card, u.options.OnDisk)}))
}

// Review shows what servers bring, each in a line, and waits for an answer to each.
func (u *UI) Review(ctx context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	return asked[[]host.ReviewAnswer](u.ask(ctx, reviews))
}

// Elicit shows a form, or the page to visit, and waits for the answer.
func (u *UI) Elicit(ctx context.Context, form host.Form) (*mcp.ElicitResult, error) {
	return asked[*mcp.ElicitResult](u.ask(ctx, form))
}

// Sample shows what a server wants to ask the model and waits for a yes or no.
func (u *UI) Sample(ctx context.Context, s host.Sampling) (bool, error) {
	return asked[bool](u.ask(ctx, s))
}

// asked is the answer in its type.
func asked[T any](v any, err error) (T, error) {
	answer, _ := v.(T)
	return answer, err
}
