package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/guard"
)

// maxReviews is the number of times in one conversation that a user reviews changes of one server.
// A server that changes at every step would otherwise wear the user out until they approve.
const maxReviews = 3

// review asks the user about all new and changed definitions of all servers at once, before the
// model sees them. It does not ask again about refused definitions until they change.
func (h *Host) review(ctx context.Context, c *Conversation) error {
	select { // one review at a time
	case h.reviewing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-h.reviewing }()
	var reviews []Review
	var pending []*pendingReview
	for _, s := range h.servers {
		if s.trusted() || !s.isReady() || c.isOff(s.Name) {
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
		var answer ReviewAnswer // no answer counts as a no
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

// pendingReview is a review that the user must answer about one server.
type pendingReview struct {
	Review
	server      *server
	definitions []guard.Definition
	hashes      string
}

// pendingReview returns the review of a server's new and changed definitions, or nil if there is
// nothing to ask.
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

// what describes the content of the review. A server that only has another command is not called
// new.
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

// reviewed applies the user's answer about one server. An error that ended the review does not undo
// an approval.
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
	if err == nil { // a definition without an answer is reviewed again
		h.refuse(p.Server, p.hashes)
	}
	return nil
}

// mayReview counts the reviews of a server's changes and reports whether one more may be shown. It
// sends a notice the first time that it returns false.
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
