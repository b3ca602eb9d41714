package terminal

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"golang.org/x/term"
)

// ErrNoAnswer says that the input ended (Ctrl-D) in place of an answer.
var ErrNoAnswer = errors.New("the input ended without an answer")

// maxAnswer is the longest line that a person may type, in bytes.
const maxAnswer = 64 << 10

// A Person can be asked: what is asked appears on a Screen, and the answer is a
// line of input. Questions that belong together are asked between [Person.Begin]
// and the end that it returns.
type Person struct {
	screen *Screen
	in     io.Reader
	turn   chan struct{} // holds a token while somebody asks
	lend   atomic.Pointer[func() (back func())]

	// Of whoever has the turn:
	lines   *bufio.Scanner
	reading chan answer // gets the line that is being read; nil if none is
}

type answer struct {
	line string
	err  error
}

// Present reports whether there is a person to ask: in and the screen are both
// terminals.
func Present(in io.Reader, screen *Screen) bool {
	return screen.Terminal() && Reads(in)
}

// Reads reports whether what is read from in is typed into a terminal.
func Reads(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// NewPerson returns the person who reads screen and types into in.
func NewPerson(in io.Reader, screen *Screen) *Person {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxAnswer)
	return &Person{screen: screen, in: in, turn: make(chan struct{}, 1), lines: lines}
}

// Away reports whether this process runs in the background of its terminal (junction … &). A question would stop it there,
// before a word of it is shown.
func (p *Person) Away() bool {
	f, ok := p.in.(*os.File)
	return ok && inBackground(f)
}

// Begin waits until nobody else asks, and then begins as [Person.Discard] does. The
// error is that of ctx.
func (p *Person) Begin(ctx context.Context) (end func(), err error) {
	select {
	case p.turn <- struct{}{}:
		back, lend := func() {}, p.lend.Load()
		if lend != nil {
			back = (*lend)()
		}
		p.screen.hold(true)
		p.Discard()
		return func() {
			p.screen.hold(false)
			free := func() {
				back()
				<-p.turn
			}
			if lend == nil || p.reading == nil {
				free()
				return
			}
			p.Printf("(what was asked is withdrawn: Enter goes back) ")
			go func() { // the read would take keys from whoever lent the terminal
				<-p.reading
				p.reading = nil
				free()
			}()
		}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Lends has whoever has the terminal, and draws on it, lend it for each question, until end is called.
func (p *Person) Lends(lend func() (back func())) (end func()) {
	p.lend.Store(&lend)
	return func() { p.lend.Store(nil) }
}

// Discard forgets what was typed into a terminal until now, with or without Enter: who
// typed it had not seen what is asked next. What comes from elsewhere was not typed, and
// stays.
func (p *Person) Discard() {
	if f, ok := p.in.(*os.File); ok && Reads(f) {
		_ = discardTyped(f) // a terminal that cannot do it is gone, and answers nothing
	}
}

// Printf writes to the person who is being asked.
func (p *Person) Printf(format string, args ...any) { p.screen.ask(fmt.Sprintf(format, args...)) }

// Width is how many cells a line should have at most.
func (p *Person) Width() int { return p.screen.Width() }

// Line asks for one line. The error is [ErrNoAnswer] at the end of the input, or
// why ctx is done. A read from a terminal cannot be interrupted: one that is under way
// when ctx is done goes on, and the line that it gets answers no other question.
func (p *Person) Line(ctx context.Context, prompt string) (string, error) {
	if err := p.settle(ctx); err != nil {
		return "", err
	}
	return p.next(ctx, prompt)
}

// settle waits for the line that was typed for a question that is withdrawn, and drops it.
// Whether it was typed before or after the next question appeared, nobody can tell.
func (p *Person) settle(ctx context.Context) error {
	if p.reading == nil {
		return nil
	}
	_, err := p.next(ctx, "(what was asked before is withdrawn: Enter goes on) > ")
	return err
}

// next prints the prompt and waits for the next line.
func (p *Person) next(ctx context.Context, prompt string) (string, error) {
	p.Printf("%s", prompt)
	if p.reading == nil {
		reading := make(chan answer, 1)
		go func() {
			if p.lines.Scan() {
				reading <- answer{line: p.lines.Text()}
				return
			}
			reading <- answer{err: cmp.Or(p.lines.Err(), ErrNoAnswer)}
		}()
		p.reading = reading
	}
	select {
	case a := <-p.reading:
		p.reading = nil
		if a.err != nil {
			p.Printf("\n")
		}
		return a.line, a.err
	case <-ctx.Done():
		p.Printf("\n")
		return "", context.Cause(ctx)
	}
}

// Secret asks for one line and does not show what is typed, if the input is a
// terminal. It is [Person.Line] else.
func (p *Person) Secret(ctx context.Context, prompt string) (string, error) {
	f, ok := p.in.(*os.File)
	if !ok {
		return p.Line(ctx, prompt)
	}
	shown, err := term.GetState(int(f.Fd()))
	if err != nil {
		return p.Line(ctx, prompt)
	}
	if err := p.settle(ctx); err != nil {
		return "", err
	}
	p.Printf("%s", prompt)
	typed := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(int(f.Fd()))
		typed <- answer{string(line), err}
	}()
	defer p.Printf("\n")
	select {
	case a := <-typed:
		if errors.Is(a.err, io.EOF) {
			return "", ErrNoAnswer
		}
		return a.line, a.err
	case <-ctx.Done():
		_ = term.Restore(int(f.Fd()), shown) // the process is about to end
		return "", context.Cause(ctx)
	}
}
