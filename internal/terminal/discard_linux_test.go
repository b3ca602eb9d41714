package terminal

import (
	"fmt"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pseudoTerminal returns both ends of a terminal: the keyboard, and the input of a program.
func pseudoTerminal(t *testing.T) (keyboard, in *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this system gives no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	fd := int(keyboard.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		in, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("this system gives no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { in.Close() })
	return keyboard, in
}

func TestTypeaheadAnswersNoQuestion(t *testing.T) {
	keyboard, in := pseudoTerminal(t)
	p := NewPerson(in, NewScreen(io.Discard))
	if _, err := keyboard.WriteString("yes\nand half a line"); err != nil {
		t.Fatal(err)
	}
	const echo = "yes\r\nand half a line"
	if _, err := io.ReadFull(keyboard, make([]byte, len(echo))); err != nil { // now the terminal has it
		t.Fatal(err)
	}
	end, err := p.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if _, err := keyboard.WriteString("no\nnever\n"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"no", "never"} { // a second line for the same text stays
		if got, err := p.Line(t.Context(), "? "); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}
