package person

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// Plain is a person at a plain terminal. It is a [host.Person]. It must not be copied.
type Plain struct {
	Person *terminal.Person // nil if nobody is there
	Screen *terminal.Screen // shows what was decided without asking; required
	Desk   *answer.Desk     // answers forms; required

	shown shown
}

const (
	maxName   = 200    // characters of a name that is shown
	maxText   = 20_000 // of a text
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
	p.show(card)
	choices := "[y]es, [N]o"
	if len(card.Always) > 0 {
		choices += ", [s]ession, [a]lways"
	}
	typed, err := p.Person.Line(ctx, "Allow? "+choices+", or say why not > ")
	if err != nil {
		return host.Verdict{}, err
	}
	switch word := strings.ToLower(strings.TrimSpace(typed)); {
	case word == "y", word == "yes":
		return host.Verdict{Allow: true}, nil
	case word == "", word == "n", word == "no":
		return host.Verdict{}, nil
	case (word == "s" || word == "session" || word == "a" || word == "always") && len(card.Always) > 0:
		return p.always(ctx, card, word[0] == 'a')
	}
	return host.Verdict{Note: typed}, nil
}

// inAdvance is what the command line says about a call.
func (p *Plain) inAdvance(card host.Card) (host.Verdict, error) {
	reasons := plaintext.Line(strings.Join(card.Reasons, "; "), maxReason)
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

// show shows a card, with all that will be sent.
func (p *Plain) show(card host.Card) {
	p.Person.Printf("\n%s wants to be called", name(card))
	if card.Title != "" {
		p.Person.Printf(": %s", plaintext.Line(card.Title, maxName))
	}
	p.Person.Printf("\n")
	for _, line := range strings.Split(indented(card.Arguments), "\n") {
		p.Person.Printf("  %s\n", guard.Visible(line))
	}
	p.Person.Printf("  %s\n", claims(card))
	for _, reason := range card.Reasons {
		p.Person.Printf("  asked because: %s\n", plaintext.Line(reason, maxReason))
	}
}

// claims says what the server says of the tool.
func claims(card host.Card) string {
	is := func(hint *bool, otherwise bool) bool {
		if hint == nil {
			return otherwise
		}
		return *hint
	}
	a := card.Annotations
	var words []string
	if is(a.ReadOnlyHint, false) {
		words = append(words, "only reads")
	} else {
		words = append(words, "writes")
		if is(a.DestructiveHint, true) {
			words = append(words, "may destroy")
		}
	}
	if is(a.OpenWorldHint, true) {
		words = append(words, "deals with the outside world")
	}
	text := strings.Join(words, ", ")
	if !card.Trusted {
		return "says the server, which nobody vouched for: " + text
	}
	return text
}

func indented(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return string(raw)
	}
	return string(b)
}

// always asks how far a rule reaches.
func (p *Plain) always(ctx context.Context, card host.Card, forever bool) (host.Verdict, error) {
	for i, a := range card.Always {
		p.Person.Printf("  %d  %s\n     %s\n", i+1, a.Label, plaintext.Line(a.Rule.String(), maxReason))
	}
	typed, err := p.Person.Line(ctx, "Which rule? (number; anything else allows this call only) > ")
	if err != nil {
		return host.Verdict{}, err
	}
	var n int
	if _, err := fmt.Sscanf(strings.TrimSpace(typed), "%d", &n); err != nil || n < 1 || n > len(card.Always) {
		return host.Verdict{Allow: true}, nil
	}
	return host.Verdict{Allow: true, Rule: &card.Always[n-1].Rule, Forever: forever}, nil
}

// Review shows what a server defines and asks.
func (p *Plain) Review(ctx context.Context, r host.Review) (bool, error) {
	server := plaintext.Line(r.Server, maxName)
	if p.Person == nil {
		return false, fmt.Errorf("%w (--approve %s approves what there is now)", host.ErrNobody, server)
	}
	end, err := p.Person.Begin(ctx)
	if err != nil {
		return false, err
	}
	defer end()
	what := "changed what it defines"
	if r.First {
		what = "is new"
	}
	p.Person.Printf("\nServer %s %s: %s.\n", server, what, counted(len(r.Items), "definition"))
	for _, item := range r.Items {
		if item.Changed || len(item.Findings) > 0 {
			p.item(item)
		}
	}
	for {
		typed, err := p.Person.Line(ctx, "Let the model use it? [y]es, [N]o, [s]how all > ")
		if err != nil {
			return false, err
		}
		word := strings.ToLower(strings.TrimSpace(typed))
		if word != "s" && word != "show" {
			return word == "y" || word == "yes", nil
		}
		for _, item := range r.Items {
			p.item(item)
		}
	}
}

func (p *Plain) item(item host.ReviewItem) {
	p.Person.Printf("\n%s %s\n", item.Kind, plaintext.Line(item.Name, maxName))
	for _, f := range item.Findings {
		p.Person.Printf("  ! %s: %s (%s)\n", f.Severity, f.Why, f.Excerpt)
	}
	text := item.Text
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + " […]"
	}
	for _, line := range strings.Split(text, "\n") {
		p.Person.Printf("  %s\n", line)
	}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
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
		p.Person.Printf("  system: %s\n", plaintext.Line(s.Request.SystemPrompt, maxText))
	}
	for i := range s.Request.Messages {
		m := &s.Request.Messages[i]
		for j := range m.Content {
			p.Person.Printf("  %s: %s\n", plaintext.Line(string(m.Role), maxName), plaintext.Line(saying(&m.Content[j]), maxText))
		}
	}
	for i := range s.Request.Tools {
		t := &s.Request.Tools[i]
		p.Person.Printf("  tool %s: %s\n", plaintext.Line(t.Name, maxName), plaintext.Line(t.Description, maxText))
	}
	for _, warning := range s.Warnings {
		p.Person.Printf("  ! %s\n", plaintext.Line(warning, maxReason))
	}
	typed, err := p.Person.Line(ctx, "Allow? [y]es, [N]o > ")
	if err != nil {
		return false, err
	}
	word := strings.ToLower(strings.TrimSpace(typed))
	return word == "y" || word == "yes", nil
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
	return from + plaintext.Line(n.Text, maxText)
}
