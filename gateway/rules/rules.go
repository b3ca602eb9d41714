package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/gateway/redact"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/note"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/uritemplate"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
	"github.com/junction-mcp/junction/policy"
)

// maxShown is the maximum number of bytes of arguments that an elicitation shows to the user. Calls
// with more are refused.
const maxShown = 4 << 10

// Options hold the rules, and the server to which they apply.
type Options struct {
	// Policy returns the present rules, or nil. It is called for each request with the context of
	// that request, and for lists with another context. It must be safe for concurrent use, and is
	// required.
	Policy func(ctx context.Context) *policy.Policy
	// Profile, if not nil, returns the profile of a request.
	Profile func(ctx context.Context) string
	// Server and Origin identify the server in rules; see [policy.Input].
	Server, Origin string
	// Trusted, if not nil, reports whether the annotations in the server's definitions of tools are
	// trusted now. It must be safe for concurrent use.
	Trusted func(ctx context.Context) bool
	// Shadow lets every request pass. Decisions are only recorded.
	Shadow bool
	// Approvals is set if middleware around this one handles the error [Needed]. Otherwise rules
	// that ask a role refuse requests.
	Approvals bool
}

// Middleware returns middleware that decides about calls of tools. It also decides about prompts,
// resources, skills and completions, but only if a rule covers them, as the default of the policy
// is for tools only. A completion is also decided as prompts/get, or as resources/read of its
// template. The methods skills/get and resources/directory/read are also decided as resources/read.
// For all of these, the effect ask means deny.
func Middleware(o Options) mcp.Middleware {
	return func(next mcp.Handler) mcp.Handler {
		return &decider{options: o, next: next}
	}
}

// A decider decides about the requests to one Handler.
type decider struct {
	options Options
	next    mcp.Handler

	mu    sync.RWMutex
	tools map[string]claims // the tools in the last list
}

// claims holds a server's own description of a tool.
type claims struct {
	title       string
	annotations policy.Annotations
}

// Handle passes a request on if the rules allow it.
func (d *decider) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	switch req.Method {
	case "tools/list":
		return d.list(ctx, req)
	case "tools/call", "prompts/get", "resources/read", "completion/complete", skills.MethodGet, skills.MethodDirectory:
	default:
		return d.next.Handle(ctx, req)
	}
	p := d.options.Policy(ctx)
	if p == nil {
		return d.next.Handle(ctx, req)
	}
	in, err := d.input(ctx, req)
	if err != nil {
		return mcp.Result{}, err
	}
	decision, effect := decide(ctx, p, in)
	hidden := decision.Redact()
	var asking asking
	asking.add(&decision, effect)
	stands, standsIn := impliedMethod(req)
	for _, form := range otherForms(req, in, stands) {
		as, one := decide(ctx, p, form)
		asking.add(&as, one)
		if policy.Strictest(one, effect) == one && (one != effect || form.Resource == in.Resource) {
			decision, effect = as, one
		}
		more := as.Redact()
		hidden.Arguments, hidden.Results = append(hidden.Arguments, more.Arguments...), append(hidden.Results, more.Results...)
	}
	var why error
	switch {
	case effect != policy.Ask || d.options.Shadow:
	case standsIn:
		effect, why = policy.Deny, fmt.Errorf("users cannot be asked about %s; add a rule that allows it", req.Method)
	default:
		missing := asking.missing(ctx)
		switch {
		case len(missing) > 0 && d.options.Approvals:
			return mcp.Result{}, &Needed{Input: in, Parts: missing}
		case len(missing) > 0:
			effect, why = policy.Deny, fmt.Errorf("callers of the role %q cannot be asked here", missing[0].Role)
		case asking.user:
			if effect, why = d.ask(ctx, req, &in, &decision); errors.Is(why, mcp.ErrInputRequired) {
				return mcp.Result{}, why
			}
		default:
			effect = policy.Allow
		}
	}
	if n := mcp.NoteObserverOf(ctx, note.Policy); n != nil {
		n.Note(note.Policy, decisionNote{d.options.Server, effect, decision.Effect, decision.RuleName(), decision.Reason, d.options.Shadow})
	}
	switch {
	case d.options.Shadow:
		return d.next.Handle(ctx, req)
	case effect == policy.Allow:
		return d.pass(ctx, req, hidden)
	case req.Method == "tools/call" && p.Hides(in.Server, in.Tool, in.Annotations): // the tool is in no list: the call fails like one of a tool that does not exist
		return mcp.Result{}, unlisted(&decision, req.SentName())
	}
	return denied(req, &decision, why)
}

// A decisionNote is the note of a decision.
type decisionNote struct {
	Server string        `json:"server"`
	Effect policy.Effect `json:"effect"` // the final effect
	Said   policy.Effect `json:"said"`   // the effect of the rule, such as ask
	Rule   string        `json:"rule"`
	Reason string        `json:"reason"`
	Shadow bool          `json:"shadow,omitempty"` // set if the request passed regardless of the effect
}

// Decision implements [note.Decider].
func (d decisionNote) Decision() (note.Decision, bool) {
	reason := d.Reason
	if d.Shadow {
		reason = "in the shadow: " + reason
	}
	return note.Decision{Effect: string(d.Effect), Rule: d.Rule, Reason: reason, Refused: d.Effect == policy.Deny && !d.Shadow}, true
}

// decide returns the decision of the rules about a request, and its effect. The default of the
// rules is for tools only.
func decide(ctx context.Context, p *policy.Policy, in policy.Input) (policy.Decision, policy.Effect) {
	decision := p.Decide(ctx, in)
	if in.Method != "tools/call" && decision.Default {
		return decision, policy.Allow
	}
	return decision, decision.Effect
}

// otherForms returns further inputs by which a request is decided: one with the method stands, and
// one with the resolved form of a resource's URI. Servers treat all spellings of a URI alike
// (/%73ecret, /a/../secret).
func otherForms(req *mcp.Request, in policy.Input, stands string) (forms []policy.Input) {
	if stands != "" {
		as := in
		as.Method = stands
		forms = append(forms, as)
	}
	if in.Resource == "" || req.Method == "completion/complete" { // the resource of a completion is a template
		return forms
	}
	if same := uritemplate.Resolved(in.Resource); same != in.Resource {
		for _, form := range slices.Concat(forms, []policy.Input{in}) {
			form.Resource = same
			forms = append(forms, form)
		}
	}
	return forms
}

// impliedMethod returns a second method by which a request is also decided. Completions reveal a
// prompt or the resources of a template, and methods of skills reveal resources.
func impliedMethod(req *mcp.Request) (method string, does bool) {
	switch req.Method {
	case skills.MethodGet, skills.MethodDirectory:
		return "resources/read", true
	case "completion/complete":
		if refType, _ := jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(req.Params, "ref"), "type")); refType == mcp.RefPrompt {
			return "prompts/get", true
		}
		return "resources/read", true
	}
	return "", false
}

// pass passes a request on, and hides the parts of its arguments and its result that rules name.
func (d *decider) pass(ctx context.Context, req *mcp.Request, hidden policy.Redact) (mcp.Result, error) {
	if len(hidden.Arguments)+len(hidden.Results) == 0 {
		return d.next.Handle(ctx, req)
	}
	arguments, err := redact.Parse(hidden.Arguments...)
	results, also := redact.Parse(hidden.Results...)
	if err := errors.Join(err, also); err != nil { // cannot fail, as the rules were compiled
		return mcp.Result{}, err
	}
	return redact.Places{Arguments: arguments, Results: results}.Handle(ctx, req, d.next)
}

// Refusal returns the error of a call of a tool that is always denied and therefore in no list. It
// returns nil for other tools. The name is the one that clients use.
func Refusal(ctx context.Context, p *policy.Policy, in policy.Input, name string) error {
	if !p.Hides(in.Server, in.Tool, in.Annotations) {
		return nil
	}
	decision := p.Decide(ctx, in)
	return unlisted(&decision, name)
}

// unlisted returns an error that names the rule that denies an unlisted tool. Without the rule, the
// call would look like a typing error.
func unlisted(d *policy.Decision, name string) error {
	var why error
	if !strings.Contains(d.Reason, d.Rule.String()) {
		why = fmt.Errorf("the tool %q is denied by %s", name, d.Rule)
	}
	return &mcp.Error{Code: mcp.CodeInvalidParams, Message: refusalText(d, why), Data: refused.With(nil, refused.Rule)}
}

// refusalText returns the text of the reason why a request is not allowed.
func refusalText(d *policy.Decision, why error) string {
	text := "not allowed: " + d.Reason
	if why != nil {
		text += "; " + why.Error()
	}
	return withoutFolder(d.Rule, text)
}

// withoutFolder removes the folder of the rule's file from a text for clients, as they must not
// learn names of folders.
func withoutFolder(r *policy.Rule, text string) string {
	if name := filepath.Base(r.Source); r.Source != "" && name != r.Source {
		text = strings.ReplaceAll(text, r.Source, name)
	}
	return text
}

// denied returns the outcome of a request that is not allowed. For a call of a tool it is a result
// with isError, which the model reads.
func denied(req *mcp.Request, d *policy.Decision, why error) (mcp.Result, error) {
	text := refusalText(d, why)
	if req.Method != "tools/call" {
		return mcp.Result{}, &mcp.Error{Code: mcp.CodeInvalidParams, Message: text, Data: refused.With(nil, refused.Rule)}
	}
	return mcp.Result{Value: &mcp.CallToolResult{IsError: true, Content: []mcp.Content{mcp.Text(text)}}, Meta: refused.With(nil, refused.Rule)}, nil
}

// input returns the input for the rules from a request. It fails if the definition of the called
// tool cannot be read.
func (d *decider) input(ctx context.Context, req *mcp.Request) (policy.Input, error) {
	in := policy.Input{Method: req.Method, Server: d.options.Server, Origin: d.options.Origin, Trusted: d.options.Trusted != nil && d.options.Trusted(ctx), Arguments: req.Arguments}
	if req.Meta.Client != nil {
		in.Client = req.Meta.Client.Name
	}
	if d.options.Profile != nil {
		in.Profile = d.options.Profile(ctx)
	}
	if p := req.Principal; p != nil {
		in.Principal = policy.Principal{Subject: p.Subject, Issuer: p.Issuer, Scopes: p.Scopes, Groups: p.Groups}
	}
	switch req.Method {
	case "tools/call":
		c, err := d.claims(ctx, req)
		if err != nil {
			return in, err
		}
		in.Tool, in.Title, in.Annotations = req.Name, c.title, c.annotations
	case "resources/read":
		in.Resource = req.Name
	case "completion/complete":
		in.Resource, _ = jsonrpc.Unquote(jsonrpc.Get(jsonrpc.Get(req.Params, "ref"), "uri"))
	case skills.MethodGet, skills.MethodDirectory:
		in.Resource, _ = jsonrpc.Unquote(jsonrpc.Get(req.Params, "uri"))
	}
	return in, nil
}

// claims returns the server's own description of the called tool. It reads the list if the tool was
// never listed. It returns the zero value if the list lacks the tool or the server refuses the
// list. If the server cannot be reached, it returns the error, as the tool cannot be called either.
func (d *decider) claims(ctx context.Context, req *mcp.Request) (claims, error) {
	d.mu.RLock()
	c, known := d.tools[req.Name]
	d.mu.RUnlock()
	if known {
		return c, nil
	}
	client := mcp.NewClientWith(d.next, mcp.ClientOptions{Name: d.options.Server})
	tools := map[string]claims{}
	for raw, err := range client.List(ctx, "tools/list", "tools") {
		if _, responded := errors.AsType[*mcp.Error](err); responded {
			return claims{}, nil
		}
		if err != nil {
			return claims{}, err
		}
		name, c := read(raw)
		tools[name] = c
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tools = tools
	return tools[req.Name], nil
}

// Annotations returns the annotations in a tool's definition.
func Annotations(definition json.RawMessage) policy.Annotations {
	_, c := read(definition)
	return c.annotations
}

// read returns the name in a tool's definition, and its claims.
func read(raw json.RawMessage) (name string, c claims) {
	name, _ = jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
	hints := jsonrpc.Get(raw, "annotations")
	hint := func(name string) *bool {
		switch string(jsonrpc.Get(hints, name)) {
		case "true":
			return new(true)
		case "false":
			return new(false)
		}
		return nil
	}
	c.annotations = policy.Annotations{ReadOnly: hint("readOnlyHint"), Destructive: hint("destructiveHint"), Idempotent: hint("idempotentHint"), OpenWorld: hint("openWorldHint")}
	for _, title := range []json.RawMessage{jsonrpc.Get(hints, "title"), jsonrpc.Get(raw, "title")} {
		if text, ok := jsonrpc.Unquote(title); ok && text != "" {
			c.title = text
		}
	}
	return name, c
}

// list passes tools/list on, and omits tools that are always denied.
func (d *decider) list(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	result, err := d.next.Handle(ctx, req)
	if err != nil {
		return result, err
	}
	body, err := result.Encoded()
	if err != nil {
		return result, err
	}
	p := d.options.Policy(ctx)
	w := jsonrpc.NewObject(make([]byte, 0, len(body)))
	w.Members(body, "tools")
	w.Array("tools")
	tools := map[string]claims{}
	jsonrpc.EachElement(jsonrpc.Get(body, "tools"), func(raw []byte) bool {
		name, c := read(raw)
		tools[name] = c
		if p == nil || d.options.Shadow || !p.Hides(d.options.Server, name, c.annotations) {
			if p != nil && !d.options.Shadow && p.RedactsResults(d.options.Server, name) {
				raw = jsonrpc.Without(raw, "outputSchema")
			}
			w.Element(raw)
		}
		return true
	})
	d.mu.Lock()
	if before := d.tools; before != nil && jsonrpc.Get(req.Params, "cursor") != nil { // a further page
		before = maps.Clone(before)
		maps.Copy(before, tools)
		tools = before
	}
	d.tools = tools
	d.mu.Unlock()
	return result.WithJSON(w.Bytes()), nil
}

// ask asks the user of the client whether a request may pass. If it may not, why is the reason.
func (d *decider) ask(ctx context.Context, req *mcp.Request, in *policy.Input, decision *policy.Decision) (effect policy.Effect, why error) {
	if req.Meta.Capabilities.Allow(mcp.ServerRequest{Method: "elicitation/create"}) != nil {
		return policy.Deny, errors.New("the client cannot ask its user; the operator can add a rule that allows it")
	}
	shown := string(in.Arguments)
	if len(shown) > maxShown {
		return policy.Deny, fmt.Errorf("the arguments have %d bytes, and users can review at most %d; add a rule that allows it", len(shown), maxShown)
	}
	message := d.elicitation(req) + "\n" + withoutFolder(decision.Rule, decision.Reason)
	if shown != "" {
		message += "\nArguments: " + plaintext.Unbroken(shown)
	}
	answer, err := mcp.ElicitRaw(mcp.WithRequest(ctx, req), mcp.ElicitRequest{Message: message, RequestedSchema: formSchema()})
	switch {
	case errors.Is(err, mcp.ErrInputRequired):
		return policy.Ask, err
	case err != nil:
		return policy.Deny, fmt.Errorf("the user could not be asked: %w", err)
	case answer.Action == mcp.ElicitAccept && string(jsonrpc.Get(answer.Content, "allow")) == "true":
		return policy.Allow, nil
	}
	return policy.Deny, mcp.ErrDeclined
}

// formSchema returns the schema of the form for the user.
func formSchema() json.RawMessage {
	w := jsonrpc.NewObject(nil)
	w.String("type", "object")
	w.Object("properties")
	w.Object("allow")
	w.String("type", "boolean")
	w.String("title", "Allow this once")
	w.End()
	w.End()
	w.Array("required")
	w.StringElement("allow")
	return w.Bytes()
}

// elicitation returns the text for the user.
func (d *decider) elicitation(req *mcp.Request) string {
	verb, noun := "read", "resource"
	switch req.Method {
	case "tools/call":
		verb, noun = "called", "tool"
	case "prompts/get":
		verb, noun = "used", "prompt"
	}
	of := ""
	if d.options.Server != "" {
		of = " of server " + d.options.Server
	}
	return fmt.Sprintf("May the %s %s%s be %s?", noun, plaintext.Line(req.Name, 200), of, verb)
}
