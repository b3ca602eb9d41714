// Package consent decides whether the calls of a conversation may run. It uses the rules, the
// sources of the text that the conversation has read, and the user's answers to earlier calls. It
// has no access to servers and leaves asking to its caller.
package consent

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/policy"
)

// A Decider decides about the calls of a conversation and its children. Its methods are safe for
// concurrent use.
type Decider struct {
	rules func() *policy.Policy
	here  func(guard.Source) bool

	asking      chan struct{} // holds a token while one call is decided: questions to the user come one after the other
	withdrawals atomic.Uint64 // number of times that the user withdrew a permission
	flow        guard.Flow    // flow of the results
	offered     guard.Flow    // flow of private texts and definitions of untrusted servers

	granting sync.Mutex
	granted  []policy.Rule // rules that end with the answer to the question
}

// New returns a Decider for a conversation that has read nothing. rules returns the current rules.
// here reports whether a source belongs to a connected server.
func New(rules func() *policy.Policy, here func(guard.Source) bool) *Decider {
	return &Decider{rules: rules, here: here, asking: make(chan struct{}, 1)}
}

// A Call is a call of a tool, or a read of a resource, before the decision.
type Call struct {
	policy.Input                 // without Labels and Sources
	Public       bool            // the server has nothing private
	Local        bool            // the server is a program on this machine
	Schema       json.RawMessage // schema of the tool's arguments
	Said         string          // the user's question
	// Definitions returns the sources of the definitions that the model got from untrusted servers
	// before any result.
	Definitions func() []guard.Source
	// Also, if not empty, is a reason to ask the user each time, whatever the rules and earlier
	// answers are.
	Also string
}

// flow returns the call in the form for package guard.
func (c *Call) flow() guard.Call {
	flow := guard.Call{
		Server: c.Server, Origin: c.Origin, Tool: c.Tool, Arguments: c.Arguments, Trust: guard.Trust{Trusted: c.Trusted, Public: c.Public}, Local: c.Local,
		Annotations: guard.Annotations{ReadOnly: c.Annotations.ReadOnly, Destructive: c.Annotations.Destructive, OpenWorld: c.Annotations.OpenWorld},
	}
	if c.Resource != "" {
		flow.Tool, flow.Arguments = c.Method, []byte(c.Resource)
	}
	return flow
}

// A Judgement is the decision about a call.
type Judgement struct {
	Rules   policy.Decision // decision of the rules
	Refusal string          // text for the model; empty if the call may run
	Ended   bool            // the call ended before the decision
	Asked   bool            // the user was asked, and the fields below are set
	Reasons []string        // reasons for asking
	Secret  bool            // the arguments contain a possible secret
	Always  []Suggestion    // rules that would prevent the next such question
	Once    string          // reason why there are none
	Never   []Suggestion    // rules that deny such calls

	in          policy.Input
	withdrawals uint64 // value of Decider.withdrawals before the decision
}

// Consider decides about a call. If the user must be asked, it calls ask, which returns the text
// for the model if the answer is no. Consider remembers a yes.
func (d *Decider) Consider(ctx context.Context, c Call, ask func(*Judgement) (refusal string)) *Judgement {
	select {
	case d.asking <- struct{}{}: // held while a user is asked, because the answer can decide about the next call
	case <-ctx.Done():
		j := &Judgement{in: c.Input, Rules: d.current().Decide(context.WithoutCancel(ctx), c.Input), Ended: true}
		j.Rules.Reason = "the run was ended before it was decided"
		j.Refusal = "Not allowed: " + j.Rules.Reason + "."
		return j
	}
	defer func() { <-d.asking }()
	j := &Judgement{withdrawals: d.withdrawals.Load()}
	d.label(&c.Input)
	j.in, j.Rules = c.Input, d.current().Decide(ctx, c.Input)
	if j.Rules.Effect == policy.Deny {
		j.Refusal = denialText(j.Rules)
		return j
	}
	if roles, _ := j.Rules.Approvals(); len(roles) > 0 {
		j.Refusal = fmt.Sprintf("Not allowed: %s asks %s, whom only a gateway can ask. Do not try to do the same in another way.", roles[0], roles[0].Of)
		return j
	}
	call := c.flow()
	defer func() {
		if j.Refusal == "" {
			d.flow.Sent(call)
		}
	}()
	d.setKnown(&c, &call, &j.Rules)
	flowing, offered := d.flow.Ask(call), d.askOffered(&c, call)
	asked, allowed := flowing.And(offered), j.Rules.Effect == policy.Allow // a yes applies to both flows
	switch {
	case allowed && asked.Allowed && c.Also == "":
		return j
	case allowed && asked.Allowed:
	case allowed:
		j.Reasons = []string{"A rule allows this call. It needs approval because of text that was read before. " + asked.Why}
	case asked.Allowed:
		j.Reasons = []string{j.Rules.Reason}
	default:
		j.Reasons = []string{j.Rules.Reason, asked.Why}
	}
	if c.Also != "" {
		j.Reasons = append(j.Reasons, c.Also)
	}
	j.Asked, j.Secret = true, len(flowing.Secrets) > 0
	if j.Always = d.helpful(ctx, &c, asked); len(j.Always) == 0 {
		j.Once = d.once(asked, j.Rules)
	}
	j.Never = neverRules(c.Input)
	if j.Refusal = ask(j); j.Refusal == "" {
		d.flow.Consent(flowing)
		d.offered.Consent(offered)
		own := guard.Source{Server: call.Server, Origin: call.Origin, Tool: call.Tool}
		if !offered.Allowed && call.Trust.Trusted && call.Writes() && !slices.Contains(d.flow.Sources(guard.Untrusted), own) {
			answer := new(guard.Flow) // the yes covers the trusted server's answer to a writing call
			answer.Read(own, guard.LabelsOf(call.Trust, call.Annotations), "")
			call.Chosen, call.Known = false, nil
			d.flow.Consent(answer.Ask(call))
		}
	}
	return j
}

// current returns the current rules, with those granted for the question. It omits the latter if
// they exceed the limit of a policy.
func (d *Decider) current() *policy.Policy {
	d.granting.Lock()
	defer d.granting.Unlock()
	rules := d.rules()
	if len(d.granted) == 0 {
		return rules
	}
	with, err := rules.With(d.granted...)
	if err != nil {
		return rules
	}
	return with
}

// Grant adds a rule that allows calls until [Decider.Answered].
func (d *Decider) Grant(rule policy.Rule) error {
	d.granting.Lock()
	defer d.granting.Unlock()
	granted := append(slices.Clip(d.granted), rule)
	if _, err := d.rules().With(granted...); err != nil {
		return fmt.Errorf("the rule is not in effect: %w", err)
	}
	d.granted = granted
	return nil
}

// Answered removes the granted rules at the end of a question.
func (d *Decider) Answered() {
	d.granting.Lock()
	defer d.granting.Unlock()
	d.granted = nil
}

// label fills in the labels and sources that the conversation has read.
func (d *Decider) label(in *policy.Input) {
	read := d.flow.Labels()
	for _, l := range []guard.Labels{guard.Private, guard.Untrusted} {
		if read&l == 0 {
			continue
		}
		in.Labels = append(in.Labels, l.String())
		for _, s := range d.flow.Sources(l) {
			if !slices.Contains(in.Sources, s.Server) {
				in.Sources = append(in.Sources, s.Server)
			}
		}
	}
}

// setKnown sets Chosen and Known of the guard's call from the rules that allow it: which texts the
// user knew of when making them.
func (d *Decider) setKnown(c *Call, call *guard.Call, decision *policy.Decision) {
	for _, rule := range decision.Allowing() {
		call.Chosen = call.Chosen || rule.IsFor(call.Server)
		if rule.After == "" {
			continue
		}
		for _, from := range slices.Concat(d.flow.Sources(guard.Private|guard.Untrusted), c.Definitions()) {
			if rule.Covers(from.Server, from.Origin) && d.coverable(from) {
				call.Known = append(call.Known, from)
			}
		}
	}
}

// coverable reports whether a rule can cover text of a source. The source must be a connected
// server or an attachment. A server with the name of attachments does not qualify.
func (d *Decider) coverable(from guard.Source) bool {
	return from.IsAttached() || from.Server != guard.Attached && d.here(from)
}

// denialText returns the text for the model after a rule denied a call.
func denialText(d policy.Decision) string {
	return fmt.Sprintf("Not allowed: %s. Do not try to do the same in another way.", d.Reason)
}

// TakenBack returns the reason why an allowed call must not start, or "". The reason is that the
// user has meanwhile forbidden it, or withdrawn a permission that it needed, such as the trust in
// its server.
func (d *Decider) TakenBack(ctx context.Context, j *Judgement, trusted bool) (refusal string) {
	now := d.current().Decide(context.WithoutCancel(ctx), j.in)
	switch {
	case now.Effect == policy.Deny:
		return denialText(now)
	case policy.Strictest(now.Effect, j.Rules.Effect) != j.Rules.Effect, j.in.Trusted && !trusted, d.withdrawals.Load() != j.withdrawals:
		return "No longer allowed: the user withdrew the permission before the call, so it was not made. Repeat it if it is still needed; then there is a new decision."
	}
	return ""
}

// Read records that the conversation has read a text.
func (d *Decider) Read(from guard.Source, labels guard.Labels, text string) {
	d.flow.Read(from, labels, text)
}

// Labels returns the labels of everything that was read.
func (d *Decider) Labels() guard.Labels { return d.flow.Labels() }

// Sources returns the sources read with any of the labels.
func (d *Decider) Sources(labels guard.Labels) []guard.Source { return d.flow.Sources(labels) }

// Trust makes sources trusted. read selects sources of results, and defined selects sources of
// definitions.
func (d *Decider) Trust(read, defined func(guard.Source) bool) {
	d.flow.Trust(read)
	d.offered.Trust(defined)
}

// Distrust makes text that was read from the selected sources untrusted.
func (d *Decider) Distrust(of func(guard.Source) bool) { d.flow.Distrust(of) }

// Reconsider invalidates the decisions for calls that have not started, because the user withdrew a
// permission that they may depend on.
func (d *Decider) Reconsider() { d.withdrawals.Add(1) }

// Approvals returns the remembered approvals.
func (d *Decider) Approvals() []guard.Approval {
	all := d.flow.Approvals()
	for _, a := range d.offered.Approvals() { // both flows can remember a part of one answer
		if !slices.ContainsFunc(all, func(b guard.Approval) bool {
			return a.Server == b.Server && a.Origin == b.Origin && a.Tool == b.Tool && a.Reason == b.Reason
		}) {
			all = append(all, a)
		}
	}
	return all
}

// Withdraw forgets an approval. It reports whether the approval was remembered, and whether State
// contained it.
func (d *Decider) Withdraw(a guard.Approval) (remembered, recorded bool) {
	recorded = d.flow.Withdraw(a)
	remembered = d.offered.Withdraw(a) || recorded
	if remembered {
		d.Reconsider()
	}
	return remembered, recorded
}

// State returns the sources and approvals for the record, or "{}" if there are none.
func (d *Decider) State() (json.RawMessage, error) { return json.Marshal(&d.flow) }

// Restore restores a State. If it is invalid, Restore calls AssumeWorst.
func (d *Decider) Restore(state json.RawMessage) {
	if d.flow.UnmarshalJSON(state) != nil {
		d.AssumeWorst()
	}
}

// FromBefore names the source of text whose origin was not recorded.
const FromBefore = "an earlier session"

// AssumeWorst records private and untrusted text for a conversation whose reads are unknown.
func (d *Decider) AssumeWorst() {
	d.Read(guard.Source{Server: FromBefore}, guard.Private|guard.Untrusted, "")
}

// askOffered asks about the influence of definitions and instructions, which the flow of results
// ignores. They are text too, and a user who approved them may have overlooked an order in them. If
// private text could leave its server, they count as untrusted text. A call that only repeats a few
// words of the user is exempt.
func (d *Decider) askOffered(c *Call, call guard.Call) guard.Decision {
	private, elsewhere := d.private(call)
	if !call.Leaves() || !elsewhere || repeatsRequest(call.Arguments, c.Schema, c.Said) {
		return guard.Decision{Allowed: true}
	}
	for _, source := range private {
		d.offered.Read(source, guard.Private, "")
	}
	for _, source := range c.Definitions() {
		d.offered.Read(source, guard.Untrusted, "")
	}
	call.Arguments = nil // the flow of results examines the arguments
	return d.offered.Ask(call)
}

// private returns the private sources that a call could carry away. elsewhere reports whether any
// belongs to another server.
func (d *Decider) private(call guard.Call) (all []guard.Source, elsewhere bool) {
	all = slices.DeleteFunc(d.flow.Sources(guard.Private), call.Sees)
	return all, slices.ContainsFunc(all, func(s guard.Source) bool { return !s.IsOf(call.Server, call.Origin) })
}

// Limits of a call that only repeats the user's words. With so few words, their choice and order
// carry almost no information.
const (
	maxRepeatedMembers = 4
	maxRepeatedWords   = 8
)

// repeatsRequest reports whether arguments consist of a few words that the user wrote, under names
// that the schema declares. Words from a server do not count, because they are no safer than its
// requests.
func repeatsRequest(arguments []byte, schema json.RawMessage, said string) bool {
	if len(arguments) == 0 {
		return true
	}
	properties, known, words, members := jsonrpc.Get(schema, "properties"), wordsOf(said), 0, 0
	allowed := func(text string) bool {
		all := wordsOf(text)
		words += len(all)
		separators := len(text) - len(strings.Join(all, ""))
		return separators <= len(all) && !slices.ContainsFunc(all, func(word string) bool { return !slices.Contains(known, word) })
	}
	if arguments[0] != '{' { // URI of a resource
		return allowed(string(arguments)) && words <= maxRepeatedWords
	}
	fits := true
	jsonrpc.EachMember(arguments, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		text, isText := jsonrpc.Unquote(value)
		if !isText {
			text = string(value)
		}
		members++
		fits = jsonrpc.Get(properties, name) != nil && (text == "true" || text == "false" || allowed(text))
		return fits
	})
	return fits && members <= maxRepeatedMembers && words <= maxRepeatedWords
}

// wordsOf returns the words and numbers of a text.
func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// A Suggestion is a rule that the user can choose.
type Suggestion struct {
	Label string // for users, such as "this tool with any arguments"
	Rule  policy.Rule
}

// helpful returns the rules for "always" that would prevent the next such question. The rules
// include the servers that the card names, and attachments.
func (d *Decider) helpful(ctx context.Context, c *Call, asked guard.Decision) []Suggestion {
	var names, shown []string
	sources, call := asked.Sources, c.flow()
	if _, elsewhere := d.private(call); elsewhere && len(sources) > 0 && call.Leaves() { // the server's next result may draw private text of the others to it
		sources = append(slices.Clone(sources), guard.Source{Server: c.Server, Origin: c.Origin})
	}
	for _, from := range sources {
		name := policy.NameOf(from.Server, from.Origin)
		if d.coverable(from) && !slices.Contains(names, name) && !strings.Contains(name, ",") {
			names, shown = append(names, name), append(shown, from.Server)
		}
	}
	after := strings.Join(names, ", ")
	var rules []Suggestion
	for _, a := range alwaysRules(c.Input) {
		if a.Rule.After = after; after != "" {
			a.Label += ", also after text from " + strings.Join(shown, ", ")
		}
		if d.saves(ctx, c, a.Rule) {
			rules = append(rules, a)
		}
	}
	return rules
}

// saves reports whether the user would not be asked about a call if this rule existed.
func (d *Decider) saves(ctx context.Context, c *Call, rule policy.Rule) bool {
	with, err := d.current().With(rule)
	if err != nil {
		return false
	}
	decision, call := with.Decide(ctx, c.Input), c.flow()
	d.setKnown(c, &call, &decision)
	return decision.Effect == policy.Allow && d.flow.Ask(call).Allowed && d.askOffered(c, call).Allowed
}

// once returns the reason why no rule would prevent the next such question.
func (d *Decider) once(asked guard.Decision, rules policy.Decision) string {
	switch {
	case slices.Contains(asked.Reasons, guard.CarriesSecret):
		return "a secret needs a new answer each time"
	case slices.Contains(asked.Reasons, guard.CarriesText):
		return "text copied from another server needs a new answer for each call, unless the arguments are exactly the same"
	case rules.Effect == policy.Ask && !rules.Default:
		return "a rule requires the question"
	}
	for _, from := range asked.Sources {
		if !d.coverable(from) {
			return "no rule covers text from " + from.String()
		}
	}
	return "no rule covers text that seems to give the model orders"
}

// alwaysRules returns the possible rules for "always", the narrowest first.
func alwaysRules(in policy.Input) []Suggestion {
	under, free := folders(in.Arguments)
	folder := "this tool, below the same folder"
	joined := ", with any "
	for _, name := range free {
		folder += joined + strconv.Quote(name)
		joined = ", any "
	}
	scopes := []struct {
		label string
		scope policy.Scope
	}{
		{"exactly this call", policy.Scope{Reach: policy.ThisCall}},
		{folder, policy.Scope{Reach: policy.ThisCall, Under: under, Free: free}},
		{"this tool, with any arguments", policy.Scope{Reach: policy.ThisTool}},
		{"tools of this server that only read", policy.Scope{Reach: policy.ReadOnlyTools}},
		{"all tools of this server", policy.Scope{Reach: policy.ThisServer}},
	}
	var rules []Suggestion
	for _, s := range scopes {
		if s.label == folder && len(under) == 0 {
			continue
		}
		if rule, err := policy.Suggest(in, s.scope); err == nil {
			rules = append(rules, Suggestion{Label: s.label, Rule: rule})
		}
	}
	return rules
}

// neverRules returns the possible rules for "never", the narrowest first.
func neverRules(in policy.Input) []Suggestion {
	rules := alwaysRules(in)
	for i := range rules {
		rules[i].Rule.Effect, rules[i].Rule.Origin = policy.Deny, ""
	}
	return rules
}

// folders returns, by the arguments' names, the folders of arguments that are absolute paths or
// lists of paths. free names the other arguments with text, and those with lists of objects, such
// as the edits of a file. They differ from call to call.
func folders(arguments json.RawMessage) (under map[string]string, free []string) {
	under = map[string]string{}
	jsonrpc.EachMember(arguments, func(quoted, value []byte) bool {
		name, _ := jsonrpc.Unquote(quoted)
		folder, isText := "", value[0] == '"'
		if isText {
			folder = folderOf(value)
		}
		jsonrpc.EachElement(value, func(element []byte) bool {
			switch next := folderOf(element); {
			case folder == "":
				folder = next
			case folder != next:
				folder = "/"
			}
			return folder != "/"
		})
		switch {
		case len(folder) > 1:
			under[name] = folder
		case folder == "" && (isText || holdsTexts(value)):
			free = append(free, name)
		}
		return true
	})
	return under, free
}

// folderOf returns the folder of an absolute path, or "" for other values.
func folderOf(value []byte) string {
	text, isText := jsonrpc.Unquote(value)
	if !isText || !path.IsAbs(text) || strings.Contains(text, "\n") {
		return ""
	}
	return path.Dir(path.Clean(text))
}

// holdsTexts reports whether a value is a list of objects whose members include texts, but no path.
func holdsTexts(value []byte) bool {
	found, fits := false, value[0] == '['
	jsonrpc.EachElement(value, func(element []byte) bool {
		fits = fits && element[0] == '{'
		jsonrpc.EachMember(element, func(_, member []byte) bool {
			found = found || member[0] == '"'
			fits = fits && member[0] != '[' && member[0] != '{' && folderOf(member) == ""
			return fits
		})
		return fits
	})
	return found && fits
}
