package lint

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/sorting"
	"github.com/junction-mcp/junction/mcp"
)

// A Rule is a kind of finding. Each has a constant of its name.
type Rule struct {
	Name     string   // as findings have it
	Severity Severity // of most of its findings
	Doc      string   // Markdown: what it finds
	// Bad and Good are definitions of tools, one a line: of a server of which the rule finds one thing, and of one of which no rule
	// finds anything. They are empty where definitions of tools do not show it.
	Bad, Good string

	// check looks at each server, *tool, *mcp.Prompt and so on of which it knows something; nil: what reads the definitions finds it.
	check func(r *report, subject any)
}

// rules are all rules, in the order of docs/lint.md, which is made of them.
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

// of makes a check of one that looks at subjects of one type.
func of[T any](check func(*report, T)) func(*report, any) {
	return func(r *report, subject any) {
		if s, is := subject.(T); is {
			check(r, s)
		}
	}
}

// check has each rule look at a subject.
func (r *report) check(subject any) {
	for _, rule := range rules {
		if rule.check != nil {
			rule.check(r, subject)
		}
	}
}

// maxFindings is how many findings there are of one server.
const maxFindings = 10_000

// A server is all that was seen of one, with its tools as far as they can be read.
type server struct {
	*Seen
	tools []tool
}

type (
	// names is a server whose names are looked at, which are first.
	names server
	// toolset is a server whose tools are compared, once each was looked at.
	toolset server
)

// Check returns the findings of a server, the gravest first, and else in the order of the
// definitions. It sends nothing; the same Seen has the same findings.
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
	sorting.StableBy(r.found, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return r.found
}

// A tool is what can be read of a definition.
type tool struct {
	mcp.Tool
	raw     json.RawMessage
	valid   []part // its schemas that are valid: the input schema, the output schema
	invalid []fault
}

// fits reports whether one of its schemas is there and valid.
func (t *tool) fits(field string) bool {
	return slices.ContainsFunc(t.valid, func(p part) bool { return p.field == field })
}

// A fault is why a schema is not valid.
type fault struct {
	field string
	err   error
}

// text is a member that is a string; "" otherwise.
func text(raw json.RawMessage, member string) string {
	s, _ := jsonrpc.Unquote(jsonrpc.Get(raw, member))
	return s
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	at := jsonrpc.SkipSpace(raw, 0)
	return at < len(raw) && raw[at] == '{'
}
