package reach

import (
	"context"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// A TerminalPrompter asks the user at the terminal.
type TerminalPrompter struct{ *cli.App }

// Asks implements [add.Prompter].
func (p TerminalPrompter) Asks() bool { return p.App.CanAsk() }

// Choose implements [add.Prompter].
func (p TerminalPrompter) Choose(ctx context.Context, question string, choices []add.Choice) (string, error) {
	for _, c := range choices {
		question += " " + c.Label + ","
	}
	p.Person.Discard() // words typed during the installation of a package answer nothing
	typed, err := p.Person.Line(ctx, question+" [N]o > ")
	word := strings.ToLower(strings.TrimSpace(typed))
	for _, c := range choices {
		if err == nil && (word == c.Key || word == c.Key[:1]) {
			return c.Key, nil
		}
	}
	return "", err
}

// Text implements [add.Prompter].
func (p TerminalPrompter) Text(ctx context.Context, q add.Question) (string, error) {
	if q.Fault != "" {
		q.Text = q.Fault + "\n" + q.Text
	}
	if q.Hint != "" {
		q.Hint = "(" + q.Hint + ") "
	}
	return askTyped(ctx, p.App, q.Text, q.Choices, q.Hint+"> ", q.Secret)
}

// Show implements [add.Prompter].
func (p TerminalPrompter) Show(c add.Card) { p.Out.Printf("%s", c.Text(cli.LineWidth(p.Out))) }

// Confirm asks the user for a yes.
func Confirm(ctx context.Context, a *cli.App, question string) (bool, error) {
	key, err := TerminalPrompter{a}.Choose(ctx, question, []add.Choice{{Key: "yes", Label: "[y]es"}})
	return key != "", err
}

// askTyped returns the value that the user typed, or the choice whose number was typed. With
// hidden, the terminal does not show it.
func askTyped(ctx context.Context, a *cli.App, intro string, choices []string, prompt string, hidden bool) (string, error) {
	end, err := a.Person.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	a.Person.Printf("%s\n", intro)
	for i, choice := range choices {
		a.Person.Printf("  %3d  %s\n", i+1, plaintext.Line(choice, 200))
	}
	ask := a.Person.Line
	if hidden {
		ask = a.Person.Secret
	}
	word, err := ask(ctx, prompt)
	if n, wrong := strconv.Atoi(word); wrong == nil && n >= 1 && n <= len(choices) {
		word = choices[n-1]
	}
	return word, err
}
