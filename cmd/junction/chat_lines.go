package main

import (
	"context"
	"errors"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
)

const linesHelp = `/keep NOTE       a fact that stays when old turns are shortened
/compact         replace old turns by a summary
/review SERVER   show again what of a server was refused or set aside
/quit            leave, as Ctrl+D does
Everything else is a question. Without --plain there is a screen with more.
`

// lines asks one question after the other, without a screen of its own.
func (a *app) lines(ctx context.Context, c *host.Conversation) error {
	for {
		text, err := a.line(ctx, "> ")
		if errors.Is(err, terminal.ErrNoAnswer) {
			return nil
		}
		if err != nil {
			return err
		}
		text = strings.TrimSpace(text)
		switch {
		case text == "":
			continue
		case text == "/quit":
			return nil
		case isCommand(text):
			err = lineCommand(ctx, a.screen, c, text)
		default:
			err = a.single(ctx, c, host.Question{Text: text})
		}
		if err != nil && !errors.Is(err, errToolFailed) {
			if ctx.Err() != nil {
				return err
			}
			a.screen.Printf("junction: %v\n", err)
		}
	}
}

// isCommand reports whether a line is no question: a slash and a word, which no path
// begins with.
func isCommand(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	return strings.HasPrefix(word, "/") && strings.Count(word, "/") == 1
}

// lineCommand does what can be done without a screen.
func lineCommand(ctx context.Context, screen *terminal.Screen, c *host.Conversation, text string) error {
	name, argument, _ := strings.Cut(text, " ")
	argument = strings.TrimSpace(argument)
	switch {
	case name == "/help":
		screen.Printf("%s", linesHelp)
		return nil
	case name == "/keep" && argument != "":
		return c.Keep(argument)
	case name == "/review" && argument != "":
		return c.ReviewAgain(argument)
	case name == "/compact":
		return c.Compact(ctx)
	case name == "/keep", name == "/review":
		return usagef("%s of what? /help says how", name)
	}
	return usagef("there is no command %s; /help lists them", plaintext.Line(name, 40))
}

func (a *app) line(ctx context.Context, prompt string) (string, error) {
	end, err := a.person.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer end()
	return a.person.Line(ctx, prompt)
}
