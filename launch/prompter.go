package launch

import (
	"context"

	"github.com/junction-mcp/junction/internal/terminal"
)

// A Prompter asks the user, and shows things.
type Prompter interface {
	// Absent returns why no user can be asked, such as [Nobody], in which case only Show is called. It is empty if one can be asked.
	Absent() string
	// Choose returns the Key of the choice that the user makes; empty for none of them.
	Choose(ctx context.Context, question string, choices []Choice) (key string, err error)
	// Text returns a line that the user types, or a choice of the question.
	Text(ctx context.Context, q Question) (string, error)
	// Show shows a card.
	Show(c Card)
}

// Nobody is what [Prompter.Absent] returns where there is no user.
const Nobody = "there is no terminal for questions"

// A Choice is an answer to a question.
type Choice struct {
	Key   string // its first letter stands for it
	Label string // with that letter in brackets, such as "[k]eep both"
}

// A Question asks for a text.
type Question struct {
	Text    string
	Choices []string // the texts that are expected; nil: any text
	Prompt  string   // shown in front of what is typed; empty: "> "
	Subject string   // what is asked, as a part of a sentence, for users elsewhere; may be empty
	Secret  bool     // what is typed is not shown
	Fault   string   // why the text before was not taken; empty: this is asked for the first time
}

// A Card is what a user has to see, such as a server before it is added: a title, a table of names and texts, and further lines, each of which
// may be missing. Texts of servers in it are cleaned.
type Card struct {
	Title string
	Rows  [][2]string
	Lines []string
}

// Text returns the card laid out for lines of that many cells.
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

// absent returns why no user can be asked; empty if one can be.
func (l *Launcher) absent() string {
	if l.Prompter == nil {
		return Nobody
	}
	return l.Prompter.Absent()
}
