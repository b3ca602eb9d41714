package guard

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// ScanDefinition scans all texts of a definition together, including those in its schemas. The
// worst finding comes first.
func (c *Catalogue) ScanDefinition(d Definition) []Finding {
	w := &walker{catalogue: c, server: d.Server, report: newReport()}
	w.report.simple = d.Kind == Tool && isSimple(d.Name)
	w.report.about = []string{d.Name, d.Title, d.Description}
	part := InDefinition
	if d.Kind == Instructions {
		part = InInstructions
	}
	for _, field := range []struct{ name, text string }{{"name", d.Name}, {"title", d.Title}, {"description", d.Description}, {"text", d.Text}} {
		c.scanText(w.report, field.text, w.at(part, field.name))
	}
	for _, field := range []struct {
		name string
		raw  json.RawMessage
	}{{"schema", d.Schema}, {"outputSchema", d.OutputSchema}, {"annotations", d.Annotations}} {
		if jsonrpc.Valid(field.raw, jsonrpc.Limits{}) == nil {
			w.walk(field.raw, field.name, InDefinition)
			w.catalogue.addNames(w, field.raw, field.name)
			visit(field.raw, field.name, func(string, string) {}, func(member string, value []byte, inside string) bool {
				if member == "properties" {
					jsonrpc.EachMember(value, func(name, _ []byte) bool { w.property(text(name), inside+"."+cut(text(name), maxWord)); return true })
				}
				return true
			})
		} else {
			c.scanText(w.report, string(field.raw), w.at(part, field.name))
		}
	}
	return w.report.findings()
}

// ScanRequest scans the parameters of a request that a server sends to the user or to the model.
// Invalid JSON is a finding. The worst finding comes first.
func (c *Catalogue) ScanRequest(server, method string, params json.RawMessage) []Finding {
	if fault := jsonrpc.Valid(params, jsonrpc.Limits{}); fault != nil {
		return []Finding{{Rule: "malformed", Severity: Warn, Why: "is not JSON that can be checked: " + fault.Error()}}
	}
	w := &walker{catalogue: c, server: server, report: newReport()}
	if method == "elicitation/create" {
		w.elicitation(params, "params")
		return w.report.findings()
	}
	w.walk(params, "params", InSampling)
	if text(jsonrpc.Get(params, "includeContext")) == "allServers" {
		w.report.add(signal{rule: "conversation", weight: warnAt, where: "params.includeContext", why: "asks for the texts of other servers"})
	}
	return w.report.findings()
}

// A walker visits all texts of a definition or request.
type walker struct {
	catalogue *Catalogue
	server    string
	report    *report
}

// property scans the name of a property.
func (w *walker) property(name, field string) {
	if w.report.simple && secretWord(name) != "" {
		w.report.add(signal{rule: "exfiltration", weight: warnAt + 1, where: field, excerpt: excerpt(name, 0, min(len(name), maxWord)), why: "has a parameter for a secret, which a tool of this name should not need"})
	}
	if weight := talkParameter(name); weight > 0 {
		if !concernsModels(w.report.about) {
			weight = max(weight, warnAt)
		}
		w.report.add(signal{rule: "conversation-parameter", weight: weight, where: field, excerpt: excerpt(name, 0, min(len(name), maxWord)),
			why: "has a parameter for the conversation or the model's own instructions"})
	}
}

// walk scans all strings of a value and the names of members. It skips members with encoded bytes.
func (w *walker) walk(raw json.RawMessage, field string, part Part) {
	visit(raw, field, func(s, field string) { w.catalogue.scanText(w.report, s, w.at(part, field)) }, func(member string, value []byte, inside string) bool {
		if !isPlainName(member) {
			w.catalogue.scanText(w.report, member, w.at(part, inside))
		}
		return member != "blob" || len(value) <= 256
	})
}

func (w *walker) at(part Part, field string) Where {
	return Where{Part: part, Server: w.server, Field: field}
}

// visit calls said with each string of a value. It calls named with each member before it visits
// the member's value, and skips the value if named returns false.
func visit(raw []byte, field string, said func(s, field string), named func(member string, value []byte, inside string) bool) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return
	}
	switch raw[0] {
	case '"':
		said(text(raw), field)
	case '[':
		i := 0
		jsonrpc.EachElement(raw, func(value []byte) bool {
			visit(value, field+"."+strconv.Itoa(i), said, named)
			i++
			return true
		})
	case '{':
		jsonrpc.EachMember(raw, func(name, value []byte) bool {
			member := text(name)
			inside := field + "." + cut(member, maxWord)
			if named(member, value, inside) {
				visit(value, inside, said, named)
			}
			return true
		})
	}
}

// text returns the string that raw encodes, or "" if raw is not a string.
func text(raw []byte) string {
	s, _ := jsonrpc.Unquote(raw)
	return s
}

// isPlainName reports whether a member's name is a single short word. Nearly all names are, and
// none can hold a message.
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
