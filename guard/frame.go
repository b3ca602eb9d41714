package guard

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// ScanFrame looks through every string of one JSON-RPC message that was
// exchanged with a server, member names too, each as what it is: definitions in lists, instructions,
// results and errors, contents of resources, questions, and the arguments of a call that is about
// to leave. What is not JSON is a finding. The gravest finding comes first.
func (c *Catalogue) ScanFrame(server string, message []byte) []Finding {
	if fault := jsonrpc.Valid(message, jsonrpc.Limits{}); fault != nil {
		return []Finding{{Rule: "malformed", Severity: Warn, Why: "is no JSON that can be checked: " + fault.Error()}}
	}
	message = bytes.TrimSpace(message)
	f := &frame{catalogue: c, server: server}
	if jsonrpc.IsBatch(message) {
		jsonrpc.EachElement(message, func(value []byte) bool { f.message(value); return true })
	} else {
		f.message(message)
	}
	return f.found()
}

// ScanDefinition looks through all texts of a definition, those in its schemas
// too, together. The gravest finding comes first.
func (c *Catalogue) ScanDefinition(d Definition) []Finding {
	f := &frame{catalogue: c, server: d.Server}
	f.begin(Block)
	f.report.simple = d.Kind == Tool && isSimple(d.Name)
	f.report.about = []string{d.Name, d.Title, d.Description}
	part := InDefinition
	if d.Kind == Instructions {
		part = InInstructions
	}
	for _, field := range []struct{ name, text string }{{"name", d.Name}, {"title", d.Title}, {"description", d.Description}, {"text", d.Text}} {
		c.scanText(f.report, field.text, Where{Part: part, Server: d.Server, Field: field.name})
	}
	for _, field := range []struct {
		name string
		raw  json.RawMessage
	}{{"schema", d.Schema}, {"outputSchema", d.OutputSchema}, {"annotations", d.Annotations}} {
		if jsonrpc.Valid(field.raw, jsonrpc.Limits{}) == nil {
			f.schema(field.raw, field.name)
		} else {
			c.scanText(f.report, string(field.raw), Where{Part: part, Server: d.Server, Field: field.name})
		}
	}
	return f.found()
}

// arguments looks through what is about to leave. What is no JSON is a text.
func (f *frame) arguments(raw []byte, part Part) {
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		addSecrets(f.report, f.report.take(string(raw), "arguments"), f.at(part, "arguments"))
		return
	}
	f.secretsIn(bytes.TrimSpace(raw), "arguments", part)
}

// secretsIn looks for secrets in all strings of a value, each together with
// its name, which may say what it is.
func (f *frame) secretsIn(raw json.RawMessage, field string, part Part) {
	visit(raw, field, func(s, field string) {
		s = f.report.take(s, field)
		addSecrets(f.report, s, f.at(part, field))
		if part == InArguments {
			(&scan{report: f.report, layer: layer{text: s}, at: f.at(part, field)}).commands()
		}
	}, func(member string, value []byte, inside string) bool {
		addSecrets(f.report, f.report.take(member, inside), f.at(part, inside))
		if len(value) > 2 && len(value) < 256 && value[0] == '"' {
			addSecrets(f.report, f.report.take(member+"="+text(value), inside), f.at(part, inside))
		}
		return true
	})
}

// visit calls said with the strings of a value, and first named with each member, whose value
// is left out if that returns false.
func visit(raw []byte, field string, said func(s, field string), named func(member string, value []byte, inside string) bool) {
	if len(raw) == 0 {
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
