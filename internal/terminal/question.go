package terminal

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"

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

	// Of whoever has the turn:
	wanted  chan struct{}
	answers chan answer
	waiting bool // a read is under way
}

type answer struct {
	line string
	err  error
}

// Present reports whether there is a person to ask: in and the screen are both
// terminals.
func Present(in io.Reader, screen *Screen) bool {
	f, ok := in.(*os.File)
	return ok && screen.Terminal() && term.IsTerminal(int(f.Fd()))
}

// NewPerson returns the person who reads screen and types into in.
func NewPerson(in io.Reader, screen *Screen) *Person {
	return &Person{screen: screen, in: in, turn: make(chan struct{}, 1)}
}

// Begin waits until nobody else asks. The error is that of ctx.
func (p *Person) Begin(ctx context.Context) (end func(), err error) {
	select {
	case p.turn <- struct{}{}:
		p.screen.hold(true)
		return func() {
			p.screen.hold(false)
			<-p.turn
		}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Screen is where the questions appear.
func (p *Person) Screen() *Screen { return p.screen }

// Line asks for one line. The error is [ErrNoAnswer] at the end of the input, or
// why ctx is done.
func (p *Person) Line(ctx context.Context, prompt string) (string, error) {
	p.screen.Printf("%s", prompt)
	if p.wanted == nil {
		p.wanted, p.answers = make(chan struct{}), make(chan answer)
		go p.read()
	}
	if !p.waiting {
		p.wanted <- struct{}{}
		p.waiting = true
	}
	select {
	case a := <-p.answers:
		p.waiting = false
		if a.err != nil {
			p.screen.Printf("\n")
		}
		return a.line, a.err
	case <-ctx.Done():
		p.screen.Printf("\n")
		return "", context.Cause(ctx)
	}
}

// read reads a line whenever one is wanted. A read from a terminal cannot be
// interrupted, so this goroutine lives as long as the process; it reads nothing
// that nobody asked for.
func (p *Person) read() {
	lines := bufio.NewScanner(p.in)
	lines.Buffer(nil, maxAnswer)
	for range p.wanted {
		switch {
		case lines.Scan():
			p.answers <- answer{line: lines.Text()}
		case lines.Err() != nil:
			p.answers <- answer{err: lines.Err()}
		default:
			p.answers <- answer{err: ErrNoAnswer}
		}
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
	p.screen.Printf("%s", prompt)
	typed := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(int(f.Fd()))
		typed <- answer{string(line), err}
	}()
	defer p.screen.Printf("\n")
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
