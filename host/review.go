package host

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
)

// review asks the person about every definition that is new or changed, before
// the model sees it. What was refused is not asked again until it changes.
func (h *Host) review(ctx context.Context) error {
	select { // one review after the other
	case h.reviewing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-h.reviewing }()
	for _, s := range h.servers {
		if s.Trusted || !s.answers() {
			continue
		}
		if err := h.reviewServer(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

func (h *Host) reviewServer(ctx context.Context, s *server) error {
	review := Review{Server: s.Name}
	var definitions []guard.Definition
	var hashes strings.Builder
	for _, d := range s.definitions() {
		verdict := h.pins.Check(d)
		if verdict.State == guard.Same {
			continue
		}
		definitions = append(definitions, d)
		hashes.WriteString(verdict.Hash)
		review.Items = append(review.Items, h.item(d, verdict))
	}
	if len(definitions) == 0 || h.wasRefused(s.Name, hashes.String()) {
		return nil
	}
	review.First = len(h.pins.Approved(s.Name)) == 0
	agreed, err := h.options.Person.Review(ctx, review)
	if errors.Is(err, ErrNobody) {
		h.refuse(s.Name, hashes.String())
		h.notice(Notice{Kind: NoticeServer, Server: s.Name, Text: fmt.Sprintf(
			"server %q: %d definitions are new or changed, so the model does not get them: %v", s.Name, len(definitions), err)})
		return nil
	}
	told := Reviewed{Server: s.Name, First: review.First, Definitions: len(definitions), Approved: agreed && err == nil}
	if err != nil {
		told.Error = err.Error()
	}
	h.tell(Event{Reviewed: &told})
	if err != nil {
		return fmt.Errorf("server %q: the review of its definitions: %w", s.Name, err)
	}
	if !agreed {
		h.refuse(s.Name, hashes.String())
		return nil
	}
	return h.approve(s, definitions)
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
		all = append(all, definitionOfPrompt(s.Name, p))
	}
	return all
}

// item shows one definition as a person must see it.
func (h *Host) item(d guard.Definition, verdict guard.Verdict) ReviewItem {
	item := ReviewItem{Kind: string(d.Kind), Name: d.Name, Changed: verdict.State == guard.Changed, Findings: h.suspicions(d)}
	if item.Changed {
		item.Text = guard.Diff(verdict.Old, d)
	} else {
		item.Text = whole(d)
	}
	return item
}

// whole is a definition as a person reads it: a line for each field, or several
// that are indented.
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

func (h *Host) approve(s *server, definitions []guard.Definition) error {
	if err := h.pins.Approve(definitions...); err != nil {
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

func definitionOfPrompt(server string, p *mcp.Prompt) guard.Definition {
	return guard.Definition{Kind: guard.Prompt, Server: server, Name: p.Name, Title: p.Title, Description: p.Description, Schema: encoded(p.Arguments), Icons: encoded(p.Icons)}
}
