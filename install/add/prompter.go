package add

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/launch"
)

var yes = launch.Choice{Key: "yes", Label: "[y]es"}

// say shows one line.
func (a *Adder) say(format string, args ...any) {
	a.Launcher.User().Show(launch.Card{Title: fmt.Sprintf(format, args...)})
}

// asks reports whether the user can be asked and did not agree in advance.
func (w *addition) asks() bool { return w.Launcher.User().Absent() == "" && !w.Yes }

// confirm reports whether the user agrees.
func (w *addition) confirm(ctx context.Context, question string) (bool, error) {
	key, err := w.Launcher.User().Choose(ctx, question, []launch.Choice{yes})
	return key != "", err
}
