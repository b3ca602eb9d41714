package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/guard"
)

// maxReviews is how often a user is shown in one conversation what a server changed.
// Whoever changes at every step wears a user out until they say yes.
const maxReviews = 3

// review asks the user about every definition that is new or changed, of all servers
// at once, before the model sees it. What was refused is not asked again until it changes.
func (h *Host) review(ctx context.Context, c *Conversation) error {
	select { // one review after the other
	case h.reviewing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-h.reviewing }()
	var reviews []Review
	var pending []*pendingReview
	for _, s := range h.servers {
		if s.trusted() || !s.answers() || c.isOff(s.Name) {
			continue
		}
		if p := h.pendingReview(c, s); p != nil {
			reviews, pending = append(reviews, p.Review), append(pending, p)
		}
	}
	if len(pending) == 0 {
		return nil
	}
	answers, err := h.options.Person.Review(ctx, reviews)
	if err == nil && len(answers) != len(reviews) {
		err = fmt.Errorf("%d of %d servers were reviewed", len(answers), len(reviews))
	}
	var errs []error
	for i, p := range pending {
		var answer ReviewAnswer // a no where there is none
		if i < len(answers) && answers[i].Approve {
			answer = answers[i]
		}
		errs = append(errs, h.reviewed(c, p, answer, err))
	}
	if err != nil && !errors.Is(err, ErrNobody) {
		errs = append(errs, fmt.Errorf("the review of the servers' definitions: %w", err))
	}
	return errors.Join(errs...)
}

// pendingReview is what a user has to be asked about one server.
type pendingReview struct {
	Review
	server      *server
	definitions []guard.Definition
	hashes      string
}

// pendingReview returns nil where there is nothing to ask.
func (h *Host) pendingReview(c *Conversation, s *server) *pendingReview {
	p := &pendingReview{Review: Review{Server: s.Name}, server: s}
	var hashes strings.Builder
	for _, d := range s.definitions() {
		d.Origin = cmp.Or(d.Origin, s.origin())
		verdict := h.pins.Check(d)
		if verdict.State == guard.Same {
			continue
		}
		p.definitions = append(p.definitions, d)
		hashes.WriteString(verdict.Hash)
		p.Items = append(p.Items, h.item(d, verdict))
	}
	p.hashes = hashes.String()
	if len(p.definitions) == 0 || h.wasRefused(s.Name, p.hashes) {
		return nil
	}
	p.First = len(h.pins.Approved(s.Name)) == 0
	if !c.mayReview(&p.Review) {
		return nil
	}
	return p
}

// what returns what a user would be asked about. A server that was approved is not new because its command is another one.
func (p *pendingReview) what() string {
	if len(p.definitions) == 1 && !p.First {
		switch p.definitions[0].Kind {
		case guard.Command:
			return "its command, variables or URL changed since the approval"
		case guard.Version:
			return "its version or name changed since the approval"
		}
	}
	return fmt.Sprintf("%d of its definitions are new or changed (%s)", len(p.definitions), guard.Counted(p.definitions))
}

// reviewed makes the user's answer about one server hold. What ended the review, if
// anything did, does not undo a yes.
func (h *Host) reviewed(c *Conversation, p *pendingReview, said ReviewAnswer, err error) error {
	if said.Approve {
		err = nil
	}
	if errors.Is(err, ErrNobody) {
		h.refuse(p.Server, p.hashes)
		h.notice(Notice{Kind: NoticeServer, Server: p.Server, Text: fmt.Sprintf("server %q: %s, so the model does not get it: %v", p.Server, p.what(), err)})
		return nil
	}
	event := Reviewed{Server: p.Server, First: p.First, Definitions: len(p.definitions), Approved: said.Approve, Trusted: said.Trust}
	var reading []guard.Definition
	for i, d := range p.definitions {
		if said.Approve && said.Reads && p.Items[i].Silent {
			reading = append(reading, d)
		}
	}
	event.Reading = len(reading)
	if err != nil {
		event.Error = err.Error()
	}
	h.tell(Event{Reviewed: &event})
	if said.Trust {
		c.trust(p.Server, said.Forever)
	}
	if said.Approve {
		return h.approve(p.server, p.definitions, reading)
	}
	if err == nil { // what was not answered is asked about again
		h.refuse(p.Server, p.hashes)
	}
	return nil
}

// mayReview counts the reviews of what a server changed, and reports whether the user
// is to be shown one more. That they are not is said once.
func (c *Conversation) mayReview(review *Review) bool {
	if review.First {
		return true
	}
	c.mu.Lock()
	c.reviews[review.Server]++
	n := c.reviews[review.Server]
	c.mu.Unlock()
	if n == maxReviews+1 {
		c.host.notice(Notice{Kind: NoticeReviews, Server: review.Server, Text: fmt.Sprintf(
			"server %q changes its definitions again and again: after %d reviews in this conversation, further changes are set aside without a question", review.Server, maxReviews)})
	}
	return n <= maxReviews
}
