package add

import (
	"context"
	"fmt"

	"github.com/junction-mcp/junction/internal/terminal"
)

// A Prompter asks the user and shows cards.
type Prompter interface {
	// Asks reports whether a user can be asked. If not, only Show is called.
	Asks() bool
	// Choose returns the Key of the user's choice, or "" for none of them.
	Choose(ctx context.Context, question string, choices []Choice) (key string, err error)
	// Text returns a line that the user typed, or a choice of the question.
	Text(ctx context.Context, q Question) (string, error)
	// Show shows a card.
	Show(c Card)
}

// A Choice is an answer to a question.
type Choice struct {
	Key   string // its first letter stands for it
	Label string // with that letter in brackets, such as "[k]eep both"
}

var yes = Choice{"yes", "[y]es"}

// A Question asks for a text.
type Question struct {
	Text    string
	Choices []string // expected texts; nil for any text
	Hint    string   // a hint for the user; may be empty
	Secret  bool     // the typed text is hidden
	Fault   string   // why the previous text was refused; empty at the first attempt
}

// A Card is a message to the user, such as the description of a server before it is added. It has a
// title, a table of names and texts, and further lines; each may be missing. Texts of servers in it
// are cleaned.
type Card struct {
	Title string
	Rows  [][2]string
	Lines []string
}

// Text returns the card formatted for lines of width cells.
func (c Card) Text(width int) string {
	var rows [][]string
	for _, row := range c.Rows {
		rows = append(rows, row[:])
	}
	text := terminal.Table(rows, 2, width)
	if c.Title != "" {
		text = c.Title + "\n" + text
	}
	for _, line := range c.Lines {
		text += line + "\n"
	}
	return text
}

// say shows one line.
func (a *Adder) say(format string, args ...any) {
	a.Prompter.Show(Card{Title: fmt.Sprintf(format, args...)})
}

// asks reports whether the user can be asked and did not agree in advance.
func (w *addition) asks() bool { return w.Prompter.Asks() && !w.Yes }

// confirm reports whether the user agrees.
func (w *addition) confirm(ctx context.Context, question string) (bool, error) {
	key, err := w.Prompter.Choose(ctx, question, []Choice{yes})
	return key != "", err
}
