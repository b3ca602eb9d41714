package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// consent finds out whether a call may run: by the rules, by where the data of the
// conversation comes from, and by the person where either says so. It returns
// what the model gets if it may not.
func (r *run) consent(ctx context.Context, j *job) (refusal string) {
	t := j.tool
	in := policy.Input{
		Server: t.ref.Server, Origin: t.origin(), Tool: t.ref.Tool, Title: t.title(), Arguments: j.call.Arguments,
		Annotations: claims(t.annotations()), Trusted: t.server.trusted(), Client: "junction",
	}
	card := Card{
		CallID: j.call.ID, Server: t.ref.Server, Tool: t.ref.Tool, Title: t.title(), Description: t.Description,
		Arguments: j.call.Arguments, Annotations: t.annotations(), Trusted: t.server.trusted(), CanTrust: !t.member && !t.server.trusted(),
	}
	j.permission, refusal = r.permit(ctx, in, card, r.flowOf(t, j.call), t.sent.Schema)
	return refusal
}

// reading is what is assumed of a resource or a prompt, which no annotation speaks of: that its
// text comes from, and its address goes to, the outside world. Those of the program itself
// are its own text.
func (s *server) reading() mcp.ToolAnnotations {
	claim := mcp.ToolAnnotations{ReadOnlyHint: new(true)}
	if isOwn(s.Name) {
		claim.OpenWorldHint = new(false)
	}
	return claim
}

// consentToRead is consent to the reading of a resource.
func (r *run) consentToRead(ctx context.Context, call *model.Call, s *server, uri string) (refusal string) {
	claim := s.reading()
	in := policy.Input{Method: "resources/read", Server: s.Name, Origin: s.origin(), Resource: uri, Annotations: claims(claim), Trusted: s.trusted(), Client: "junction"}
	card := Card{CallID: call.ID, Server: s.Name, Resource: uri, Annotations: claim, Trusted: s.trusted(), CanTrust: !s.trusted(), Arguments: call.Arguments}
	p, refusal := r.permit(ctx, in, card, guard.Call{
		Server: s.Name, Origin: s.origin(), Tool: "resources/read", Arguments: []byte(uri), Trust: s.trust(), Annotations: hints(claim),
	}, nil)
	if refusal == "" {
		refusal = r.takenBack(ctx, s, p) // an answer takes its time
	}
	return refusal
}

// permit decides about one call of a tool with this schema.
func (r *run) permit(ctx context.Context, in policy.Input, card Card, flow guard.Call, schema json.RawMessage) (p permission, refusal string) {
	r.c.consenting.Lock() // one question after the other
	defer r.c.consenting.Unlock()
	p.withdrawals = r.c.withdrawals.Load()
	r.labels(&in)
	decision := r.h.currentRules().Decide(ctx, in)
	p.in, p.effect = in, decision.Effect
	event := Consented{CallID: card.CallID, Server: card.Server, Tool: card.Tool, By: byPolicy, Rule: decision.Rule.Name, Reason: decision.Reason}
	if decision.Rule.Source == sessionSource {
		event.By = bySession
	}
	if card.Resource != "" {
		event.Tool = card.Resource
	}
	if decision.Effect == policy.Deny {
		r.tell(Event{Consent: &event})
		return p, denied(decision)
	}
	r.known(&flow, &decision)
	flowing, offered := r.c.flow.Ask(flow), r.askOffered(flow, schema)
	if decision.Effect == policy.Allow && flowing.Allowed && offered.Allowed {
		event.Allowed = true
		r.tell(Event{Consent: &event})
		return p, ""
	}
	if decision.Effect == policy.Allow {
		card.Allowed = decision.Rule
	} else {
		card.Reasons = append(card.Reasons, reasonOf(decision))
	}
	card.Secret = len(flowing.Secrets) > 0
	asked := flowing.And(offered) // a yes is one to both
	if !asked.Allowed {
		card.Reasons = append(card.Reasons, notByRule(card.Allowed)+asked.Why)
	}
	card.Agent = r.c.agent.Name
	card.Always = r.h.helpful(ctx, in, asked, card.Allowed != nil)
	for _, rule := range always(in) {
		rule.Rule.Effect, rule.Rule.Origin = policy.Deny, ""
		card.Never = append(card.Never, rule)
	}
	verdict, err := r.askPerson(ctx, card, event)
	if err != nil || !verdict.Allow {
		return p, refused(verdict, err, card.Reasons)
	}
	r.agree(flow, flowing, offered)
	if verdict.Trust && card.CanTrust {
		r.c.trust(card.Server, verdict.Forever)
	}
	return p, ""
}

// known tells the guard what the person knew when they made the rules that allow a call.
func (r *run) known(call *guard.Call, decision *policy.Decision) {
	for _, rule := range decision.Allowing() {
		call.Chosen = call.Chosen || rule.IsFor(call.Server)
		if rule.After == "" {
			continue
		}
		for _, from := range slices.Concat(r.c.flow.Sources(guard.Private|guard.Untrusted), r.strangers()) {
			if rule.Covers(from.Server, from.Origin) && r.h.hasSaid(from) {
				call.Known = append(call.Known, from)
			}
		}
	}
}

// trust is [Host.Trust] in the middle of a conversation: of what was read before only what
// is somebody else's stays untrusted.
func (c *Conversation) trust(server string, forever bool) {
	if err := c.host.Trust(server, forever); err != nil {
		c.host.notice(Notice{Kind: NoticeServer, Server: server, Text: err.Error()})
	}
	s, found := c.host.serverNamed(server)
	if !found || !s.trusted() {
		return
	}
	c.flow.Trust(func(from guard.Source) bool {
		return slices.ContainsFunc(s.current().tools, func(t *tool) bool {
			return t.source() == from && guard.LabelsOf(s.trust(), hints(t.annotations()))&guard.Untrusted == 0
		})
	})
	c.offered.Trust(s.said)
}

// Who decides about a call, as [Consented] names it.
const (
	byPolicy  = "policy"
	byPerson  = "person"
	bySession = "session" // a rule that the person made for this session
	byHost    = "host"    // as nobody was there, or the run was ended meanwhile
)

// askPerson asks, makes the rule of the answer hold, and tells it.
func (r *run) askPerson(ctx context.Context, card Card, event Consented) (Verdict, error) {
	verdict, err := r.h.options.Person.Consent(ctx, card)
	event.By, event.Allowed = byPerson, verdict.Allow && err == nil
	switch {
	case errors.Is(err, ErrNobody):
		event.By, event.Reason = byHost, strings.Join(card.Reasons, "; ")
	case err != nil && ctx.Err() != nil:
		event.By, event.Reason = byHost, "the run was ended before there was an answer"
		r.account.use(Totals{Asked: 1})
	default:
		r.account.use(Totals{Asked: 1})
	}
	r.tell(Event{Consent: &event})
	if err == nil && verdict.Rule != nil {
		if err := r.h.Rule(*verdict.Rule, verdict.Forever); err != nil {
			r.notice(NoticeServer, "%v", err)
		}
	}
	return verdict, err
}

// notByRule says that a rule is not why the person is asked: one allows the call.
func notByRule(allowed *policy.Rule) string {
	if allowed == nil {
		return ""
	}
	return "A rule allows it, but not after what was read. "
}

func reasonOf(d policy.Decision) string {
	if d.Reason == "" {
		return "the rule " + d.Rule.Name
	}
	return d.Reason
}

// denied is what the model gets for what a rule denies.
func denied(d policy.Decision) string {
	return fmt.Sprintf("Not allowed: %s. Do not try to reach the same by another way.", reasonOf(d))
}

// refused is what the model gets for a no.
func refused(v Verdict, err error, reasons []string) string {
	switch {
	case errors.Is(err, ErrNobody):
		return "Not allowed: nobody is there to be asked (" + strings.Join(reasons, "; ") + "). Say what would have to be allowed."
	case err != nil:
		return "Not allowed: the person could not be asked (" + readable(err.Error()) + ")."
	case v.Note != "":
		return "The person did not allow this call, and says: " + v.Note
	}
	return "The person did not allow this call. Do not try to reach the same by another way; go on without it, or say why it is needed."
}

// labels tells the rules what the conversation has read.
func (r *run) labels(in *policy.Input) {
	read := r.c.flow.Labels()
	for _, l := range []guard.Labels{guard.Private, guard.Untrusted} {
		if read&l == 0 {
			continue
		}
		in.Labels = append(in.Labels, l.String())
		for _, s := range r.c.flow.Sources(l) {
			if !slices.Contains(in.Sources, s.Server) {
				in.Sources = append(in.Sources, s.Server)
			}
		}
	}
}

// flowOf is a call in the words of the guard.
func (r *run) flowOf(t *tool, call *model.Call) guard.Call {
	return guard.Call{Server: t.ref.Server, Origin: t.origin(), Tool: t.ref.Tool, Arguments: call.Arguments, Trust: t.server.trust(), Annotations: hints(t.annotations())}
}

func (s *server) trust() guard.Trust { return guard.Trust{Trusted: s.trusted(), Public: s.Public} }

// hints are annotations in the words of the guard.
func hints(a mcp.ToolAnnotations) guard.Annotations {
	return guard.Annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint, OpenWorld: a.OpenWorldHint}
}

// read notes that the model has read what a tool returned, and tells what is
// suspicious about it.
func (r *run) read(t *tool, text string) {
	r.suspect(t.ref.Server, t.ref.Tool, text, guard.InResult)
	r.c.flow.Read(t.source(), guard.LabelsOf(t.server.trust(), hints(t.annotations())), text)
}

// readText notes that the model has read a resource or a prompt.
func (r *run) readText(s *server, uri, text string, part guard.Part) {
	r.suspect(s.Name, uri, text, part)
	r.c.flow.Read(s.source(uri), guard.LabelsOf(s.trust(), hints(s.reading())), text)
}

func textOf(parts []model.Part) string {
	result := model.Result{Parts: parts}
	return result.Text()
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
