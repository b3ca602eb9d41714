package consent

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/policy"
)

// A Suggestion is a rule that a person can have written.
type Suggestion struct {
	Label string // for people, such as "this tool with any arguments"
	Rule  policy.Rule
}

// helpful are those of the rules that "always" could write which would save the next such
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

// once says why no rule would save the next such question.
func (d *Decider) once(asked guard.Decision, rules policy.Decision) string {
	switch {
	case slices.Contains(asked.Reasons, guard.CarriesSecret):
		return "a secret is asked about every time"
	case slices.Contains(asked.Reasons, guard.CarriesText):
		return "copied text is asked about every time, unless the same is sent again"
	case rules.Effect == policy.Ask && !rules.Default:
		return "a rule says that it is asked about"
	}
	for _, from := range asked.Sources {
		if !d.coverable(from) {
			return "no rule covers text of " + from.String()
		}
	}
	return "no rule covers text that seems to give the model orders"
}

// always are the rules that "always" could write about a call, the narrowest first.
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
		{"everything of this server", policy.Scope{Reach: policy.ThisServer}},
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

// never are the rules that "never" could write about a call, the narrowest first.
func never(in policy.Input) []Suggestion {
	rules := always(in)
	for i := range rules {
		rules[i].Rule.Effect, rules[i].Rule.Origin = policy.Deny, ""
	}
	return rules
}

// folders are the folders of arguments that are absolute paths, or lists of such, by the
// arguments' names; and the names of the other texts, and of lists that hold such (the edits of a
// file), which differ from call to call.
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

// folderOf is the folder of an absolute path; "/" where there is none to speak of, and
// empty where this is no path.
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
