package guard

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// maxFrame is how many bytes of text of one message are looked at.
const maxFrame = 8 << 20

// A frame is a message that is looked through, part by part.
type frame struct {
	catalogue *Catalogue
	server    string
	report    *report // of the part at hand
	spent     int     // by the parts before
	done      []Finding
	dropped   Severity // the gravest finding that there was no room for
}

// begin starts a part whose signals add up.
func (f *frame) begin(atMost Severity) {
	f.end()
	f.report = newReport()
	f.report.atMost = atMost
	f.report.left = min(maxText, max(0, maxFrame-f.spent))
}

func (f *frame) end() {
	if f.report != nil {
		f.spent += maxText - f.report.left
		found := f.report.findings() // gravest first
		room := min(len(found), 4*maxFindings-len(f.done))
		f.done = append(f.done, found[:room]...)
		f.dropped = max(f.dropped, Worst(found[room:]))
	}
	f.report = nil
}

func (f *frame) found() []Finding {
	f.end()
	if f.dropped > None {
		f.done = append(f.done, Finding{Rule: "too-long", Severity: max(f.dropped, Warn), Why: "has more findings than are listed"})
	}
	slices.SortStableFunc(f.done, func(a, b Finding) int { return cmp.Compare(b.Severity, a.Severity) })
	return f.done
}

// message looks through one message, whichever kind it is.
func (f *frame) message(raw []byte) {
	if method := text(jsonrpc.Get(raw, "method")); method != "" {
		f.request(method, jsonrpc.Get(raw, "params"), "params")
		return
	}
	if fault := jsonrpc.Get(raw, "error"); fault != nil {
		f.begin(Block)
		f.report.fault = true
		f.walk(fault, "error", InResult)
	}
	if result := jsonrpc.Get(raw, "result"); result != nil {
		f.result(result)
	}
}

func (f *frame) request(method string, params json.RawMessage, field string) {
	switch method {
	case "tools/call", "prompts/get", "completion/complete", "resources/read", "resources/subscribe":
		f.begin(Block)
		f.secretsIn(params, field, InArguments)
	case "elicitation/create":
		f.begin(Block)
		f.elicitation(params, field)
	case "sampling/createMessage":
		f.begin(Block)
		f.walk(params, field, InSampling)
		if text(jsonrpc.Get(params, "includeContext")) == "allServers" {
			f.report.add(signal{rule: "conversation", weight: warnAt, where: field + ".includeContext", why: "asks for what other servers said"})
		}
	default:
		f.begin(Block)
		f.walk(params, field, InResult)
	}
}

// lists are the members of results whose elements are definitions.
var lists = []string{"tools", "prompts", "resources", "resourceTemplates"}

func (f *frame) result(result json.RawMessage) {
	rest := result
	for _, list := range lists {
		i := 0
		jsonrpc.EachElement(jsonrpc.Get(result, list), func(value []byte) bool {
			f.begin(Block)
			f.definition(value, list+"."+strconv.Itoa(i))
			i++
			return true
		})
	}
	if jsonrpc.Get(result, "serverInfo") != nil || jsonrpc.Get(result, "instructions") != nil {
		f.begin(Block)
		f.walk(jsonrpc.Get(result, "serverInfo"), "serverInfo", InInstructions)
		f.walk(jsonrpc.Get(result, "instructions"), "instructions", InInstructions)
	}
	jsonrpc.EachMember(jsonrpc.Get(result, "inputRequests"), func(name, value []byte) bool {
		f.request(text(jsonrpc.Get(value, "method")), jsonrpc.Get(value, "params"), "inputRequests."+text(name))
		return true
	})
	if contents := jsonrpc.Get(result, "contents"); contents != nil {
		f.begin(Warn)
		f.walk(contents, "contents", InResource)
	}
	if messages := jsonrpc.Get(result, "messages"); messages != nil {
		f.begin(Block)
		f.walk(messages, "messages", InPrompt)
	}
	rest = jsonrpc.Without(rest, append([]string{"serverInfo", "instructions", "inputRequests", "contents", "messages", "content", "capabilities"}, lists...)...)
	f.begin(Block)
	f.report.fault = string(bytes.TrimSpace(jsonrpc.Get(result, "isError"))) == "true"
	f.walk(rest, "result", InResult)
	f.content(jsonrpc.Get(result, "content"))
}

// content looks through the blocks of a result. Their texts are one text, as
// they are to a model.
func (f *frame) content(content json.RawMessage) {
	var joined strings.Builder
	i := 0
	jsonrpc.EachElement(content, func(block []byte) bool {
		field := "content." + strconv.Itoa(i)
		if text(jsonrpc.Get(block, "type")) == "text" {
			joined.WriteString(text(jsonrpc.Get(block, "text")))
			joined.WriteByte('\n')
			block = jsonrpc.Without(block, "text")
		}
		f.walk(block, field, InResult)
		i++
		return true
	})
	f.catalogue.scanText(f.report, joined.String(), f.at(InResult, "content"))
}

// definition looks through an element of a list.
func (f *frame) definition(raw json.RawMessage, field string) {
	name := text(jsonrpc.Get(raw, "name"))
	f.report.simple, f.report.about = isSimple(name), []string{name, text(jsonrpc.Get(raw, "title")), text(jsonrpc.Get(raw, "description"))}
	jsonrpc.EachMember(raw, func(name, value []byte) bool {
		switch member := text(name); member {
		case "inputSchema", "outputSchema":
			f.schema(value, field+"."+member)
		case "icons":
			// Pictures; their addresses are no text.
		default:
			f.walk(value, field+"."+member, InDefinition)
		}
		return true
	})
}

// schema looks through a JSON Schema: its texts, and the names of properties.
func (f *frame) schema(raw json.RawMessage, field string) {
	f.walk(raw, field, InDefinition)
	f.catalogue.addNames(f, raw, field)
	f.properties(raw, field, func(name, field string) {
		if f.report.simple && secretWord(name) != "" {
			f.report.add(signal{rule: "exfiltration", weight: warnAt + 1, where: field, excerpt: excerpt(name, 0, min(len(name), maxWord)), why: "has a parameter for a secret, which a tool of this name has no business with"})
		}
		if weight := talkParameter(name); weight > 0 {
			if !talks(f.report.about) {
				weight = max(weight, warnAt)
			}
			f.report.add(signal{rule: "conversation-parameter", weight: weight, where: field, excerpt: excerpt(name, 0, min(len(name), maxWord)),
				why: "has a parameter for the conversation or the model's own instructions"})
		}
	})
}

// properties calls do for each property in a schema and those inside it.
func (f *frame) properties(raw json.RawMessage, field string, do func(name, field string)) {
	jsonrpc.EachMember(raw, func(name, value []byte) bool {
		member := text(name)
		if member == "properties" {
			jsonrpc.EachMember(value, func(name, _ []byte) bool {
				property := text(name)
				do(property, field+".properties."+cut(property, maxWord))
				return true
			})
		}
		f.properties(value, field+"."+cut(member, maxWord), do)
		return true
	})
}

// walk looks through all strings of a value, and the names of members. It leaves out what is
// bytes and no text.
func (f *frame) walk(raw json.RawMessage, field string, part Part) {
	visit(raw, field, func(s, field string) { f.catalogue.scanText(f.report, s, f.at(part, field)) }, func(member string, value []byte, inside string) bool {
		if !isPlainName(member) {
			f.catalogue.scanText(f.report, member, f.at(part, inside))
		}
		encoded := member == "blob" || member == "data" && part == InResult && len(value) > 0 && value[0] == '"'
		return !encoded || len(value) <= 256
	})
}

func (f *frame) at(part Part, field string) Where {
	return Where{Part: part, Server: f.server, Field: field}
}

// text returns the string that raw is; "" if it is none.
func text(raw []byte) string {
	s, _ := jsonrpc.Unquote(raw)
	return s
}

// isPlainName reports whether a member name is one of the short words that
// nearly all are, in which nothing can be said.
func isPlainName(name string) bool {
	const long = 24
	if len(name) > long {
		return false
	}
	for i := range len(name) {
		if !isNameByte(name[i]) {
			return false
		}
	}
	return true
}
