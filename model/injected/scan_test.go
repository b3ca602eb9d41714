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

// parse returns the parts found, one on each line.
func parse(tools []model.Tool, complete bool, pieces ...string) string {
	s := &scanner{emit: func(model.Delta) {}, tools: newToolbox(tools, nil)}
	s.start()
	for _, piece := range pieces {
		s.write(piece)
	}
	s.close(complete)
	var b strings.Builder
	for _, p := range s.parts {
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

// damage lists damaged calls of models.
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
	"<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}</tool_call> and <tool_call>{\"name\":\"add\",\"arguments\":{\"a\":3,\"b\":4}}</tool_call>\nDone.",
	"<tool_call>{\"name\":\"write_file\",\"arguments\":{\"content\":\"see </tool_call> and <tool_call>\",\"path\":\"x\"}}</tool_call>",
	"```xml\n<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}</tool_call>\n```\n",
	"<tool_call>\n```json\n{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}\n```\n</tool_call>",
	"<function=add>{\"a\":1,\"b\":2}</function>",
	"<function=add>\n<parameter=a>\n1\n<parameter=b>\n2\n</function>\nok",
	"<tool_call>\n<function=search>\n<parameter=query>x</parameter>\n</tool_call>\nthen",
	"<function=search>\n<parameter=query>unfinished",
	"<think>a <b> c</think>\n<tool_call>{\"name\":\"db__search\",\"arguments\":{}}</tool_call>",
	"hm</think>\nyes",
	"```json\n[{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}},{\"name\":\"add\",\"arguments\":{\"a\":3,\"b\":2}}]\n```",
	"```json\n{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}",
	"```json\n{\"name\":\"write_file\",\"arguments\":{\"content\":\"```\\ncode\\n```\"}}\n```\nend",
	"```\n{\"tool_calls\":[{\"id\":\"1\",\"type\":\"function\",\"function\":{\"name\":\"add\",\"arguments\":\"{\\\"a\\\":1}\"}}]}\n```",
	"```python\nx = {\"name\": \"add\"}\n```\n<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>",
	"<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}</tool_call>",
	"<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}} thanks",
	"<tool_call>{\"name\":\"add\",\"arguments\":{\"a\":1 \"b\":2}}</tool_call>",
	"<tool_call>{\"name\":\"add\",\"arguments\":[1,2]}</tool_call>",
	"<tool_call>{\"foo\":1}</tool_call> x",
	"<|python_tag|>{\"name\":\"nope\",\"parameters\":{}}<|eot_id|>",
	"<tool_call>\n</tool_call>",
	"a `<tool_call>{\"name\":\"add\",\"arguments\":{}}</tool_call>` b",
	"<tool_call>{\"name\":\"write_file\",\"arguments\":{\"path\":\"C:\\new\\dir\",\"content\":\"\\u00e9 \\x\"}}</tool_call>",
	"<tool_call>{\"name\": \"add\", \"arguments\": {\"a\": 0x1F, \"b\": 1_000}}</tool_call>",
	"<tool_call>{\"name\": \"add\", \"arguments\": \"\"}</tool_call>",
	"<tool_call>{\"name\": \"write_file\", \"arguments\": {\"path\": \"a\", \"content\": \"never closed}}</tool_call>\nSorry.",
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

func TestPlainTextIsNotHeldBack(t *testing.T) {
	for name, text := range map[string]string{
		"a block of other JSON": "```json\n{\"items\": [" + strings.Repeat("1,\n", maxHead),
		"a block of code":       "```python\nx = {\"name\": \"add\"}\n",
		"a mark in a sentence":  "Use <tool_call> like this. " + strings.Repeat("And so on. ", maxHead),
		"what may be a mark":    "It is so that 1 < 2 in any case",
	} {
		emitted := 0
		s := &scanner{emit: func(d model.Delta) { emitted += len(d.Text) }, tools: newToolbox(testTools, nil)}
		s.start()
		s.write(text)
		if emitted < len(strings.TrimSpace(text))-markSize {
			t.Errorf("%s: %d of %d bytes were emitted", name, emitted, len(text))
		}
	}
}
