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

// mayCall decides whether a call may run, and asks the user if necessary.
func (r *run) mayCall(ctx context.Context, call *model.Call, t *tool) *consent.Judgement {
	asked := consent.Call{Input: policy.Input{
		Server: t.ref.Server, Origin: t.origin(), Tool: t.ref.Tool, Title: t.title(), Arguments: call.Arguments,
		Annotations: policyAnnotations(t.claimed()), Trusted: t.server.trusted(), Client: "junction",
	}, Public: t.server.Public, Local: t.server.Local && !t.member, Schema: t.sent.Schema}
	return r.permit(ctx, asked, ApprovalCard{
		CallID: call.ID, Server: t.ref.Server, Tool: t.ref.Tool, Title: t.title(), Description: t.Description,
		Arguments: call.Arguments, Annotations: t.annotations(), Reads: t.heldToRead(), Trusted: asked.Trusted, CanTrust: !t.member && !asked.Trusted,
	})
}

// mayRead decides whether a resource may be read, and asks the user if necessary. It returns the
// refusal for the model, or "".
func (r *run) mayRead(ctx context.Context, call *model.Call, s *server, uri string) (refusal string) {
	claim, trusted := s.reading(), s.trusted()
	in := policy.Input{Method: "resources/read", Server: s.Name, Origin: s.origin(), Resource: uri, Annotations: policyAnnotations(claim), Trusted: trusted, Client: "junction"}
	j := r.permit(ctx, consent.Call{Input: in, Public: s.Public, Also: r.skillsOfOthers(s)}, ApprovalCard{
		CallID: call.ID, Server: s.Name, Resource: uri, Annotations: claim, Trusted: trusted, CanTrust: !trusted, Arguments: call.Arguments,
	})
	if j.Refusal != "" {
		return j.Refusal
	}
	return r.c.decider.TakenBack(ctx, j, s.trusted()) // the permission may have been withdrawn while the user was asked
}

// permit decides about a call, and asks the user if necessary.
func (r *run) permit(ctx context.Context, call consent.Call, card ApprovalCard) *consent.Judgement {
	call.Said, call.Definitions = r.userText, r.strangers
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

// consented reports the decision about a call as an event and as a note.
func (r *run) consented(ctx context.Context, j *consent.Judgement, card *ApprovalCard, event Consented) {
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

// Values of [Consented].By.
const (
	byPolicy   = "policy"
	byPerson   = "person"
	bySession  = "session"  // rule that the user made for this session
	byQuestion = "question" // rule that the user made for this question
	byHost     = "host"     // no user could answer, or the run ended before the answer
)

// askPerson asks the user, applies the answer and reports it. It returns the text for the model if
// the answer is no, and "" otherwise.
func (r *run) askPerson(ctx context.Context, j *consent.Judgement, card ApprovalCard) (refusal string) {
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
		return refusalText(verdict, err, j.Reasons)
	}
	if verdict.Trust && card.CanTrust {
		r.c.trust(card.Server, verdict.Forever)
	}
	return ""
}

// consent asks the user. The record holds the open question until the answer, so that after a crash
// it is known that the calls were not made.
func (r *run) consent(ctx context.Context, card ApprovalCard) (Verdict, error) {
	unmade := r.requestedCalls
	if unmade == nil { // one of several concurrent calls: the others may have been made
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

// hold adds the rule of a verdict for the duration that the user chose.
func (r *run) hold(v Verdict) error {
	if !v.Question || v.Rule.Effect != policy.Allow {
		return r.h.Rule(*v.Rule, v.Forever)
	}
	rule := *v.Rule
	rule.Source = questionSource
	return r.c.decider.Grant(rule)
}

// refusalText returns the text that the model gets for a no.
func refusalText(v Verdict, err error, reasons []string) string {
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

// strangers returns the sources of the definitions that the model got from untrusted servers before
// any result.
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

// read records that the model has read a tool's result, and reports suspicious text in it.
func (r *run) read(ctx context.Context, t *tool, text string) {
	r.readAs(ctx, t, guard.LabelsOf(t.server.trust(), hints(t.annotations())), text)
}

func (r *run) readAs(ctx context.Context, t *tool, labels guard.Labels, text string) {
	r.suspect(t.ref.Server, t.ref.Tool, text, guard.InResult)
	from := t.source()
	r.c.decider.Read(from, labels, text)
	noteResult(ctx, from, labels)
}

// readText records that the model has read a resource or a prompt.
func (r *run) readText(ctx context.Context, s *server, uri, text string, part guard.Part) {
	r.suspect(s.Name, uri, text, part)
	from, labels := s.source(uri), guard.LabelsOf(s.trust(), hints(s.reading()))
	r.c.decider.Read(from, labels, text)
	noteResult(ctx, from, labels)
}

// suspect reports suspicious places in a text. It decides nothing: decisions follow from the flow
// of data, whatever a text contains.
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

// observer returns the NoteObserver for a request to a server, or nil.
func (r *run) observer(s *server, method, name string) mcp.NoteObserver {
	if r.h.options.NoteObserver == nil {
		return nil
	}
	return r.h.options.NoteObserver(s.Name, method, name)
}

// withObserver returns ctx with n, if n is not nil.
func withObserver(ctx context.Context, n mcp.NoteObserver) context.Context {
	if n == nil {
		return ctx
	}
	return mcp.WithNoteObserver(ctx, n)
}

// A notedFlow is the note about the labels of a call. They are the labels of everything that the
// conversation read before the call, or those of the result.
type notedFlow struct {
	Of      string       `json:"of"` // call or result
	Labels  guard.Labels `json:"labels"`
	Sources []string     `json:"sources,omitempty"` // sources of text with these labels
	More    int          `json:"more,omitempty"`    // number of sources not listed
}

// noteFlow notes the labels of the text that a call could carry to a server.
func (r *run) noteFlow(ctx context.Context) {
	n := mcp.NoteObserverOf(ctx, note.Labels)
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

// noteResult notes the labels of the result of a call.
func noteResult(ctx context.Context, from guard.Source, labels guard.Labels) {
	if n := mcp.NoteObserverOf(ctx, note.Labels); n != nil {
		n.Note(note.Labels, notedFlow{Of: "result", Labels: labels, Sources: []string{from.String()}})
	}
}

// noteDecision notes the decision about a call and the origin of the decision.
func noteDecision(ctx context.Context, said policy.Decision, event *Consented) {
	n := mcp.NoteObserverOf(ctx, note.Policy)
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

// skillsOfOthers returns a reason to ask before a resource of server s is read, or "". The reason
// is that the conversation has read a skill of another, untrusted server, which may have led to
// this request.
func (r *run) skillsOfOthers(s *server) string {
	for _, from := range r.c.decider.Sources(guard.Untrusted) {
		other, found := r.h.serverNamed(from.Server)
		if found && other != s && strings.HasSuffix(from.URI, skillMain) && other.skillOf(from.URI) != nil {
			return fmt.Sprintf("The conversation has read the skill %s of server %q, which may have led to this reading of server %q.", from.URI, from.Server, s.Name)
		}
	}
	return ""
}
