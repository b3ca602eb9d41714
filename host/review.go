package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
)

// maxReviews is how often a person is shown in one conversation what a server changed.
// Whoever changes at every step wears a person out until they say yes.
const maxReviews = 3

// review asks the person about every definition that is new or changed, of all servers
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
		err = fmt.Errorf("%d of %d servers were answered about", len(answers), len(reviews))
	}
	var errs []error
	for i, p := range pending {
		errs = append(errs, h.reviewed(c, p, answered(answers, i), err))
	}
	if err != nil && !errors.Is(err, ErrNobody) {
		errs = append(errs, fmt.Errorf("the review of what servers define: %w", err))
	}
	return errors.Join(errs...)
}

// answered is the answer about one server: a no where there is none.
func answered(answers []ReviewAnswer, i int) ReviewAnswer {
	if i >= len(answers) || !answers[i].Approve {
		return ReviewAnswer{}
	}
	return answers[i]
}

// pendingReview is what a person has to be asked about one server.
type pendingReview struct {
	Review
	server      *server
	definitions []guard.Definition
	hashes      string
}

// pendingReview is nil where there is nothing to ask.
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

// what says what a person would be asked about. A server that was approved is not new because its command is another one.
func (p *pendingReview) what() string {
	if len(p.definitions) == 1 && !p.First {
		switch p.definitions[0].Kind {
		case guard.Command:
			return "it is started or reached in another way than the one that was approved (its command, its variables or its URL)"
		case guard.Version:
			return "it has another version, or another name, than the one that was approved"
		}
	}
	return fmt.Sprintf("%d of what it defines is new or changed (%s)", len(p.definitions), guard.Counted(p.definitions))
}

// reviewed makes the person's answer about one server hold. What ended the review, if
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
	if said.Approve && said.Reads {
		reading = p.silent()
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

// silent are the tools of which the server does not say whether they only read.
func (p *pendingReview) silent() (all []guard.Definition) {
	for i, d := range p.definitions {
		if p.Items[i].Silent {
			all = append(all, d)
		}
	}
	return all
}

// readHint is what a definition says about whether the tool only reads; nil where it says nothing.
func readHint(d guard.Definition) *bool {
	var a mcp.ToolAnnotations
	if d.Kind != guard.Tool || len(d.Annotations) > 0 && json.Unmarshal(d.Annotations, &a) != nil {
		return new(false)
	}
	return a.ReadOnlyHint
}

// mayReview counts the reviews of what a server changed, and reports whether the person
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
			"server %q changes its definitions again and again: after %d reviews in this conversation, what it changes is set aside and not asked about any more", review.Server, maxReviews)})
	}
	return n <= maxReviews
}

// ReviewAgain has the person asked again, before the model's next step, about what
// they refused of a server, and about what was set aside as the server changed too
// often. The error says that there is no such server, or nothing to be reviewed of it.
func (c *Conversation) ReviewAgain(name string) error {
	h := c.host
	s, found := h.serverNamed(name)
	if !found {
		return noServer(name)
	}
	if s.trusted() || !slices.ContainsFunc(s.definitions(), func(d guard.Definition) bool { return !s.pinned(d) }) {
		return fmt.Errorf("nothing to review for server %q", name)
	}
	c.mu.Lock()
	delete(c.reviews, name)
	c.mu.Unlock()
	h.refuse(name, "")
	h.changes.Add(1)
	return nil
}

// Definitions are all that a person would be asked to approve of a server, as it was read last. The error says that there is no such
// server, or why nothing could be read.
func (h *Host) Definitions(server string) ([]guard.Definition, error) {
	s, found := h.serverNamed(server)
	if !found {
		return nil, noServer(server)
	}
	if !s.answers() {
		_, err := s.state()
		if err == nil {
			err = errors.New("nobody waited for it")
		}
		return nil, fmt.Errorf("server %q: what it offers could not be read: %w", server, err)
	}
	return s.definitions(), nil
}

// definitions are all that is pinned of a server.
func (s *server) definitions() []guard.Definition {
	offer := s.current()
	all := s.identity(offer)
	if offer.instructions != "" {
		all = append(all, instructionsOf(s, offer.instructions))
	}
	for _, t := range offer.tools {
		all = append(all, t.definition)
	}
	for _, p := range offer.prompts {
		all = append(all, review.Prompt(s.Name, p))
	}
	for _, v := range offer.views {
		all = append(all, v.definition)
	}
	for _, skill := range offer.skills {
		all = append(all, definitionOfSkill(s.Name, skill))
	}
	return all
}

// item shows one definition as a person must see it.
func (h *Host) item(d guard.Definition, verdict guard.Verdict) ReviewItem {
	item := ReviewItem{Kind: string(d.Kind), Name: d.Name, Changed: verdict.State == guard.Changed, Findings: h.suspicions(d)}
	if hint := readHint(d); hint != nil {
		item.Reads = *hint
	} else {
		item.Silent = true
	}
	if d.Kind == guard.Command || d.Kind == guard.Version {
		item.Value = guard.Visible(d.Text)
	}
	if item.Changed {
		item.Text = guard.Diff(verdict.Old, d)
	} else {
		item.Text = whole(d)
	}
	return item
}

// whole is a definition as a person reads it: a line for each field, or several that are indented.
func whole(d guard.Definition) string {
	var b strings.Builder
	for _, c := range guard.Changes(guard.Definition{Kind: d.Kind, Server: d.Server, Name: d.Name}, d) {
		text := " " + strings.TrimRight(c.New, "\n")
		if strings.Contains(text, "\n") {
			text = "\n  " + strings.ReplaceAll(text[1:], "\n", "\n  ")
		}
		b.WriteString(c.Field + ":" + text + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// approve pins definitions; reading are those of them that the person holds to only read.
func (h *Host) approve(s *server, definitions, reading []guard.Definition) error {
	err := h.pins.Approve(definitions...)
	for _, d := range reading {
		if t := s.toolOf(d); t != nil && err == nil {
			err = h.pins.ApproveReading(t.origin(), d)
		}
	}
	if err != nil {
		return fmt.Errorf("server %q: %w", s.Name, err)
	}
	h.changes.Add(1)
	if h.options.Pins == nil {
		return nil
	}
	if err := h.pins.Save(); err != nil {
		h.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf("the approval of server %q holds until the end of the program only: %v", s.Name, err)})
	}
	return nil
}

func (h *Host) wasRefused(server, hashes string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refused[server] == hashes
}

func (h *Host) refuse(server, hashes string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refused[server] = hashes
}

// toolOf is the tool of a definition, if there still is one of its name.
func (s *server) toolOf(d guard.Definition) *tool {
	for _, t := range s.current().tools {
		if t.Name == d.Name {
			return t
		}
	}
	return nil
}
