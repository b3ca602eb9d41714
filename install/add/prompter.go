package add

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/launch"
)

var yes = launch.Choice{Key: "yes", Label: "[y]es"}

// say shows one line to the user.
func (a *Adder) say(format string, args ...any) {
	a.Launcher.User().Show(launch.Card{Title: fmt.Sprintf(format, args...)})
}

// asks reports whether the user can be asked and has not agreed in advance.
func (w *addition) asks() bool { return w.Launcher.User().Absent() == "" && !w.Yes }

// confirm asks the user, and reports whether they agree.
func (w *addition) confirm(ctx context.Context, question string) (bool, error) {
	key, err := w.Launcher.User().Choose(ctx, question, []launch.Choice{yes})
	return key != "", err
}
