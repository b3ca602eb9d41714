// Package consent decides whether the calls of a conversation may run: by the rules, by where
// the text comes from that the conversation has read, and by what the user said to earlier
// calls. It knows no servers and does not ask by itself.
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

// A Decider decides about the calls of a conversation and its children. Its methods are safe for concurrent use.
type Decider struct {
	rules func() *policy.Policy
	here  func(guard.Source) bool

	asking      chan struct{} // holds one while a call is decided about: one question to the user after the other
	withdrawals atomic.Uint64 // counts what the user took back that a decision could rest on
	flow        guard.Flow    // of results
	offered     guard.Flow    // private texts, and definitions of servers that are not trusted

	granting sync.Mutex
	granted  []policy.Rule // until the question is answered
}

// New returns a Decider that has read nothing, with the rules that hold at each moment and
// whether a source is that of a server that is here.
func New(rules func() *policy.Policy, here func(guard.Source) bool) *Decider {
	return &Decider{rules: rules, here: here, asking: make(chan struct{}, 1)}
}

// A Call is a call of a tool, or the reading of a resource, that is to be decided about.
type Call struct {
	policy.Input                 // but for Labels and Sources
	Public       bool            // whether its server has nothing private
	Local        bool            // whether its server is a program on this machine
	Schema       json.RawMessage // of the tool's arguments
	Said         string          // by the user
	// Definitions are those of servers that are not trusted and whose words the model was given before any result.
	Definitions func() []guard.Source
	// Also, if not empty, is why the user is asked each time, whatever a rule allows or they said before.
	Also string
}

// flow returns the call in the words of the guard.
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

// A Judgement is what was decided about a call.
type Judgement struct {
	Rules   policy.Decision // what the rules say
	Refusal string          // what the model gets; empty where the call may run
	Ended   bool            // the call ended before it was decided about
	Asked   bool            // whether the user was asked, and then:
	Reasons []string        // why
	Secret  bool            // whether the arguments hold what looks like a secret
	Always  []Suggestion    // rules that would save the next such question
	Once    string          // why there are none
	Never   []Suggestion    // rules that deny such calls

	in          policy.Input
	withdrawals uint64 // before it was decided
}

// Consider decides about a call. Where that needs a yes it calls ask, which returns what the
// model gets of a no; a yes is remembered.
func (d *Decider) Consider(ctx context.Context, c Call, ask func(*Judgement) (refusal string)) *Judgement {
	select {
	case d.asking <- struct{}{}: // also while a user is asked: what they say can decide about the next call
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
		j.Refusal = denied(j.Rules)
		return j
	}
	call := c.flow()
	defer func() {
		if j.Refusal == "" {
			d.flow.Sent(call)
		}
	}()
	d.known(&c, &call, &j.Rules)
	flowing, offered := d.flow.Ask(call), d.askOffered(&c, call)
	asked, allowed := flowing.And(offered), j.Rules.Effect == policy.Allow // a yes is one to both flows
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
	j.Never = never(c.Input)
	if j.Refusal = ask(j); j.Refusal == "" {
		d.flow.Consent(flowing)
		d.offered.Consent(offered)
		own := guard.Source{Server: call.Server, Origin: call.Origin, Tool: call.Tool}
		if !offered.Allowed && call.Trust.Trusted && call.Writes() && !slices.Contains(d.flow.Sources(guard.Untrusted), own) {
			answer := new(guard.Flow) // what a trusted server answers to a call that writes is part of the yes
			answer.Read(own, guard.LabelsOf(call.Trust, call.Annotations), "")
			call.Chosen, call.Known = false, nil
			d.flow.Consent(answer.Ask(call))
		}
	}
	return j
}

// current returns the rules that hold now, and those that the user made for the question. More of
// them than a policy has room for count for nothing.
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

// Grant has a rule that allows hold until [Decider.Answered].
func (d *Decider) Grant(rule policy.Rule) error {
	d.granting.Lock()
	defer d.granting.Unlock()
	granted := append(slices.Clip(d.granted), rule)
	if _, err := d.rules().With(granted...); err != nil {
		return fmt.Errorf("the rule does not hold: %w", err)
	}
	d.granted = granted
	return nil
}

// Answered ends what was granted: there is an answer to the question, or will be none.
func (d *Decider) Answered() {
	d.granting.Lock()
	defer d.granting.Unlock()
	d.granted = nil
}

// label tells the rules what the conversation has read.
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

// known tells the guard what the user knew when they made the rules that allow a call.
func (d *Decider) known(c *Call, call *guard.Call, decision *policy.Decision) {
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

// coverable reports whether a rule can cover what a source says: that of a server that is here,
// or what the user attaches. No server passes for that by its name.
func (d *Decider) coverable(from guard.Source) bool {
	return from.IsAttached() || from.Server != guard.Attached && d.here(from)
}

// denied returns what the model gets for what a rule denies.
func denied(d policy.Decision) string {
	return fmt.Sprintf("Not allowed: %s. Do not try to do the same in another way.", d.Reason)
}

// TakenBack returns why a call must not be made though it was allowed: before it began, the user forbade it or took
// something back that had allowed it, such as the trust in its server. Empty if they did not.
func (d *Decider) TakenBack(ctx context.Context, j *Judgement, trusted bool) (refusal string) {
	now := d.current().Decide(context.WithoutCancel(ctx), j.in)
	switch {
	case now.Effect == policy.Deny:
		return denied(now)
	case policy.Strictest(now.Effect, j.Rules.Effect) != j.Rules.Effect, j.in.Trusted && !trusted, d.withdrawals.Load() != j.withdrawals:
		return "No longer allowed: the user withdrew the permission before the call, so it was not made. Repeat it if it is still needed; then there is a new decision."
	}
	return ""
}

// Read notes that the conversation has read a text.
func (d *Decider) Read(from guard.Source, labels guard.Labels, text string) {
	d.flow.Read(from, labels, text)
}

// Labels returns those of everything that was read.
func (d *Decider) Labels() guard.Labels { return d.flow.Labels() }

// Sources returns what was read that has any of the labels.
func (d *Decider) Sources(labels guard.Labels) []guard.Source { return d.flow.Sources(labels) }

// Trust has sources count as trusted: those of which something was read, and those that define something.
func (d *Decider) Trust(read, defined func(guard.Source) bool) {
	d.flow.Trust(read)
	d.offered.Trust(defined)
}

// Distrust has what was read of sources count as untrusted.
func (d *Decider) Distrust(of func(guard.Source) bool) { d.flow.Distrust(of) }

// Reconsider has calls that were allowed and have not begun decided about anew, as the user
// took something back that a decision could rest on.
func (d *Decider) Reconsider() { d.withdrawals.Add(1) }

// Approvals returns the answers of the user that are remembered.
func (d *Decider) Approvals() []guard.Approval {
	all := d.flow.Approvals()
	for _, a := range d.offered.Approvals() { // of one answer both can remember a part
		if !slices.ContainsFunc(all, func(b guard.Approval) bool {
			return a.Server == b.Server && a.Origin == b.Origin && a.Tool == b.Tool && a.Reason == b.Reason
		}) {
			all = append(all, a)
		}
	}
	return all
}

// Withdraw forgets an answer, and reports whether it was remembered, and whether State had it.
func (d *Decider) Withdraw(a guard.Approval) (remembered, recorded bool) {
	recorded = d.flow.Withdraw(a)
	remembered = d.offered.Withdraw(a) || recorded
	if remembered {
		d.Reconsider()
	}
	return remembered, recorded
}

// State returns what was read and agreed to, for the record; "{}" where that is nothing.
func (d *Decider) State() (json.RawMessage, error) { return json.Marshal(&d.flow) }

// Restore goes on from a State, or from the worst where it is none.
func (d *Decider) Restore(state json.RawMessage) {
	if d.flow.UnmarshalJSON(state) != nil {
		d.AssumeWorst()
	}
}

// FromBefore is where text comes from of which no record says it.
const FromBefore = "an earlier session"

// AssumeWorst is for a conversation of which it is not known what it has read.
func (d *Decider) AssumeWorst() {
	d.Read(guard.Source{Server: FromBefore}, guard.Private|guard.Untrusted, "")
}

// askOffered asks what the flow of results alone does not: definitions and instructions are text too, and a user who
// approved them may have overlooked what they ask for. So where private text would have a way out of its server, they
// count as read, unless the call says no more than a few words of the user's.
func (d *Decider) askOffered(c *Call, call guard.Call) guard.Decision {
	private, elsewhere := d.private(call)
	if !call.Leaves() || !elsewhere || repeats(call.Arguments, c.Schema, c.Said) {
		return guard.Decision{Allowed: true}
	}
	for _, source := range private {
		d.offered.Read(source, guard.Private, "")
	}
	for _, source := range c.Definitions() {
		d.offered.Read(source, guard.Untrusted, "")
	}
	call.Arguments = nil // the flow of results asks about what they carry
	return d.offered.Ask(call)
}

// private returns the private sources that a call could carry away, and whether there are any of others than its server.
func (d *Decider) private(call guard.Call) (all []guard.Source, elsewhere bool) {
	all = slices.DeleteFunc(d.flow.Sources(guard.Private), call.Sees)
	return all, slices.ContainsFunc(all, func(s guard.Source) bool { return !s.IsOf(call.Server, call.Origin) })
}

// The limits of a call that says no more than what the user did: so few words that
// which they are, and how they are put, can carry hardly anything.
const (
	maxRepeatedMembers = 4
	maxRepeatedWords   = 8
)

// repeats reports whether arguments are only a few words of what the user said, as the
// person wrote them, under names that the schema declares. What a server wrote counts for
// nothing: its words are no more known to be harmless than what it asks for.
func repeats(arguments []byte, schema json.RawMessage, said string) bool {
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
	if arguments[0] != '{' { // the address of a resource
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

// A Suggestion is a rule that a user can have written.
type Suggestion struct {
	Label string // for users, such as "this tool with any arguments"
	Rule  policy.Rule
}

// helpful returns those of the rules that "always" could write which would save the next such
// question. The servers that the card names, and what was attached, are part of them.
func (d *Decider) helpful(ctx context.Context, c *Call, asked guard.Decision) []Suggestion {
	var names, shown []string
	sources, call := asked.Sources, c.flow()
	if _, elsewhere := d.private(call); elsewhere && len(sources) > 0 && call.Leaves() { // what the server returns then may lead private text of the others to it
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
	for _, a := range always(c.Input) {
		if a.Rule.After = after; after != "" {
			a.Label += ", also after text of " + strings.Join(shown, ", ")
		}
		if d.saves(ctx, c, a.Rule) {
			rules = append(rules, a)
		}
	}
	return rules
}

// saves reports whether a call would not be asked about if there were this rule.
func (d *Decider) saves(ctx context.Context, c *Call, rule policy.Rule) bool {
	with, err := d.current().With(rule)
	if err != nil {
		return false
	}
	decision, call := with.Decide(ctx, c.Input), c.flow()
	d.known(c, &call, &decision)
	return decision.Effect == policy.Allow && d.flow.Ask(call).Allowed && d.askOffered(c, call).Allowed
}

// once returns why no rule would save the next such question.
func (d *Decider) once(asked guard.Decision, rules policy.Decision) string {
	switch {
	case slices.Contains(asked.Reasons, guard.CarriesSecret):
		return "a secret needs a new answer each time"
	case slices.Contains(asked.Reasons, guard.CarriesText):
		return "copied text needs a new answer each time, unless the same text is sent again"
	case rules.Effect == policy.Ask && !rules.Default:
		return "a rule requires the question"
	}
	for _, from := range asked.Sources {
		if !d.coverable(from) {
			return "no rule covers text of " + from.String()
		}
	}
	return "no rule covers text that seems to give the model orders"
}

// always returns the rules that "always" could write about a call, the narrowest first.
func always(in policy.Input) []Suggestion {
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

// never returns the rules that "never" could write about a call, the narrowest first.
func never(in policy.Input) []Suggestion {
	rules := always(in)
	for i := range rules {
		rules[i].Rule.Effect, rules[i].Rule.Origin = policy.Deny, ""
	}
	return rules
}

// folders returns the folders of arguments that are absolute paths, or lists of such, by the arguments' names; and the
// names of the other texts, and of lists that hold such (the edits of a file), which differ from call to call.
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

// folderOf returns the folder of an absolute path; "/" where there is none to speak of, and empty where this is no path.
func folderOf(value []byte) string {
	text, isText := jsonrpc.Unquote(value)
	if !isText || !path.IsAbs(text) || strings.Contains(text, "\n") {
		return ""
	}
	return path.Dir(path.Clean(text))
}

// holdsTexts reports whether a value is a list of objects with texts, none of which is a path.
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
