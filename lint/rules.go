package lint

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// A Rule describes a kind of finding. A constant has its name.
type Rule struct {
	Name     string   // name in findings
	Severity Severity // severity of most findings
	Doc      string   // faults that it finds, in Markdown
	// Bad and Good are examples of tool definitions, one a line. In Bad the rule finds one fault;
	// in Good no rule finds any. They are empty if definitions of tools cannot show the fault.
	Bad, Good string

	// check is called with each subject, such as a server, a *tool or a *mcp.Prompt. It ignores the
	// types that it does not check. It is nil if the code that parses definitions finds the faults.
	check func(r *report, subject any)
}

// rules lists all rules in the order of docs/lint.md, which is generated from them.
var rules = []*Rule{
	&protocolRule, &duplicateNameRule, &toolNameRule, &invalidSchemaRule, &refusedSchemaRule, &unknownRequiredRule, &unfitValueRule,
	&noDescriptionRule, &noArgumentDescriptionRule, &sameDescriptionRule, &contradictionRule, &sizeRule, &poisonRule, &outputRule,
}

// Rules returns all rules, in the order of docs/lint.md.
func Rules() []Rule {
	all := make([]Rule, len(rules))
	for i, rule := range rules {
		all[i] = *rule
	}
	return all
}

// of adapts a check for one type of subject. The result ignores other types.
func of[T any](check func(*report, T)) func(*report, any) {
	return func(r *report, subject any) {
		if s, is := subject.(T); is {
			check(r, s)
		}
	}
}

// check calls all rules with a subject.
func (r *report) check(subject any) {
	for _, rule := range rules {
		if rule.check != nil {
			rule.check(r, subject)
		}
	}
}

// maxFindings is the largest number of findings about a server.
const maxFindings = 10_000

// A server is all that was seen of a server, with the tools that can be parsed.
type server struct {
	*Seen
	tools []tool
}

type (
	// names is the subject of rules about names, which are checked first.
	names server
	// toolset is the subject of rules that compare tools, which are checked after the single tools.
	toolset server
)

// Check returns the findings about a server, the most severe first, and otherwise in the order of
// the definitions. It sends nothing, and its result depends only on seen.
func Check(seen *Seen) []Finding {
	r := &report{}
	r.about(OfServer, "")
	for _, b := range seen.Breaches {
		r.add(Protocol, Error, "", b.What, "the specification says: "+b.Rule)
	}
	s := server{seen, r.readTools(seen.Tools)}
	r.check(names(s))
	for i := range s.tools {
		t := &s.tools[i]
		r.about(OfTool, t.Name)
		r.readSchemas(t)
		r.check(t)
	}
	r.check(toolset(s))
	r.readPrompts(seen.Prompts)
	r.readResources(seen)
	r.check(s)
	known := map[string]*tool{}
	for i := range s.tools {
		known[s.tools[i].Name] = &s.tools[i]
	}
	for i := range s.Calls {
		call := &s.Calls[i]
		if t := known[call.Tool]; t != nil && call.Err == nil {
			r.about(OfTool, t.Name)
			r.readResult(call, &result{of: t}, s.Revision)
		}
	}
	slices.SortStableFunc(r.found, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return r.found
}

// A tool is the parsed definition of a tool.
type tool struct {
	mcp.Tool
	raw     json.RawMessage
	valid   []part // its valid schemas: the input schema, then the output schema
	invalid []fault
}

// fits reports whether the tool has a valid schema in a field.
func (t *tool) fits(field string) bool {
	return slices.ContainsFunc(t.valid, func(p part) bool { return p.field == field })
}

// A fault is the reason why a schema is invalid.
type fault struct {
	field string
	err   error
}

// text returns the value of a string member, or "".
func text(raw json.RawMessage, member string) string {
	s, _ := jsonrpc.Unquote(jsonrpc.Get(raw, member))
	return s
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	at := jsonrpc.SkipSpace(raw, 0)
	return at < len(raw) && raw[at] == '{'
}
