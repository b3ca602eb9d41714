package injected

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// maxManual is how many bytes the manual of the tools has at most.
const maxManual = 128 << 10

// manualHead shows a call as models of the form were trained to see it, in the manual of Hermes and Qwen.
const manualHead = `# Tools

You can call tools. To call one, write a JSON object with its name and its arguments between these tags, exactly so:

<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>

To call several at once, write several such blocks. Arguments must fit the tool's parameters, which are a JSON Schema. Behind your calls, stop and wait: the results come in the next message between <tool_response> tags, which you never write yourself. If no tool is needed, just answer.

These tools exist, and no others:

<tools>
`

// manual writes the tools down for a model, and says which of them had no room or
// could not be taken as they are. The same tools give the same text.
func manual(tools []model.Tool) (string, []model.Note) {
	var lines strings.Builder
	var notes []model.Note
	for i := range tools {
		t := &tools[i]
		schema := compact(t.Schema)
		if schema == nil {
			notes = append(notes, model.Note{Tool: t.Name, SetAside: true, Text: "its schema is no JSON object"})
			continue
		}
		line := entry(t.Name, t.Description, schema)
		if lines.Len()+len(line) > maxManual {
			notes = append(notes, model.Note{Tool: t.Name, SetAside: true, Text: fmt.Sprintf("the manual of the tools would be longer than %d bytes", maxManual)})
			continue
		}
		lines.WriteString(line)
	}
	if lines.Len() == 0 {
		return "", notes
	}
	return manualHead + lines.String() + "</tools>", notes
}

func entry(name, description string, schema json.RawMessage) string {
	line := jsonrpc.AppendString([]byte(`{"name":`), name)
	if description != "" {
		line = jsonrpc.AppendString(append(line, `,"description":`...), description)
	}
	line = append(append(line, `,"parameters":`...), schema...)
	return string(harmless(line)) + "}\n"
}

// compact returns a schema without white space; nil if it is none.
func compact(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	var out bytes.Buffer
	if jsonrpc.Valid(schema, jsonrpc.Limits{}) != nil || json.Compact(&out, schema) != nil || !isObject(out.Bytes()) {
		return nil
	}
	return out.Bytes()
}

func appendCall(dst []byte, name string, arguments json.RawMessage) []byte {
	dst = jsonrpc.AppendString(append(dst, `{"name": `...), name)
	dst = append(append(dst, `, "arguments": `...), harmless(arguments)...)
	return append(dst, '}')
}

// tokens are what could end the place that a text of somebody else is in, or pretend
// to be a call or another speaker.
var tokens = regexp.MustCompile(`<(/?tool_response|/?tool_call|/?tools>|[|｜][\w▁/]+[|｜]>)`)

// harmless breaks the marks in JSON, where it can be done without a change.
func harmless(raw []byte) []byte { return tokens.ReplaceAll(raw, []byte(`\u003c$1`)) }

// harmlessText breaks the marks in text.
func harmlessText(text string) string { return tokens.ReplaceAllString(text, "&lt;$1") }
