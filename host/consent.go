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

// mayCall decides whether a call of a tool may run, and asks the user where that needs a yes.
func (r *run) mayCall(ctx context.Context, call *model.Call, t *tool) *consent.Judgement {
	asked := consent.Call{Input: policy.Input{
		Server: t.ref.Server, Origin: t.origin(), Tool: t.ref.Tool, Title: t.title(), Arguments: call.Arguments,
		Annotations: claims(t.claimed()), Trusted: t.server.trusted(), Client: "junction",
	}, Public: t.server.Public, Local: t.server.Local && !t.member, Schema: t.sent.Schema}
	return r.permit(ctx, asked, Card{
		CallID: call.ID, Server: t.ref.Server, Tool: t.ref.Tool, Title: t.title(), Description: t.Description,
		Arguments: call.Arguments, Annotations: t.annotations(), Reads: t.heldToRead(), Trusted: asked.Trusted, CanTrust: !t.member && !asked.Trusted,
	})
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

// permit has a call decided about, and the user asked where that needs a yes.
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

// The values of [Consented].By.
const (
	byPolicy   = "policy"
	byPerson   = "person"
	bySession  = "session"  // a rule that the user made for this session
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

// consent asks the user. That they are asked stands in the record meanwhile: a program that ends then has not made the call.
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

// hold makes the rule of a verdict hold for as long as the user said.
func (r *run) hold(v Verdict) error {
	if !v.Question || v.Rule.Effect != policy.Allow {
		return r.h.Rule(*v.Rule, v.Forever)
	}
	rule := *v.Rule
	rule.Source = questionSource
	return r.c.decider.Grant(rule)
}

// refused returns what the model gets for a no.
func refused(v Verdict, err error, reasons []string) string {
	switch {
	case errors.Is(err, ErrNobody):
		return "Not allowed: no user can be asked (" + strings.Join(reasons, "; ") + "). Tell the user what to allow."
	case err != nil:
		return "Not allowed: the user could not be asked (" + excerpt.Clean(err.Error()) + ")."
	case v.Note != "":
		return "The user did not allow this call, and writes: " + v.Note
	}
	return "The user did not allow this call. Do not try to do the same in another way; go on without it, or explain why it is needed."
}

// strangers returns the definitions of servers that are not trusted and whose words the model was given before any result.
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

// maxNoted is the number of sources that a note names.
const maxNoted = 50

// noter returns the Noter of a request to a server; nil where there is none.
func (r *run) noter(s *server, method, name string) mcp.Noter {
	if r.h.options.Noter == nil {
		return nil
	}
	return r.h.options.Noter(s.Name, method, name)
}

// hearing returns ctx with a Noter, if there is one.
func hearing(ctx context.Context, n mcp.Noter) context.Context {
	if n == nil {
		return ctx
	}
	return mcp.WithNoter(ctx, n)
}

// A notedFlow is the note of a call's labels: those of what the conversation had read before it, or of what it brought.
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

// skillsOfOthers returns why the user is asked before a resource of a server is read: a skill of another server, which
// is not trusted, may have led to it.
func (r *run) skillsOfOthers(s *server) string {
	for _, from := range r.c.decider.Sources(guard.Untrusted) {
		other, found := r.h.serverNamed(from.Server)
		if found && other != s && strings.HasSuffix(from.URI, skillMain) && other.skillOf(from.URI) != nil {
			return fmt.Sprintf("The conversation has read the skill %s of server %q, which may have led to this reading of server %q.", from.URI, from.Server, s.Name)
		}
	}
	return ""
}
