package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/jsonrpc"
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
		Server: t.ref.Server, Tool: t.ref.Tool, Title: t.title(), Arguments: j.call.Arguments,
		Annotations: claims(t.annotations()), Trusted: t.server.Trusted, Client: "junction",
	}
	card := Card{
		CallID: j.call.ID, Server: t.ref.Server, Tool: t.ref.Tool, Title: t.title(), Description: t.Description,
		Arguments: j.call.Arguments, Annotations: t.annotations(), Trusted: t.server.Trusted,
	}
	return r.permit(ctx, in, card, r.flowOf(t, j.call), t.sent.Name+" "+t.sent.Description+" "+string(t.sent.Schema))
}

// consentToRead is consent to the reading of a resource.
func (r *run) consentToRead(ctx context.Context, call *model.Call, s *server, uri string) (refusal string) {
	reads, open := true, !s.Trusted
	claim := mcp.ToolAnnotations{ReadOnlyHint: &reads, OpenWorldHint: &open}
	in := policy.Input{Method: "resources/read", Server: s.Name, Resource: uri, Annotations: claims(claim), Trusted: s.Trusted, Client: "junction"}
	card := Card{CallID: call.ID, Server: s.Name, Resource: uri, Annotations: claim, Trusted: s.Trusted, Arguments: call.Arguments}
	return r.permit(ctx, in, card, guard.Call{
		Server: s.Name, Tool: "resources/read", Arguments: []byte(uri), Trust: s.trust(), Annotations: hints(claim),
	}, "")
}

// permit decides about one call. own are the words of the definition that it is made by.
func (r *run) permit(ctx context.Context, in policy.Input, card Card, flow guard.Call, own string) (refusal string) {
	r.c.consenting.Lock() // one question after the other
	defer r.c.consenting.Unlock()
	r.labels(&in)
	decision := r.h.currentRules().Decide(ctx, in)
	event := Consented{CallID: card.CallID, Server: card.Server, Tool: card.Tool, By: byPolicy, Rule: decision.Rule.Name, Reason: decision.Reason}
	if decision.Rule.Source == sessionSource {
		event.By = bySession
	}
	if card.Resource != "" {
		event.Tool = card.Resource
	}
	if decision.Effect == policy.Deny {
		r.tell(Event{Consent: &event})
		return fmt.Sprintf("Not allowed: %s. Do not try to reach the same by another way.", reasonOf(decision))
	}
	flowing, offered := r.c.flow.Ask(flow), r.askOffered(flow, own)
	if decision.Effect == policy.Allow && flowing.Allowed && offered.Allowed {
		event.Allowed = true
		r.tell(Event{Consent: &event})
		return ""
	}
	if decision.Effect == policy.Allow {
		card.Allowed = decision.Rule
	} else {
		card.Reasons = append(card.Reasons, reasonOf(decision))
	}
	card.Secret = len(flowing.Secrets) > 0
	switch {
	case !flowing.Allowed:
		card.Reasons = append(card.Reasons, notByRule(card.Allowed)+flowing.Why)
	case !offered.Allowed:
		card.Reasons = append(card.Reasons, notByRule(card.Allowed)+offered.Why)
	}
	card.Always = always(in)
	verdict, err := r.askPerson(ctx, card, event)
	if err != nil || !verdict.Allow {
		return refused(verdict, err, card.Reasons)
	}
	r.agree(flow, flowing, offered)
	return ""
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
		r.use(Totals{Asked: 1})
	default:
		r.use(Totals{Asked: 1})
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

// sessionSource is the source of rules that hold until the Host is closed.
const sessionSource = "session"

// Rule makes a rule hold until the Host is closed, or for good. The error says that
// it does not hold, or that it holds until then only, and why.
func (h *Host) Rule(rule policy.Rule, forever bool) error {
	if !forever {
		rule.Source = sessionSource
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

// always are the rules that "always" could write about a call, the narrowest first.
func always(in policy.Input) []AlwaysRule {
	scopes := []struct {
		label string
		scope policy.Scope
	}{
		{"exactly this call", policy.Scope{Reach: policy.ThisCall}},
		{"this tool, below the same folder", policy.Scope{Reach: policy.ThisCall, Under: folders(in.Arguments)}},
		{"this tool, with any arguments", policy.Scope{Reach: policy.ThisTool}},
		{"tools of this server that only read", policy.Scope{Reach: policy.ReadOnlyTools}},
		{"everything of this server", policy.Scope{Reach: policy.ThisServer}},
	}
	var rules []AlwaysRule
	for _, s := range scopes {
		if s.scope.Reach == policy.ThisCall && s.scope.Under != nil && len(s.scope.Under) == 0 {
			continue
		}
		if rule, err := policy.Suggest(in, s.scope); err == nil {
			rules = append(rules, AlwaysRule{Label: s.label, Rule: rule})
		}
	}
	return rules
}

// folders are the folders of arguments that are absolute paths, by the arguments'
// names; never nil.
func folders(arguments json.RawMessage) map[string]string {
	all := map[string]string{}
	jsonrpc.EachMember(arguments, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		text, isText := jsonrpc.Unquote(value)
		if isText && path.IsAbs(text) && !strings.Contains(text, "\n") && path.Dir(text) != "/" {
			all[name] = path.Dir(path.Clean(text))
		}
		return true
	})
	return all
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
	return guard.Call{Server: t.ref.Server, Tool: t.ref.Tool, Arguments: call.Arguments, Trust: t.server.trust(), Annotations: hints(t.annotations())}
}

func (s *server) trust() guard.Trust { return guard.Trust{Trusted: s.Trusted, Public: s.Public} }

// hints are annotations in the words of the guard.
func hints(a mcp.ToolAnnotations) guard.Annotations {
	return guard.Annotations{ReadOnly: a.ReadOnlyHint, Destructive: a.DestructiveHint, OpenWorld: a.OpenWorldHint}
}

// read notes that the model has read what a tool returned, and tells what is
// suspicious about it.
func (r *run) read(t *tool, text string) {
	r.suspect(t.ref.Server, t.ref.Tool, text, guard.InResult)
	r.c.flow.Read(guard.Source{Server: t.ref.Server, Tool: t.ref.Tool}, guard.LabelsOf(t.server.trust(), hints(t.annotations())), text)
}

// readText notes that the model has read a resource or a prompt.
func (r *run) readText(s *server, uri, text string, part guard.Part) {
	r.suspect(s.Name, uri, text, part)
	closed := false
	r.c.flow.Read(guard.Source{Server: s.Name, URI: uri}, guard.LabelsOf(s.trust(), guard.Annotations{OpenWorld: &closed}), text)
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
