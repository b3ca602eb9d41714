package launch

import (
	"context"
	"errors"

	"github.com/junction-mcp/junction/internal/terminal"
)

// A Prompter asks the user and shows cards.
type Prompter interface {
	// Absent returns the reason why no user can be asked, such as [Nobody], or "" if a user can be.
	// With a reason, only Show may be called.
	Absent() string
	// Choose returns the Key of the user's choice, or "" if the user chose none.
	Choose(ctx context.Context, question string, choices []Choice) (key string, err error)
	// Text returns the text that the user typed or chose.
	Text(ctx context.Context, q Question) (string, error)
	// Show shows a card.
	Show(c Card)
}

// Nobody is the result of [Prompter.Absent] without a user.
const Nobody = "there is no terminal for questions"

// A Choice is an answer to a question.
type Choice struct {
	Key   string // result of Choose; its first letter also selects it
	Label string // text with that letter in brackets, such as "[k]eep both"
}

// A Question asks for a text.
type Question struct {
	Text    string
	Choices []string // the only valid texts; nil means any text
	Prompt  string   // text at the start of the input line; empty means "> "
	Subject string   // the request as part of a sentence, for other terminals; may be empty
	Secret  bool     // whether to hide the typed text
	Fault   string   // why the previous text was invalid; empty at the first attempt
}

// A Card is a message to the user, such as the description of a server before it is added. It has a
// title, a table of names and texts, and further lines; each may be empty. Texts from servers must
// be cleaned before they are put into a Card.
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

// User returns l.Prompter, or a Prompter without a user if it is nil.
func (l *Launcher) User() Prompter {
	if l.Prompter == nil {
		return noUser{}
	}
	return l.Prompter
}

// absent returns the reason why no user can be asked, or "" if a user can be.
func (l *Launcher) absent() string { return l.User().Absent() }

// noUser is the Prompter without a user. It asks nothing and shows nothing.
type noUser struct{}

func (noUser) Absent() string { return Nobody }
func (noUser) Choose(context.Context, string, []Choice) (string, error) {
	return "", errors.New(Nobody)
}
func (noUser) Text(context.Context, Question) (string, error) { return "", errors.New(Nobody) }
func (noUser) Show(Card)                                      {}
