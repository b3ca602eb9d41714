package person

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/answer"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/approval"
	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/terminal"
)

// maxWarned is how many kinds of warnings of a server stand in the overview.
const maxWarned = 5

// Review shows what servers bring, those with warnings first, and asks about all of them.
func (p *Plain) Review(ctx context.Context, reviews []host.Review) ([]host.ReviewAnswer, error) {
	if p.Person == nil {
		p.once("junction: nobody is there to review %s\n", approvals(reviews))
		return nil, host.ErrNobody
	}
	end, err := p.Person.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	answers := make([]host.ReviewAnswer, len(reviews))
	if len(reviews) == 1 {
		answers[0], err = p.review(ctx, reviews[0])
		return answers, err
	}
	order := worstFirst(reviews)
	calm := 0
	p.Person.Printf("\n%d servers are new or changed:\n", len(reviews))
	p.sameNames(reviews)
	for n, i := range order {
		p.overview(fmt.Sprintf("%3d  ", n+1), &reviews[i])
		if isCalm(&reviews[i]) {
			calm++
		}
	}
	for {
		typed, err := p.Person.Line(ctx, fmt.Sprintf("Let the model use them? [a]ll %d without warnings, [e]ach one by one, [N]one, or a number for details > ", calm))
		if err != nil {
			return nil, err
		}
		switch word := strings.ToLower(strings.TrimSpace(typed)); word {
		case "a", "all", "e", "each":
			for _, i := range order {
				if word[0] == 'a' && isCalm(&reviews[i]) {
					answers[i].Approve = true
				} else if answers[i], err = p.review(ctx, reviews[i]); err != nil {
					return answers, err
				}
			}
			return answers, nil
		default:
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 || n > len(order) {
				return answers, nil
			}
			p.details(&reviews[order[n-1]])
		}
	}
}

// approvals are the servers that nobody is there to review, and what would have to be said
// in advance.
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

// isCalm reports whether a server can be approved without looking at its definitions.
func isCalm(r *host.Review) bool { return r.First && approval.Of(*r).Found == 0 }

// worstFirst are the places of the reviews, those with warnings first.
func worstFirst(reviews []host.Review) []int {
	order := make([]int, len(reviews))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return min(1, approval.Of(reviews[b]).Found) - min(1, approval.Of(reviews[a]).Found)
	})
	return order
}

// review asks about one server. What changed is shown at once.
func (p *Plain) review(ctx context.Context, r host.Review) (host.ReviewAnswer, error) {
	p.Person.Discard()
	state := "New server "
	if !r.First {
		state = "Changed server "
	}
	p.Person.Printf("\n")
	p.overview(state, &r)
	p.sameNames([]host.Review{r})
	for _, item := range r.Items {
		if item.Changed {
			p.item(item)
		}
	}
	silent, offers := approval.Of(r).Silent, "[y]es, [N]o, yes and [t]rust it, "
	if len(silent) > 0 {
		offers += fmt.Sprintf("yes and its %d tools that do not say so only [r]ead, ", len(silent))
	}
	for {
		typed, err := p.Person.Line(ctx, "Let the model use it? "+offers+"[d]etails > ")
		if err != nil {
			return host.ReviewAnswer{}, err
		}
		switch word := strings.ToLower(strings.TrimSpace(typed)); word {
		case "d", "details":
			p.details(&r)
		case "t", "trust":
			trust, forever, err := p.trust(ctx, r.Server, "approves what is shown only")
			return host.ReviewAnswer{Approve: err == nil, Trust: trust, Forever: forever}, err
		case "r", "read":
			reads, err := p.reads(ctx, silent)
			return host.ReviewAnswer{Approve: err == nil, Reads: reads}, err
		default:
			return host.ReviewAnswer{Approve: word == "y" || word == "yes"}, nil
		}
	}
}

// reads asks whether tools of which a server does not say what they do only read.
func (p *Plain) reads(ctx context.Context, silent []string) (reads bool, err error) {
	if len(silent) == 0 {
		return false, nil
	}
	p.indented("  ", "Not said is what these do: "+plaintext.Line(strings.Join(silent, ", "), maxNotice)+".")
	p.Person.Printf("  Those that only read run unasked, as tools that say so, until one changes.\n")
	word, err := answer.Choose(ctx, p.Person, "Do all of them only read? [y]es (Enter approves what is shown, and counts them as writing) > ", "Expected y, or Enter alone.", "y|yes", "n|no|")
	return word == "y", err
}

// overview is a server in a line, with the command that starts it and its warnings.
func (p *Plain) overview(before string, r *host.Review) {
	o := approval.Of(*r)
	p.indented(before, plaintext.Line(o.Server, maxName)+": "+plaintext.Line(o.Line(), maxReason))
	if o.Command != "" { // all of it: it is what will run
		p.indented("     ", guard.Visible(plaintext.Unbroken(o.Command)))
	}
	for i, warning := range o.Warnings {
		if i == maxWarned {
			p.indented("     ", "! and more of another kind, among the details")
			break
		}
		p.indented("     ", "! "+plaintext.Line(warning, maxReason))
	}
}

// indented prints a text of a server on lines of which all but the first are indented: none is
// left for the terminal to break, whose lines would begin like the question.
func (p *Plain) indented(before, text string) {
	text = terminal.Wrap(text, max(len(before), 4), p.Person.Width())
	p.Person.Printf("%s%s\n", before, strings.TrimLeft(text, " "))
}

// sameNames says which tools are called as another server's, once for all servers.
func (p *Plain) sameNames(reviews []host.Review) {
	if text := approval.SameNames(reviews); text != "" {
		p.indented("     ", plaintext.Line(text, maxReason))
	}
}

func (p *Plain) details(r *host.Review) {
	for _, item := range r.Items {
		p.item(item)
	}
}

// item shows all of a definition, however long: who approves it approves all of it.
func (p *Plain) item(item host.ReviewItem) {
	p.Person.Printf("%s\n", tui.ReviewText(item, p.Person.Width()))
}
