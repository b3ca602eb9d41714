package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/host/internal/outcome"
	"github.com/junction-mcp/junction/internal/picture"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// question makes messages of what a person says: a prompt of a server comes first, what is attached with the text.
func (r *run) question(ctx context.Context, q Question) ([]model.Message, error) {
	var messages []model.Message
	if q.Prompt != nil {
		var err error
		if messages, err = r.prompt(ctx, q.Prompt); err != nil {
			return nil, err
		}
	}
	said := model.Message{Role: model.RoleUser}
	if text := strings.TrimSpace(q.Text); text != "" {
		said.Parts = append(said.Parts, model.Part{Text: strings.ToValidUTF8(q.Text, "\uFFFD")})
	}
	bytes := 0
	for _, a := range q.Attach {
		bytes += len(a.Picture)
	}
	if bytes > maxPictureBytes {
		return nil, fmt.Errorf("the pictures have more than %d MiB: ask with fewer at a time, or make them smaller", maxPictureBytes>>20)
	}
	r.sharing = len(q.Attach)
	for _, a := range q.Attach {
		parts, err := r.attached(ctx, a)
		if err != nil {
			return nil, err
		}
		said.Parts = append(said.Parts, parts...)
	}
	if len(said.Parts) > 0 {
		messages = append(messages, said)
	}
	if len(messages) == 0 || messages[len(messages)-1].Role != model.RoleUser {
		if len(messages) == 0 {
			return nil, errors.New("the question is empty")
		}
		messages = append(messages, model.UserText("Go on."))
	}
	if q.Prompt != nil || len(q.Attach) > 0 {
		return messages, r.c.saveFlow() // whatever happens then, the record says whose text it holds
	}
	return messages, nil
}

// attached is what the person attached.
func (r *run) attached(ctx context.Context, a Attachment) ([]model.Part, error) {
	switch {
	case a.Picture != nil:
		return r.shownPicture(a)
	case a.Text != "":
		return r.brought(a), nil
	}
	s, why := r.h.serverOf(a.Server, a.URI)
	if s == nil {
		return nil, fmt.Errorf("@%s:%s: %s", a.Server, a.URI, why)
	}
	if !r.h.accepted(s) {
		return nil, fmt.Errorf("@%s:%s: %s", a.Server, a.URI, s.notAccepted())
	}
	ctx = hearing(ctx, r.noter(s, "resources/read", a.URI))
	result, err := s.client.ReadResource(withCall(ctx, &calling{run: r, id: "attachment", server: s}), a.URI)
	if err != nil {
		return nil, fmt.Errorf("@%s:%s: %w", a.Server, a.URI, err)
	}
	got := r.contents(ctx, s, a.URI, result, 0, "")
	got.Parts[0].Text = fmt.Sprintf("[attached: %s of server %s]\n%s\n[end of %s]", a.URI, s.Name, got.Parts[0].Text, a.URI)
	return got.Parts, nil
}

// fromPerson is where attached texts and pictures come from, for the flow of data.
const fromPerson = guard.Attached

const (
	maxPictureBytes = 12 << 20 // bytes of all pictures of one question: in base64, less than the 20 MB that Gemini takes
	maxName         = 200      // characters of the name of what was attached
)

// shownPicture is a picture that the person attached, after a text that names it. It
// counts as a text that they brought does: it may show one.
func (r *run) shownPicture(a Attachment) ([]model.Part, error) {
	a.URI = plaintext.Line(a.URI, maxName)
	p, err := picture.Read(a.Picture)
	if err != nil {
		return nil, fmt.Errorf("%s %w", a.URI, err)
	}
	r.c.decider.Read(guard.Source{Server: fromPerson, URI: a.URI}, guard.Private|guard.Untrusted, "")
	said := fmt.Sprintf("[attached: picture %s (%s)]", a.URI, p)
	return []model.Part{{Text: said}, {Media: &model.Media{Type: p.Type, Data: a.Picture}}}, nil
}

// brought is a text that the person attached. Where it comes from nobody knows, as
// of a page that was saved, so it counts as private and as a stranger's.
func (r *run) brought(a Attachment) []model.Part {
	const from = fromPerson
	a.URI = plaintext.Line(a.URI, maxName)
	whole := excerpt.Clean(a.Text)
	r.suspect(from, a.URI, whole, guard.InResource)
	r.c.decider.Read(guard.Source{Server: from, URI: a.URI}, guard.Private|guard.Untrusted, whole)
	var got outcome.Outcome
	shown := r.paged(&got, whole, ToolRef{Server: from, Tool: a.URI})
	if got.Kept != "" {
		r.notice(NoticeLimit, "of %s the model sees the first %d of %d KiB, and can read on", a.URI, r.page()>>10, len(whole)>>10)
	}
	return []model.Part{{Text: fmt.Sprintf("[attached: %s]\n%s\n[end of %s]", a.URI, shown, a.URI)}}
}

// prompt is what a server's prompt says.
func (r *run) prompt(ctx context.Context, p *PromptCall) ([]model.Message, error) {
	s, why := r.h.serverOf(p.Server, "")
	if s == nil {
		return nil, fmt.Errorf("/%s:%s: %s", p.Server, p.Name, why)
	}
	if !r.h.approvedPrompt(s, p.Name) {
		return nil, fmt.Errorf("/%s:%s: there is no such prompt, or it is not approved", p.Server, p.Name)
	}
	ctx = hearing(ctx, r.noter(s, "prompts/get", p.Name))
	result, err := s.client.GetPrompt(withCall(ctx, &calling{run: r, id: "prompt", server: s}), p.Name, p.Arguments)
	if err != nil {
		return nil, fmt.Errorf("/%s:%s: %w", p.Server, p.Name, err)
	}
	var messages []model.Message
	r.sharing = len(result.Messages)
	for i := range result.Messages {
		got := outcome.Read(result.Messages[i].Content)
		r.readText(ctx, s, p.Name, got.Whole, guard.InPrompt)
		m := model.Message{Role: model.RoleUser}
		if result.Messages[i].Role == mcp.RoleAssistant {
			m.Role = model.RoleAssistant // no other role is a server's to speak in
		}
		if shown := r.paged(&got, got.Whole, ToolRef{Server: s.Name, Tool: p.Name}); strings.TrimSpace(shown) != "" {
			m.Parts = append(m.Parts, model.Part{Text: shown})
		}
		if len(got.Parts) > 0 {
			m.Role = model.RoleUser // no provider takes an image as something that its model said
		}
		if m.Parts = append(m.Parts, got.Parts...); len(m.Parts) > 0 {
			messages = append(messages, m)
		}
	}
	if len(messages) > 0 && messages[0].Role != model.RoleUser {
		messages = append([]model.Message{model.UserText("/" + p.Server + ":" + p.Name)}, messages...)
	}
	return messages, nil
}

func (h *Host) approvedPrompt(s *server, name string) bool {
	for _, p := range s.current().prompts {
		if p.Name == name {
			return h.approved(s, review.Prompt(s.Name, p))
		}
	}
	return false
}

// PromptRef is a prompt of a server.
type PromptRef struct {
	Server string
	Prompt *mcp.Prompt
}

// ResourceRef is a resource of a server.
type ResourceRef struct {
	Server   string
	Resource *mcp.Resource
}

// TemplateRef is a resource template of a server.
type TemplateRef struct {
	Server   string
	Template *mcp.ResourceTemplate
}

// Prompts returns the prompts of all servers that are approved.
func (h *Host) Prompts() (all []PromptRef) {
	for _, s := range h.servers {
		for _, p := range s.current().prompts {
			if h.approved(s, review.Prompt(s.Name, p)) {
				all = append(all, PromptRef{s.Name, p})
			}
		}
	}
	return all
}

// Resources returns the resources of all servers that are approved.
func (h *Host) Resources() (all []ResourceRef) {
	for _, s := range h.usable() {
		for _, r := range s.current().resources {
			all = append(all, ResourceRef{s.Name, r})
		}
	}
	return all
}

// Templates returns the resource templates of all servers that are approved.
func (h *Host) Templates() (all []TemplateRef) {
	for _, s := range h.usable() {
		for _, t := range s.current().templates {
			all = append(all, TemplateRef{s.Name, t})
		}
	}
	return all
}

// usable are the servers that are accepted.
func (h *Host) usable() []*server {
	return slices.DeleteFunc(slices.Clone(h.servers), func(s *server) bool { return !h.accepted(s) })
}

// Complete asks a server to complete an argument of a prompt or of a template.
func (h *Host) Complete(ctx context.Context, server string, req mcp.CompletionRequest) (*mcp.Completion, error) {
	s, why := h.serverOf(server, "")
	if s == nil {
		return nil, fmt.Errorf("completion: %s", why)
	}
	if !h.accepted(s) {
		return nil, fmt.Errorf("completion: %s", s.notAccepted())
	}
	return s.client.Complete(ctx, req)
}

// A Plan is what is to be done in a conversation, step by step. It is part of the record, so a conversation that is
// resumed still has it. Package host/plan proposes plans and carries them out.
type Plan struct {
	Goal  string     `json:"goal,omitempty"`
	Steps []PlanStep `json:"steps"`
}

// PlanStep is one step of a Plan.
type PlanStep struct {
	Text  string `json:"text"`
	State string `json:"state,omitempty"` // one of the constants below
	Note  string `json:"note,omitempty"`  // why it failed
}

// The states of a step of a plan.
const (
	PlanOpen   = ""       // it is still to be done
	PlanBegun  = "begun"  // it is being done, or was when the program ended
	PlanDone   = "done"   // it is ticked off
	PlanFailed = "failed" // it could not be done
)

// The limits of a plan.
const (
	maxPlanSteps = 100
	maxPlanText  = 4 << 10 // bytes of the goal, of a step, and of its note
)

// Plan returns the conversation's plan; it has no steps where there is none.
func (c *Conversation) Plan() Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	plan := c.plan
	plan.Steps = slices.Clone(plan.Steps)
	return plan
}

// SetPlan replaces the conversation's plan; one without steps takes it away.
func (c *Conversation) SetPlan(p Plan) error {
	_, err := c.ChangePlan(func(Plan) (Plan, error) { return p, nil })
	return err
}

// ChangePlan replaces the conversation's plan by what change makes of it, and returns that. Where
// somebody else changed the plan meanwhile, change is called again with theirs, so that nothing is
// lost: it should do nothing but compute. Its error leaves the plan as it is.
func (c *Conversation) ChangePlan(change func(Plan) (Plan, error)) (Plan, error) {
	for {
		before := c.Plan()
		seen := before
		seen.Steps = slices.Clone(before.Steps)
		after, err := change(seen)
		if err == nil {
			err = after.check()
		}
		if err != nil {
			return before, err
		}
		after.Steps = slices.Clone(after.Steps)
		if replaced, err := c.replacePlan(before, after); replaced || err != nil {
			return after, err
		}
	}
}

// replacePlan does so unless the plan is another one by now.
func (c *Conversation) replacePlan(before, after Plan) (bool, error) {
	c.adding.Lock()
	defer c.adding.Unlock()
	if now := c.Plan(); now.Goal != before.Goal || !slices.Equal(now.Steps, before.Steps) {
		return false, nil
	}
	return true, c.addNext(Entry{Plan: &after})
}

// check says what of a plan a conversation does not take.
func (p *Plan) check() error {
	if len(p.Steps) > maxPlanSteps {
		return fmt.Errorf("the plan has %d steps: at most %d; put some of them together", len(p.Steps), maxPlanSteps)
	}
	for i, s := range append([]PlanStep{{Text: p.Goal}}, p.Steps...) {
		if i > 0 && strings.TrimSpace(s.Text) == "" || len(s.Text) > maxPlanText || len(s.Note) > maxPlanText {
			return fmt.Errorf("step %d of the plan (0 is its goal) has 1 to %d bytes, and so has its note", i, maxPlanText)
		}
		if !slices.Contains([]string{PlanOpen, PlanBegun, PlanDone, PlanFailed}, s.State) {
			return fmt.Errorf("step %d of the plan has the state %q: it is %q, %q or %q, or open with none", i, s.State, PlanBegun, PlanDone, PlanFailed)
		}
	}
	return nil
}
