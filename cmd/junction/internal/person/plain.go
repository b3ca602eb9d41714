package person

import (
	"context"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/approval"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
)

// Plain is the user at a plain terminal. It implements [host.Person]. It must not be copied.
type Plain struct {
	Person *terminal.Person // nil if no user can be asked
	Screen *terminal.Screen // shows decisions that were made without asking; required
	Desk   *answer.Desk     // answers forms; required
	// OnDisk reads files in the user's folders, as in [tui.Options]. If it is nil, no files are
	// read.
	OnDisk func(path string) (text string, ok bool)

	shown shown
}

const (
	maxName   = 200    // largest number of characters of a shown name
	maxNotice = 20_000 // largest number of characters of a notice
	maxReason = 1_000
)

// CommandLine is the source of rules on the command line. If no user can be asked, such a rule
// allows calls in advance. It also allows a call about which the user would be asked because of
// earlier inputs, but never a call that carries a secret.
const CommandLine = "command line"

// cards returns a [host.Person] that shows cards line by line.
func (p *Plain) cards() host.Person { return tui.NewLines(p.Person, p.OnDisk) }

// Consent shows the card and asks the user.
func (p *Plain) Consent(ctx context.Context, card host.ApprovalCard) (host.Verdict, error) {
	if p.Person == nil {
		return p.inAdvance(card)
	}
	return p.cards().Consent(ctx, card)
}

// Review shows the definitions of servers and asks about them.
func (p *Plain) Review(ctx context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	if p.Person == nil {
		p.once("junction: no user can review %s\n", approvals(reviews))
		return nil, host.ErrNobody
	}
	return p.cards().Review(ctx, reviews)
}

// inAdvance returns the verdict of the command line about a call.
func (p *Plain) inAdvance(card host.ApprovalCard) (host.Verdict, error) {
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
		remedy = "  (a call with an apparent secret needs your yes at a terminal)\n"
	case card.Resource == "":
		remedy = fmt.Sprintf("  (--allow '%s' allows it in advance)\n", name(card))
	}
	p.once("junction: %s was not called: no user can allow it (%s)\n%s", name(card), reasons, remedy)
	return host.Verdict{}, host.ErrNobody
}

func name(card host.ApprovalCard) string {
	what := card.Tool
	if card.Resource != "" {
		what = card.Resource
	}
	return plaintext.Line(card.Server+"/"+what, maxName)
}

// approvals returns the servers that no user can review, and the flags that would approve them in
// advance.
func approvals(reviews []host.Review) string {
	var names, first, changed []string
	for i := range reviews {
		name := plaintext.Line(reviews[i].Server, maxName)
		names = append(names, name)
		if byName(&reviews[i]) {
			first = append(first, "--approve "+name)
		} else {
			changed = append(changed, "--approve "+name+"@"+approval.Hash(reviews[i]))
		}
	}
	text := strings.Join(names, ", ")
	if len(first) > 0 {
		text += "\n  (to approve what there is now: " + strings.Join(first, " ") + ")"
	}
	if len(changed) > 0 {
		text += "\n  (to approve what has changed, which junction chat shows: " + strings.Join(changed, " ") + ")"
	}
	return text
}

// Elicit answers a form according to the flags, or asks the user.
func (p *Plain) Elicit(ctx context.Context, f host.Form) (*mcp.ElicitResult, error) {
	return p.Desk.Answer(ctx, f)
}

// Sample shows a server's request to the model and asks the user.
func (p *Plain) Sample(ctx context.Context, s host.Sampling) (bool, error) {
	if p.Person == nil {
		p.once("junction: server %s wanted to use the model, and no user can allow it\n", plaintext.Line(s.Server, maxName))
		return false, host.ErrNobody
	}
	return p.cards().Sample(ctx, s)
}

// Tell shows the parts of an event that a user should know. It shows each text only once in a run.
// It must be called with all events.
func (p *Plain) Tell(e host.Event) {
	p.shown.begin(e.Run)
	if e.Notice != nil && (e.Notice.Kind != host.NoticeOffline || p.Screen.Terminal()) {
		p.once("junction: %s\n", line(e.Notice))
	}
	if r := e.Returned; r != nil && r.Task > 0 {
		p.Screen.Printf("junction: %s: task %d is over: %s\n", plaintext.Line(r.Server+"/"+r.Tool, maxName), r.Task, plaintext.Line(r.Text, maxNotice))
	}
}

// line returns a notice as one line.
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
