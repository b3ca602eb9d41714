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

// ErrNoAnswer is returned if the input ended (Ctrl-D) instead of a line.
var ErrNoAnswer = errors.New("the input ended without an answer")

// maxAnswer limits a typed line, in bytes.
const maxAnswer = 64 << 10

// A Person is a user who can be asked: the text appears on a Screen, and a line of input is the
// reply. Related texts are asked between [Person.Begin] and the end function that it returns.
type Person struct {
	screen *Screen
	in     io.Reader
	turn   chan struct{} // a token while a goroutine asks
	lend   atomic.Pointer[func() (back func())]

	// The holder of the turn owns these.
	lines   *bufio.Scanner
	reading chan answer // receives the line being read; nil if none is
}

type answer struct {
	line string
	err  error
}

// Present reports whether there is a user to ask: in and the screen are both terminals.
func Present(in io.Reader, screen *Screen) bool {
	return screen.Terminal() && Reads(in)
}

// Reads reports whether in is a terminal.
func Reads(in io.Reader) bool {
	f, ok := in.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// NewPerson returns the user who reads screen and types into in.
func NewPerson(in io.Reader, screen *Screen) *Person {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxAnswer)
	return &Person{screen: screen, in: in, turn: make(chan struct{}, 1), lines: lines}
}

// Away reports whether this process runs in the background of its terminal (junction … &). Asking
// would stop it before any text is shown.
func (p *Person) Away() bool {
	f, ok := p.in.(*os.File)
	return ok && inBackground(f)
}

// Begin waits until no other goroutine asks, and then calls [Person.Discard]. The error is that of
// ctx.
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
			go func() { // the read would take keys from the lender of the terminal
				<-p.reading
				p.reading = nil
				free()
			}()
		}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Lends sets a function of the program that draws on the terminal, which lends it for each text,
// until end is called.
func (p *Person) Lends(lend func() (back func())) (end func()) {
	p.lend.Store(&lend)
	return func() { p.lend.Store(nil) }
}

// Discard drops the keys typed into a terminal so far, with or without Enter: the user had not seen
// the next text. Input from elsewhere was not typed, and stays.
func (p *Person) Discard() {
	if f, ok := p.in.(*os.File); ok && Reads(f) {
		_ = discardTyped(f) // a terminal that fails here is gone
	}
}

// Printf writes to the user being asked.
func (p *Person) Printf(format string, args ...any) { p.screen.ask(fmt.Sprintf(format, args...)) }

// Width returns the maximum number of cells of a line.
func (p *Person) Width() int { return p.screen.Width() }

// Line asks for one line. The error is [ErrNoAnswer] at the end of the input, or the cause of ctx.
// A read from a terminal cannot be interrupted. One in progress when ctx is done continues, and its
// line is not used for another text.
func (p *Person) Line(ctx context.Context, prompt string) (string, error) {
	if err := p.settle(ctx); err != nil {
		return "", err
	}
	return p.next(ctx, prompt)
}

// settle waits for the line typed for a withdrawn text and drops it. It is unknown whether it was
// typed before or after the next text appeared.
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

// Secret asks for one line without showing the typed text if the input is a terminal. Otherwise it
// is [Person.Line].
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
