package cli

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/launch"
)

// A TerminalPrompter asks the user at the terminal.
type TerminalPrompter struct{ *App }

// Absent implements [launch.Prompter].
func (p TerminalPrompter) Absent() string {
	switch {
	case p.Person == nil:
		return launch.Nobody
	case p.Person.Away():
		return "a process in the background cannot ask questions"
	}
	return ""
}

// Choose implements [launch.Prompter].
func (p TerminalPrompter) Choose(ctx context.Context, question string, choices []launch.Choice) (string, error) {
	for _, c := range choices {
		question += " " + c.Label + ","
	}
	p.Person.Discard() // words that the user typed before the question, for example during an installation, are not an answer
	typed, err := p.Person.Line(ctx, question+" [N]o > ")
	word := strings.ToLower(strings.TrimSpace(typed))
	for _, c := range choices {
		if err == nil && (word == c.Key || word == c.Key[:1]) {
			return c.Key, nil
		}
	}
	return "", err
}

// Text implements [launch.Prompter]. The user may type the number of a choice.
func (p TerminalPrompter) Text(ctx context.Context, q launch.Question) (string, error) {
	if q.Subject != "" {
		p.Awaited.Store(&q.Subject)
		defer p.Awaited.Store(nil)
	}
	end, err := p.Person.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	if q.Fault != "" {
		p.Person.Printf("%s\n", q.Fault)
	}
	p.Person.Printf("%s\n", q.Text)
	for i, choice := range q.Choices {
		p.Person.Printf("  %3d  %s\n", i+1, plaintext.Line(choice, 200))
	}
	ask := p.Person.Line
	if q.Secret {
		ask = p.Person.Secret
	}
	word, err := ask(ctx, cmp.Or(q.Prompt, "> "))
	if n, wrong := strconv.Atoi(word); wrong == nil && n >= 1 && n <= len(q.Choices) {
		word = q.Choices[n-1]
	}
	return word, err
}

// Show implements [launch.Prompter].
func (p TerminalPrompter) Show(c launch.Card) { p.Out.Printf("%s", c.Text(LineWidth(p.Out))) }

// Confirm asks the user a question and reports whether the answer is yes.
func (a *App) Confirm(ctx context.Context, question string) (bool, error) {
	key, err := a.Launch.Prompter.Choose(ctx, question, []launch.Choice{{Key: "yes", Label: "[y]es"}})
	return key != "", err
}
