package person

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// Plain is a person at a plain terminal. It is a [host.Person]. It must not be copied.
type Plain struct {
	Person *terminal.Person // nil if nobody is there
	Screen *terminal.Screen // shows what was decided without asking; required
	Desk   *answer.Desk     // answers forms; required
	// OnDisk reads files of the person's folders, as in [tui.Options]; nil: none.
	OnDisk func(path string) (text string, ok bool)

	shown shown
}

const (
	maxName   = 200    // characters of a name that is shown
	maxNotice = 20_000 // of a notice
	maxReason = 1_000
)

// CommandLine is the source of rules that stand on the command line. Where nobody is
// there, such a rule is the person's yes, given in advance, also to a call that would
// be asked about because of what was read before; but not to one that carries a secret.
const CommandLine = "command line"

// Consent shows the card and asks.
func (p *Plain) Consent(ctx context.Context, card host.Card) (host.Verdict, error) {
	if p.Person == nil {
		return p.inAdvance(card)
	}
	end, err := p.Person.Begin(ctx)
	if err != nil {
		return host.Verdict{}, err
	}
	defer end()
	p.Person.Printf("\n%s\n", tui.CardText(card, p.Person.Width(), p.OnDisk))
	for {
		typed, err := p.Person.Line(ctx, "Allow? "+offers(&card)+" (n WHY tells the model why) > ")
		if err != nil {
			return host.Verdict{}, err
		}
		if verdict, answered, err := p.verdict(ctx, &card, typed); answered || err != nil {
			return verdict, err
		}
		p.Person.Printf("Nothing was answered yet: “%s” is none of these.\n", plaintext.Line(typed, maxName))
	}
}

// verdict is what a line means to a card, if it is an answer.
func (p *Plain) verdict(ctx context.Context, card *host.Card, typed string) (verdict host.Verdict, answered bool, err error) {
	typed = strings.TrimSpace(typed)
	word, why, _ := strings.Cut(typed, " ")
	if word = strings.ToLower(strings.TrimSuffix(word, ":")); why != "" && word != "n" && word != "no" {
		return host.Verdict{}, false, nil
	}
	switch {
	case word == "y", word == "yes":
		return host.Verdict{Allow: true}, true, nil
	case word == "", word == "n", word == "no":
		return host.Verdict{Note: strings.TrimSpace(why)}, true, nil
	case (word == "f" || word == "question") && len(card.Always) > 0:
		return host.Verdict{Allow: true, Rule: &card.Always[len(card.Always)-1].Rule, Question: true}, true, nil
	case (word == "s" || word == "session") && len(card.Always) > 0:
		verdict, err = p.rule(ctx, card.Always, host.Verdict{Allow: true})
	case (word == "a" || word == "always") && len(card.Always) > 0:
		verdict, err = p.rule(ctx, card.Always, host.Verdict{Allow: true, Forever: true})
	case (word == "d" || word == "never") && len(card.Never) > 0:
		verdict, err = p.rule(ctx, card.Never, host.Verdict{Forever: true})
	case (word == "t" || word == "trust") && card.CanTrust:
		trust, forever, err := p.trust(ctx, card.Server, "allows this call only")
		return host.Verdict{Allow: err == nil, Trust: trust, Forever: forever}, true, err
	default:
		return host.Verdict{}, false, nil
	}
	return verdict, true, err
}

// offers are the answers to a card that can help.
func offers(card *host.Card) string {
	choices := "[y]es, [N]o"
	if len(card.Always) > 0 {
		choices += ", [f]or this question all of this server, [s]ession, [a]lways"
	}
	if len(card.Never) > 0 {
		choices += ", [d] never"
	}
	if card.CanTrust {
		choices += ", [t]rust this server"
	}
	return choices
}

// inAdvance is what the command line says about a call.
func (p *Plain) inAdvance(card host.Card) (host.Verdict, error) {
	reasons := plaintext.Line(strings.Join(card.Reasons, "; "), maxReason)
	if card.Agent != "" {
		reasons = "sub-agent " + plaintext.Line(card.Agent, maxName) + "; " + reasons
	}
	allowed := card.Allowed != nil && card.Allowed.Source == CommandLine
	if allowed && !card.Secret {
		p.once("junction: %s was allowed in advance by %s (%s)\n", name(card), plaintext.Line(card.Allowed.Name, maxName), reasons)
		return host.Verdict{Allow: true}, nil
	}
	remedy := ""
	switch {
	case card.Secret:
		remedy = "  (what looks like a secret is sent only if a person at a terminal says yes)\n"
	case card.Resource == "":
		remedy = fmt.Sprintf("  (--allow '%s' allows it in advance)\n", name(card))
	}
	p.once("junction: %s was not called: nobody is there to allow it (%s)\n%s", name(card), reasons, remedy)
	return host.Verdict{}, host.ErrNobody
}

func name(card host.Card) string {
	what := card.Tool
	if card.Resource != "" {
		what = card.Resource
	}
	return plaintext.Line(card.Server+"/"+what, maxName)
}

// rule asks how far a rule reaches, and adds it to the verdict.
func (p *Plain) rule(ctx context.Context, rules []host.AlwaysRule, verdict host.Verdict) (host.Verdict, error) {
	for i, r := range rules {
		p.Person.Printf("  %d  %s\n     %s\n", i+1, r.Label, plaintext.Line(r.Rule.String(), maxReason))
	}
	otherwise := "refuses"
	if verdict.Allow {
		otherwise = "allows"
	}
	for {
		typed, err := p.Person.Line(ctx, "Which rule? (number; Enter "+otherwise+" this call only) > ")
		if typed = strings.TrimSpace(typed); err != nil || typed == "" {
			return host.Verdict{Allow: verdict.Allow && err == nil}, err
		}
		if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(rules) {
			verdict.Rule = &rules[n-1].Rule
			return verdict, nil
		}
		p.Person.Printf("Expected a number from 1 to %d.\n", len(rules))
	}
}

// trust asks for how long a server is to be trusted; otherwise says what Enter alone does.
func (p *Plain) trust(ctx context.Context, server, otherwise string) (trust, forever bool, err error) {
	p.Person.Printf("  What %s claims about its tools is believed, and what it defines or changes is not reviewed.\n"+
		"  What comes from outside of it stays untrusted.\n", plaintext.Line(server, maxName))
	word, err := answer.Choose(ctx, p.Person, "Until when? [s]ession, [a]lways (Enter "+otherwise+") > ", "Expected s, a, or Enter alone.", "a|always", "s|session", "")
	return word != "", word == "a", err
}

// Elicit answers a form as the flags say, or asks.
func (p *Plain) Elicit(ctx context.Context, f host.Form) (*mcp.ElicitResult, error) {
	for _, warning := range f.Warnings {
		p.Screen.Printf("junction: careful: %s\n", plaintext.Line(warning, maxReason))
	}
	return p.Desk.Answer(ctx, f.Server, f.Request)
}

// Sample shows what a server wants of the model and asks.
func (p *Plain) Sample(ctx context.Context, s host.Sampling) (bool, error) {
	server := plaintext.Line(s.Server, maxName)
	if p.Person == nil {
		p.once("junction: server %s wanted to use the model, and nobody is there to allow it\n", server)
		return false, host.ErrNobody
	}
	end, err := p.Person.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	p.Person.Printf("\nServer %s wants to use the model, for up to %d tokens (of %d that are left to it):\n", server, s.Tokens, s.Budget)
	if s.Request.SystemPrompt != "" {
		p.indented("  ", "system: "+plaintext.Unbroken(s.Request.SystemPrompt))
	}
	for i := range s.Request.Messages {
		m := &s.Request.Messages[i]
		for j := range m.Content {
			p.indented("  ", plaintext.Line(string(m.Role), maxName)+": "+plaintext.Unbroken(saying(&m.Content[j])))
		}
	}
	for i := range s.Request.Tools {
		t := &s.Request.Tools[i]
		p.indented("  ", "tool "+plaintext.Line(t.Name, maxName)+": "+plaintext.Unbroken(t.Description))
	}
	for _, warning := range s.Warnings {
		p.indented("  ", "! "+plaintext.Line(warning, maxReason))
	}
	word, err := answer.Choose(ctx, p.Person, "Allow? [y]es, [N]o > ", "Expected y or n.", "y|yes", "n|no|")
	return word == "y", err
}

// saying is what a block of a message says to the model.
func saying(c *mcp.Content) string {
	switch {
	case c.ToolUse != nil:
		return "calls " + c.ToolUse.Name + " " + string(c.ToolUse.Input)
	case c.ToolResult != nil:
		said := "the result of " + c.ToolResult.ToolUseID + ":"
		for i := range c.ToolResult.Content {
			said += " " + saying(&c.ToolResult.Content[i])
		}
		return said
	case c.Text != "":
		return c.Text
	}
	return "[" + c.Type + "]"
}

// Tell tells what a person should know of an event, and the same thing only once in a
// run. It wants to hear all events.
func (p *Plain) Tell(e host.Event) {
	p.shown.begin(e.Run)
	if e.Notice != nil && (e.Notice.Kind != host.NoticeOffline || p.Screen.Terminal()) {
		p.once("junction: %s\n", line(e.Notice))
	}
	if r := e.Returned; r != nil && r.Task > 0 {
		p.Screen.Printf("junction: %s: task %d is over: %s\n", plaintext.Line(r.Server+"/"+r.Tool, maxName), r.Task, plaintext.Line(r.Text, maxNotice))
	}
}

// line is a notice as a line.
func line(n *host.Notice) string {
	from := ""
	switch {
	case n.Server != "" && n.Tool != "":
		from = plaintext.Line(n.Server+"/"+n.Tool, maxName) + ": "
	case n.Server != "" && !strings.Contains(n.Text, n.Server):
		from = plaintext.Line(n.Server, maxName) + ": "
	}
	return from + plaintext.Line(n.Text, maxNotice)
}
