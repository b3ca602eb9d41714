package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host/internal/consent"
	"github.com/junction-mcp/junction/host/internal/excerpt"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// mayCall finds out whether a call may run. It returns what the model gets if it may not.
func (r *run) mayCall(ctx context.Context, j *job) (refusal string) {
	t := j.tool
	call := consent.Call{Input: policy.Input{
		Server: t.ref.Server, Origin: t.origin(), Tool: t.ref.Tool, Title: t.title(), Arguments: j.call.Arguments,
		Annotations: claims(t.claimed()), Trusted: t.server.trusted(), Client: "junction",
	}, Public: t.server.Public, Local: t.server.Local && !t.member, Schema: t.sent.Schema}
	j.judgement = r.permit(ctx, call, Card{
		CallID: j.call.ID, Server: t.ref.Server, Tool: t.ref.Tool, Title: t.title(), Description: t.Description,
		Arguments: j.call.Arguments, Annotations: t.annotations(), Reads: t.heldToRead(), Trusted: call.Trusted, CanTrust: !t.member && !call.Trusted,
	})
	return j.judgement.Refusal
}

// reading is what is assumed of a resource or a prompt, which no annotation speaks of: that its text comes from, and
// its address goes to, the outside world. Those of the program itself are its own text.
func (s *server) reading() mcp.ToolAnnotations {
	claim := mcp.ToolAnnotations{ReadOnlyHint: new(true)}
	if isOwn(s.Name) {
		claim.OpenWorldHint = new(false)
	}
	return claim
}

// mayRead is mayCall for the reading of a resource.
func (r *run) mayRead(ctx context.Context, call *model.Call, s *server, uri string) (refusal string) {
	claim, trusted := s.reading(), s.trusted()
	in := policy.Input{Method: "resources/read", Server: s.Name, Origin: s.origin(), Resource: uri, Annotations: claims(claim), Trusted: trusted, Client: "junction"}
	j := r.permit(ctx, consent.Call{Input: in, Public: s.Public, Also: r.skillsOfOthers(s)}, Card{
		CallID: call.ID, Server: s.Name, Resource: uri, Annotations: claim, Trusted: trusted, CanTrust: !trusted, Arguments: call.Arguments,
	})
	if j.Refusal != "" {
		return j.Refusal
	}
	return r.c.decider.TakenBack(ctx, j, s.trusted()) // an answer takes its time
}

// permit has a call decided about, and the person asked where that needs a yes.
func (r *run) permit(ctx context.Context, call consent.Call, card Card) *consent.Judgement {
	call.Said, call.Definitions = r.said, r.strangers
	r.noteFlow(ctx)
	j := r.c.decider.Consider(ctx, call, func(j *consent.Judgement) string { return r.askPerson(ctx, j, card) })
	if !j.Asked {
		by := byPolicy
		if j.Ended {
			by = byHost
		}
		r.consented(ctx, j, &card, Consented{By: by, Reason: j.Rules.Reason, Allowed: j.Refusal == ""})
	}
	return j
}

// consented tells what was decided about a call.
func (r *run) consented(ctx context.Context, j *consent.Judgement, card *Card, event Consented) {
	event.CallID, event.Server, event.Tool, event.Rule = card.CallID, card.Server, card.Tool, j.Rules.Rule.Name
	if card.Resource != "" {
		event.Tool = card.Resource
	}
	switch source := j.Rules.Rule.Source; {
	case event.By != byPolicy:
	case source == sessionSource:
		event.By = bySession
	case source == questionSource:
		event.By = byQuestion
	}
	r.tell(Event{Consent: &event})
	noteDecision(ctx, j.Rules, &event)
}

// Who decides about a call, as [Consented] names it.
const (
	byPolicy   = "policy"
	byPerson   = "person"
	bySession  = "session"  // a rule that the person made for this session
	byQuestion = "question" // one that they made for this question
	byHost     = "host"     // as nobody was there, or the run was ended meanwhile
)

// askPerson asks, makes the answer hold, and tells it. It returns what the model gets of a no.
func (r *run) askPerson(ctx context.Context, j *consent.Judgement, card Card) (refusal string) {
	card.Agent, card.Reasons, card.Secret, card.Once = r.c.agent.Name, j.Reasons, j.Secret, j.Once
	switch rule := j.Rules.Rule; {
	case j.Rules.Effect == policy.Allow:
		card.Allowed = rule
	case j.Rules.Default && strings.HasSuffix(j.Reasons[0], "; "+rule.Reason):
		card.NoRule = rule.Reason
	}
	for _, s := range j.Always {
		card.Always = append(card.Always, AlwaysRule(s))
	}
	for _, s := range j.Never {
		card.Never = append(card.Never, AlwaysRule(s))
	}
	verdict, err := r.consent(ctx, card)
	event := Consented{By: byPerson, Reason: j.Rules.Reason, Allowed: verdict.Allow && err == nil}
	switch {
	case errors.Is(err, ErrNobody):
		event.By, event.Reason = byHost, strings.Join(j.Reasons, "; ")
	case err != nil && ctx.Err() != nil:
		event.By, event.Reason = byHost, "the run was ended before there was an answer"
		r.account.use(Totals{Asked: 1})
	default:
		r.account.use(Totals{Asked: 1})
	}
	r.consented(ctx, j, &card, event)
	if err == nil && verdict.Rule != nil {
		if err := r.hold(verdict); err != nil {
			r.notice(NoticeServer, "%v", err)
		}
	}
	if !event.Allowed {
		return refused(verdict, err, j.Reasons)
	}
	if verdict.Trust && card.CanTrust {
		r.c.trust(card.Server, verdict.Forever)
	}
	return ""
}

// consent asks the person. That they are asked stands in the record meanwhile: a program that ends then has not made the call.
func (r *run) consent(ctx context.Context, card Card) (Verdict, error) {
	unmade := r.unmadeYet
	if unmade == nil { // of those that run at the same time, others may be made
		unmade = []string{card.CallID}
	}
	if err := r.c.add(Entry{Asking: &Asking{Calls: unmade}}); err != nil {
		return Verdict{}, err
	}
	verdict, err := r.h.options.Person.Consent(ctx, card)
	if unstored := r.c.add(Entry{Asking: &Asking{Calls: unmade, Answered: true}}); unstored != nil {
		return Verdict{}, unstored
	}
	return verdict, err
}

// hold makes the rule of a verdict hold for as long as the person said.
func (r *run) hold(v Verdict) error {
	if !v.Question || v.Rule.Effect != policy.Allow {
		return r.h.Rule(*v.Rule, v.Forever)
	}
	rule := *v.Rule
	rule.Source = questionSource
	return r.c.decider.Grant(rule)
}

// refused is what the model gets for a no.
func refused(v Verdict, err error, reasons []string) string {
	switch {
	case errors.Is(err, ErrNobody):
		return "Not allowed: nobody is there to be asked (" + strings.Join(reasons, "; ") + "). Say what would have to be allowed."
	case err != nil:
		return "Not allowed: the person could not be asked (" + excerpt.Clean(err.Error()) + ")."
	case v.Note != "":
		return "The person did not allow this call, and says: " + v.Note
	}
	return "The person did not allow this call. Do not try to reach the same by another way; go on without it, or say why it is needed."
}

// strangers are the definitions of servers that are not trusted and whose words the model was given before any result.
func (r *run) strangers() []guard.Source {
	var all []guard.Source
	add := func(from guard.Source) {
		if !slices.Contains(all, from) {
			all = append(all, from)
		}
	}
	for _, t := range r.given() {
		if !t.server.trusted() {
			add(guard.Source{Server: t.ref.Server, Origin: t.origin(), URI: guard.Definitions})
		}
	}
	for _, s := range r.h.servers {
		if text := s.current().instructions; text != "" && !s.trusted() && r.catalogue.has(s) && r.h.approved(s, instructionsOf(s, text)) {
			add(s.source(guard.Definitions))
		}
		if !s.trusted() && r.catalogue.has(s) && len(r.catalogue.skills[s]) > 0 {
			add(s.source(guard.Definitions))
		}
	}
	return all
}

// hints are annotations in the words of the guard.
func hints(a mcp.ToolAnnotations) guard.Annotations {
	return guard.Annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint, OpenWorld: a.OpenWorldHint}
}

// read notes that the model has read what a tool returned, and tells what is suspicious about it.
func (r *run) read(ctx context.Context, t *tool, text string) {
	r.readAs(ctx, t, guard.LabelsOf(t.server.trust(), hints(t.annotations())), text)
}

func (r *run) readAs(ctx context.Context, t *tool, labels guard.Labels, text string) {
	r.suspect(t.ref.Server, t.ref.Tool, text, guard.InResult)
	from := t.source()
	r.c.decider.Read(from, labels, text)
	noteResult(ctx, from, labels)
}

// readText notes that the model has read a resource or a prompt.
func (r *run) readText(ctx context.Context, s *server, uri, text string, part guard.Part) {
	r.suspect(s.Name, uri, text, part)
	from, labels := s.source(uri), guard.LabelsOf(s.trust(), hints(s.reading()))
	r.c.decider.Read(from, labels, text)
	noteResult(ctx, from, labels)
}

// suspect tells what is suspicious about a text. It does not decide anything: the
// flow of data does, whatever a text says.
func (r *run) suspect(server, name, text string, part guard.Part) {
	for _, f := range r.h.texts().Scan(text, guard.Where{Part: part, Server: server, Field: name}) {
		if f.Severity >= guard.Warn {
			text := f.Why
			if f.Excerpt != "" {
				text += ": “" + f.Excerpt + "”"
			}
			r.tell(Event{Notice: &Notice{Kind: NoticeGuard, Server: server, Tool: name, Text: text}})
		}
	}
}

// suspicions are what a person should know of a definition before approving it.
func (h *Host) suspicions(d guard.Definition) []guard.Finding {
	texts := h.texts()
	findings := texts.ScanDefinition(d)
	if d.Kind == guard.Tool {
		findings = append(findings, texts.LookAlikes(d.Server, d.Name)...)
	}
	if s, found := h.serverNamed(d.Server); found && d.Kind == guard.View {
		findings = append(findings, s.viewFindings(d.Name)...)
	}
	return findings
}

// texts is what the guard must know of all servers to see what one says of another:
// their tools, by their own names and by those that the model calls them.
func (h *Host) texts() *guard.Catalogue {
	return h.guarded.get(h.changes.Load(), func() *guard.Catalogue {
		var c guard.Catalogue
		for _, s := range h.servers {
			var tools []string
			for _, t := range s.current().tools {
				tools = append(tools, t.Name, t.sent.Name)
			}
			c.Set(s.Name, tools...)
		}
		return &c
	})
}

// sessionSource is the source of rules that hold until the Host is closed.
const sessionSource = "session"

// questionSource is the source of rules that hold until a question is answered.
const questionSource = "question"

// Rule makes a rule hold until the Host is closed, or for good. The error says that
// it does not hold, or that it holds until then only, and why.
func (h *Host) Rule(rule policy.Rule, forever bool) error {
	if !forever {
		rule.Source = sessionSource
	}
	if rule.Effect != policy.Allow {
		rule.Origin, rule.After = "", "" // a ban is one of whatever goes by that name
	}
	if err := h.hold(rule); err != nil {
		return fmt.Errorf("the rule does not hold: %w", err)
	}
	if !forever {
		return nil
	}
	err := errors.New("there is no place to keep it")
	if h.options.Remember != nil {
		err = h.options.Remember(rule)
	}
	if err != nil {
		return fmt.Errorf("the rule holds until the end of the program only: %w", err)
	}
	return nil
}

// hold adds a rule to those of this Host.
func (h *Host) hold(rule policy.Rule) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	rules, err := h.rules.With(rule)
	if err != nil {
		return err
	}
	h.rules = rules
	h.changes.Add(1) // a tool that is denied goes from the model's hands
	return nil
}

func (h *Host) currentRules() *policy.Policy {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.rules
}

// Rules are the rules that hold now, those of the session included, the strictest first, and at last the default.
func (h *Host) Rules() []policy.Rule { return h.currentRules().Rules() }

// RemoveRule has a rule not hold any more, which must be one of [Host.Rules]; what
// [Options].Remember made of it stays. The error says that there is no such rule.
func (h *Host) RemoveRule(rule policy.Rule) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	fewer, had := h.rules.Without(rule)
	if !had {
		return fmt.Errorf("there is no rule %s any more", &rule)
	}
	h.rules = fewer
	h.changes.Add(1)
	return nil
}

// Disapprove forgets what was approved of a server, so that all that it defines is reviewed before the model sees it
// again. The error says that this holds until the Host is closed only, and why.
func (h *Host) Disapprove(server string) error {
	h.pins.Forget(server)
	h.refuse(server, "")
	h.changes.Add(1)
	if h.options.Pins == nil {
		return nil
	}
	if err := h.pins.Save(); err != nil {
		return fmt.Errorf("what server %q defines is approved again when the program starts: %w", server, err)
	}
	return nil
}

// Approvals are the answers of the person to calls that this conversation remembers.
func (c *Conversation) Approvals() []guard.Approval { return c.decider.Approvals() }

// Withdraw forgets one of [Conversation.Approvals], so that such a call is asked about again.
// The error says that it is not remembered, or what the record says.
func (c *Conversation) Withdraw(a guard.Approval) error {
	remembered, recorded := c.decider.Withdraw(a)
	switch {
	case !remembered:
		return fmt.Errorf("the yes to %s is not remembered any more", guard.Source{Server: a.Server, Tool: a.Tool})
	case !recorded:
		return nil
	}
	return errors.Join(c.add(Entry{Withdrawn: &a}), c.saveFlow())
}

// maxNoted is how many sources a note names.
const maxNoted = 50

// noter is who hears of what is asked of a server; nil: nobody.
func (r *run) noter(s *server, method, name string) mcp.Noter {
	if r.h.options.Noter == nil {
		return nil
	}
	return r.h.options.Noter(s.Name, method, name)
}

// hearing returns a context in which n hears of what is done with it.
func hearing(ctx context.Context, n mcp.Noter) context.Context {
	if n == nil {
		return ctx
	}
	return mcp.WithNoter(ctx, n)
}

// A notedFlow is what one who watches hears of the labels of a call: of what the conversation had read before it, or of what
// it brought.
type notedFlow struct {
	Of      string       `json:"of"` // call or result
	Labels  guard.Labels `json:"labels"`
	Sources []string     `json:"sources,omitempty"` // of text with these labels
	More    int          `json:"more,omitempty"`    // sources that are not named
}

// noteFlow says what a call could carry to a server.
func (r *run) noteFlow(ctx context.Context) {
	n := mcp.NoterOf(ctx, note.Labels)
	if n == nil {
		return
	}
	flow := notedFlow{Of: "call", Labels: r.c.decider.Labels()}
	sources := r.c.decider.Sources(flow.Labels)
	flow.More = max(0, len(sources)-maxNoted)
	for _, s := range sources[:len(sources)-flow.More] {
		flow.Sources = append(flow.Sources, s.String())
	}
	n.Note(note.Labels, flow)
}

// noteResult says how a text is labelled that a call brought.
func noteResult(ctx context.Context, from guard.Source, labels guard.Labels) {
	if n := mcp.NoterOf(ctx, note.Labels); n != nil {
		n.Note(note.Labels, notedFlow{Of: "result", Labels: labels, Sources: []string{from.String()}})
	}
}

// noteDecision says what was decided about a call, and by whom.
func noteDecision(ctx context.Context, said policy.Decision, event *Consented) {
	n := mcp.NoterOf(ctx, note.Policy)
	if n == nil {
		return
	}
	effect := policy.Deny
	if event.Allowed {
		effect = policy.Allow
	}
	n.Note(note.Policy, struct {
		Server string        `json:"server"`
		Effect policy.Effect `json:"effect"`
		Said   policy.Effect `json:"said"`
		Rule   string        `json:"rule"`
		Reason string        `json:"reason"`
		By     string        `json:"by"`
	}{event.Server, effect, said.Effect, said.Rule.String(), event.Reason, event.By})
}
