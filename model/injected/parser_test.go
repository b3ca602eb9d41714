package injected

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

var testTools = []model.Tool{
	{Name: "calc__add", Description: "Adds.", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"number"}},"required":["a","b"]}`)},
	{Name: "files__write_file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"lines":{"type":"array"},"force":{"type":"boolean"}}}`)},
	{Name: "web__search", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}}}`)},
	{Name: "db__search", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":["integer","null"]}}}`)},
}

// parse returns what was found, one thing on each line.
func parse(tools []model.Tool, complete bool, pieces ...string) string {
	a := &answer{emit: func(model.Delta) {}, tools: newToolbox(tools, nil), stop: func() {}}
	a.begin()
	for _, piece := range pieces {
		a.write(piece)
	}
	a.parser.close(complete)
	a.settle()
	var b strings.Builder
	for _, p := range a.parts {
		switch {
		case p.Text != "":
			fmt.Fprintf(&b, "text %q\n", p.Text)
		case p.Reasoning != nil:
			fmt.Fprintf(&b, "reasoning %q\n", p.Reasoning.Text)
		case p.Call.Malformed != "":
			fmt.Fprintf(&b, "malformed %s: %s\n", p.Call.Name, p.Call.Malformed)
		default:
			fmt.Fprintf(&b, "call %s %s\n", p.Call.Name, p.Call.Arguments)
		}
	}
	return b.String()
}

// damage is what models write.
var damage = []string{
	"Sure.\n<tool_call>\n{\"name\": \"calc__add\", \"arguments\": {\"a\": 2, \"b\": 40}}\n</tool_call>",
	"<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 40}}",
	"<tool_call>{'name': 'add', 'arguments': {'a': 2, 'b': 40,}}</tool_call>\n<tool_call>{name: \"Write_File\", args: {path: \"x\", content: \"he said \"hi\" to\nme\", force: True}}</tool_call> ok",
	"Here:\n```json\n{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}\n```\nfine",
	"Here:\n```json\n{\"name\": \"nope\", \"arguments\": {\"a\": 1, \"b\": 2}}\n```\nfine",
	"{\"name\": \"add\", \"arguments\": \"{\\\"a\\\": 1, \\\"b\\\": 2}\"}",
	"{\"items\": [\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n]}",
	"[add(a=1, b=2.5), write_file(path='x', lines=[1,2,None])]",
	"<function=write_file>\n<parameter=path>\n/a/b\n<" + "/parameter>\n<parameter=lines>\n[1, 2]\n<" + "/parameter>\n<" + "/function>",
	"<function_calls>\n<invoke name=\"write_file\">\n<parameter name=\"path\">a<b<" + "/parameter>\n<parameter name=\"force\">true<" + "/parameter>\n<" + "/invoke>\n<" + "/function_calls>\nthen",
	"<|python_tag|>{\"name\": \"add\", \"parameters\": {\"a\": 1, \"b\": 2}}; {\"name\": \"add\", \"parameters\": {\"a\": 3, \"b\": 2}}<|eom_id|>",
	"[TOOL_CALLS][{\"name\": \"add\", \"arguments\": {\"a\": 1, \"b\": 2}}]",
	"[TOOL_CALLS]add[ARGS]{\"a\": 1, \"b\": 2}",
	"<|tool_calls_section_begin|><|tool_call_begin|>functions.add:0<|tool_call_argument_begin|>{\"a\": 1, \"b\": 2}<|tool_call_end|><|tool_calls_section_end|>",
	"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>add\n```json\n{\"a\": 1, \"b\": 2}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
	"<|channel|>analysis<|message|>Hmm, think<|end|><|start|>assistant<|channel|>commentary to=functions.add <|constrain|>json<|message|>{\"a\": 1, \"b\": 2}<|call|>",
	"<|channel|>final<|message|>The answer<|return|>",
	"<think>\nLet me <b>see</b>\n</think>\n\nAnswer <tool_call>{\"name\":\"search\",\"arguments\":{\"query\":\"x\"}}</tool_call>\n<tool_response>made up</tool_response>",
	"Use the `<tool_call>` tag, or <tool_call> like this. [1] see {x} <b>bold</b>",
	"<tool_call>add\n<arg_key>a</arg_key>\n<arg_value>1</arg_value>\n<arg_key>b</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
	"<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": </tool_call> hello",
	"<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 2, \"b\": 4",
	"```tool_code\nprint(add(a=1, b=2))\n```",
}

func TestTheSplitMakesNoDifference(t *testing.T) {
	for _, text := range damage {
		want := parse(testTools, true, text)
		for i := range text {
			if got := parse(testTools, true, text[:i], text[i:]); got != want {
				t.Errorf("%q: split behind %q: %s, want %s", text, text[:i], got, want)
				break
			}
		}
	}
}
