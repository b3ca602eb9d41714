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

// ErrNoAnswer is returned if the input ended (Ctrl-D) before a line was typed.
var ErrNoAnswer = errors.New("the input ended without an answer")

// maxAnswer is the maximum length of a typed line in bytes.
const maxAnswer = 64 << 10

// A Person is a user who can be asked questions: texts are shown on a Screen, and the user replies
// with lines of input. Questions that belong together are asked after [Person.Begin] and before the
// call of the end function that it returns.
type Person struct {
	screen *Screen
	in     io.Reader
	turn   chan struct{} // capacity 1; contains a value while a goroutine asks
	lend   atomic.Pointer[func() (back func())]

	// Only the goroutine whose turn it is may use these fields.
	lines   *bufio.Scanner
	reading chan answer // receives the line that is being read; nil if none is
}

type answer struct {
	line string
	err  error
}

// Present reports whether there is a user to ask: both in and the screen must be terminals.
func Present(in io.Reader, screen *Screen) bool {
	return screen.Terminal() && Reads(in)
}

// Reads reports whether in is a terminal.
func Reads(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// NewPerson returns the user who reads the screen and types into in.
func NewPerson(in io.Reader, screen *Screen) *Person {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxAnswer)
	return &Person{screen: screen, in: in, turn: make(chan struct{}, 1), lines: lines}
}

// Away reports whether this process runs in the background of its terminal (junction … &). A
// question would then stop the process before the user sees any text.
func (p *Person) Away() bool {
	f, ok := p.in.(*os.File)
	return ok && inBackground(f)
}

// Begin waits until no other goroutine asks, and then calls [Person.Discard]. If ctx is done, it
// returns the error of ctx.
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
			go func() { // a later read would take the user's keys from the program that draws on the terminal
				<-p.reading
				p.reading = nil
				free()
			}()
		}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Lends sets the function of a program that draws on the terminal. It is called before each
// question, and must make the terminal available until back is called. The function end removes it.
func (p *Person) Lends(lend func() (back func())) (end func()) {
	p.lend.Store(&lend)
	return func() { p.lend.Store(nil) }
}

// Discard drops all keys that were typed into a terminal so far, with or without Enter, because the
// user had not seen the next question. It does not drop input that comes from elsewhere, as it was
// not typed.
func (p *Person) Discard() {
	if f, ok := p.in.(*os.File); ok && Reads(f) {
		_ = discardTyped(f) // if this fails, the terminal no longer exists
	}
}

// Printf writes text to the user who is being asked.
func (p *Person) Printf(format string, args ...any) { p.screen.ask(fmt.Sprintf(format, args...)) }

// Width returns the maximum number of cells of a line.
func (p *Person) Width() int { return p.screen.Width() }

// Line asks for one line. It returns [ErrNoAnswer] at the end of the input, or the cause of ctx if
// ctx is done. A read from a terminal cannot be interrupted. If ctx is done during a read, the read
// continues, but its line is not used for another question.
func (p *Person) Line(ctx context.Context, prompt string) (string, error) {
	if err := p.settle(ctx); err != nil {
		return "", err
	}
	return p.next(ctx, prompt)
}

// settle waits for the line that the user types for a withdrawn question, and drops it. It is
// unknown whether the user typed it before or after the next question was shown.
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

// Secret asks for one line. If the input is a terminal, it does not show the typed text. Otherwise
// it is the same as [Person.Line].
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
		_ = term.Restore(int(f.Fd()), shown) // the process will end soon
		return "", context.Cause(ctx)
	}
}
