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

// onScreen asks the person with a card on the screen, and waits.
func (u *UI) onScreen(ctx context.Context, what any) (any, error) {
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

// byCard is a [host.Person] who is asked with cards, wherever these are shown.
type byCard struct {
	ask    func(ctx context.Context, what any) (any, error)
	onDisk func(path string) (text string, ok bool) // see [Options].OnDisk
}

// Consent shows a call and waits for a yes or no.
func (a *byCard) Consent(ctx context.Context, card host.Card) (host.Verdict, error) {
	return asked[host.Verdict](a.ask(ctx, wanted{card, fileChange(&card, a.onDisk)}))
}

// Review shows what servers bring, each in a line, and waits for an answer to each.
func (a *byCard) Review(ctx context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	return asked[[]host.ReviewAnswer](a.ask(ctx, reviews))
}

// Elicit shows a form, or the page to visit, and waits for the answer.
func (a *byCard) Elicit(ctx context.Context, form host.Form) (*mcp.ElicitResult, error) {
	return asked[*mcp.ElicitResult](a.ask(ctx, form))
}

// Sample shows what a server wants to ask the model and waits for a yes or no.
func (a *byCard) Sample(ctx context.Context, s host.Sampling) (bool, error) {
	return asked[bool](a.ask(ctx, s))
}

// asked is the answer in its type.
func asked[T any](v any, err error) (T, error) {
	answer, _ := v.(T)
	return answer, err
}
