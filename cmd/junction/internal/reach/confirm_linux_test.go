package reach_test

import (
	"io"
	"os"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
)

// whenAsked types an answer as soon as something is asked.
type whenAsked struct {
	keyboard *os.File
	answer   string
}

func (w *whenAsked) Write(p []byte) (int, error) {
	if _, err := w.keyboard.WriteString(w.answer); err != nil {
		return 0, err
	}
	w.answer = ""
	return len(p), nil
}

// A yes that was typed while a package was installed agrees to nothing of it: it was typed before anything was shown.
func TestAYesThatIsTypedAheadAgreesToNothing(t *testing.T) {
	keyboard, in := clitest.PseudoTerminal(t)
	screen := terminal.NewScreen(&whenAsked{keyboard, "no\n"})
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Person: terminal.NewPerson(in, screen), Screen: screen}})
	if _, err := keyboard.WriteString("yes\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(keyboard, make([]byte, len("yes\r\n"))); err != nil { // its echo: now the terminal has it
		t.Fatal(err)
	}
	if agreed, err := a.Confirm(t.Context(), "Add it? "); agreed || err != nil {
		t.Errorf("it is agreed to: %v, %v", agreed, err)
	}
}
