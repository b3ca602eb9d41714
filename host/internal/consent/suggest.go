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
// question. The servers that the card names are part of them.
func (d *Decider) helpful(ctx context.Context, in policy.Input, asked guard.Decision, allowed bool) []Suggestion {
	var names, shown []string
	for _, from := range asked.Sources {
		name := policy.NameOf(from.Server, from.Origin)
		if d.here(from) && !slices.Contains(names, name) && !strings.Contains(name, ",") {
			names, shown = append(names, name), append(shown, from.Server)
		}
	}
	everyTime := func(reason guard.Reason) bool { return reason == guard.CarriesSecret || reason == guard.CarriesText }
	if slices.ContainsFunc(asked.Reasons, everyTime) || allowed && len(names) == 0 {
		return nil
	}
	after := strings.Join(names, ", ")
	var rules []Suggestion
	for _, a := range always(in) {
		if a.Rule.After = after; after != "" {
			a.Label += ", also after text of " + strings.Join(shown, ", ")
		}
		with, err := d.rules().With(a.Rule)
		if err == nil && with.Decide(ctx, in).Effect == policy.Allow {
			rules = append(rules, a)
		}
	}
	return rules
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
// arguments' names; and the names of the other texts, which differ from call to call.
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
		case isText && folder == "":
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
