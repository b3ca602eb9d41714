package injected

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// New returns a model with function calling, based on m, a model without it. It adds a manual of
// the tools to the system prompt, sends earlier calls and results as text, and finds calls in the
// model's text. It is as safe for concurrent use as m, and returns the errors of m.
//
// Calls are recognized in the form of the manual and in forms that models were trained on. A call
// that was cut off is dropped. A call that is too damaged is returned as malformed, so that the
// model can correct it. The text is cut off where a model invents the result of its own call.
func New(m model.Model) model.Model { return &injected{m} }

type injected struct{ inner model.Model }

// Info describes the inner model, without its limit of tools.
func (m *injected) Info() model.Info {
	info := m.inner.Info()
	info.MaxTools = 0
	return info
}

// Generate sends the request to the inner model and finds the calls in its text.
func (m *injected) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if emit == nil {
		emit = func(model.Delta) {}
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	below, offered, notes := request(req)
	p := &scanner{emit: emit, tools: newToolbox(offered, req.Messages), mute: req.Choice == model.ChoiceNone}
	p.start()
	res, err := m.inner.Generate(within, below, func(d model.Delta) {
		switch {
		case d.Text != "" && !p.over:
			if p.write(d.Text); p.over {
				cancel() // the model invents results from here on
			}
		case d.Retry != nil:
			p.start()
			emit(d)
		case d.Reasoning != "":
			emit(d)
		}
	})
	if p.over && ctx.Err() == nil {
		err = nil // cancelled above, on purpose
	}
	if res == nil {
		if err != nil {
			return nil, err
		}
		res = &model.Response{Stop: model.StopOther}
	}
	out := *res
	out.Notes = append(notes, res.Notes...)
	p.finish(&out, err)
	if out.Usage == (model.Usage{}) {
		out.Usage = wire.Estimate(below, &out.Message)
	}
	return &out, err
}

// finish completes res. failed is the error of the inner model, or nil if the answer was complete.
func (p *scanner) finish(res *model.Response, failed error) {
	// A model that emits no deltas has its text only in the answer.
	if rest, ok := strings.CutPrefix(res.Message.Text(), p.fed.String()); ok && !p.over {
		p.write(rest)
	}
	whole := failed == nil && res.Stop != model.StopLength && res.Stop != model.StopRefusal
	p.close(whole)
	// Reasoning that the inner model returned separately stays first.
	rest := slices.DeleteFunc(slices.Clone(res.Message.Parts), func(part model.Part) bool {
		return part.Text != "" || part.Call != nil || part == (model.Part{})
	})
	res.Message.Role = model.RoleAssistant
	res.Message.Parts = append(rest, p.parts...)
	if whole && len(res.Message.Calls()) > 0 {
		res.Stop = model.StopCalls
	}
}

// request returns the request for the inner model, and the tools in its manual.
func request(req *model.Request) (*model.Request, []model.Tool, []model.Note) {
	below := *req
	text, notes := manual(req.Tools)
	offered := slices.DeleteFunc(slices.Clone(req.Tools), func(t model.Tool) bool {
		return slices.ContainsFunc(notes, func(n model.Note) bool { return n.SetAside && n.Tool == t.Name })
	})
	if choice := choices[req.Choice]; choice != "" && text != "" {
		text += "\n\n" + choice
	}
	if below.System != "" && text != "" {
		text = "\n\n" + text
	}
	below.System += text
	below.Tools, below.CachedTools, below.Choice = nil, 0, model.ChoiceAuto
	below.Messages = render(req.Messages)
	return &below, offered, notes
}

// choices holds the sentence that a tool choice adds to the manual.
var choices = map[model.Choice]string{
	model.ChoiceRequired: "Call at least one tool now.",
	model.ChoiceNone:     "Answer now without calling a tool.",
}

// render converts a conversation to messages without calls and results. Calls become text of the
// assistant, results text of the user. Consecutive messages of one role are joined, because many
// chat templates require alternating roles.
func render(messages []model.Message) []model.Message {
	var out []model.Message
	for i := range messages {
		next := renderMessage(&messages[i])
		if len(next.Parts) == 0 {
			continue
		}
		if n := len(out); n > 0 && out[n-1].Role == next.Role && next.Role == model.RoleUser {
			out[n-1].Parts = append(out[n-1].Parts, next.Parts...)
			continue
		}
		out = append(out, next)
	}
	return out
}

func renderMessage(m *model.Message) model.Message {
	out := model.Message{Role: m.Role, Extra: m.Extra}
	if m.Role == model.RoleTool {
		out.Role = model.RoleUser
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Call != nil:
			out.Parts = appendText(out.Parts, renderCall(p.Call))
		case p.Result != nil:
			failed := ""
			if p.Result.IsError {
				failed = ` error="true"`
			}
			out.Parts = appendText(out.Parts, fmt.Sprintf("<tool_response name=%q%s>\n%s\n</tool_response>", portable(p.Result.Name), failed, cmp.Or(harmlessText(p.Result.Text()), "(no text)")))
			for _, part := range p.Result.Parts {
				if part.Media != nil {
					out.Parts = append(out.Parts, part)
				}
			}
		case p.Reasoning != nil && p.Reasoning.Raw == nil:
			// Reasoning came as text between tags. Models are trained not to see it again.
		case p.Text != "":
			out.Parts = appendText(out.Parts, p.Text)
		default:
			out.Parts = append(out.Parts, *p)
		}
	}
	return out
}

// appendText appends text, joined to a text part at the end if there is one.
func appendText(parts []model.Part, text string) []model.Part {
	if n := len(parts); n > 0 && parts[n-1].Text != "" {
		parts[n-1].Text += "\n" + text
		return parts
	}
	return append(parts, model.Part{Text: text})
}

func renderCall(c *model.Call) string {
	if c.Malformed != "" && c.Raw != "" {
		return "<tool_call>\n" + harmlessText(c.Raw) + "\n</tool_call>"
	}
	return "<tool_call>\n" + string(appendCall(nil, c.Name, c.Arguments)) + "\n</tool_call>"
}

// maxManual is the maximum size of the manual in bytes.
const maxManual = 128 << 10

// manualHead shows a call as in the manual of Hermes and Qwen, with which models of that form were
// trained.
const manualHead = `# Tools

You can call tools. To call one, write a JSON object with its name and its arguments between these tags, exactly so:

<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>

To call several at once, write several such blocks. Arguments must fit the tool's parameters, which are a JSON Schema. Behind your calls, stop and wait: the results come in the next message between <tool_response> tags, which you never write yourself. If no tool is needed, just answer.

These tools exist, and no others:

<tools>
`

// manual returns the description of the tools for a model. Notes list the tools that were changed
// or did not fit. The same tools give the same text.
func manual(tools []model.Tool) (string, []model.Note) {
	var lines strings.Builder
	var notes []model.Note
	for i := range tools {
		t := &tools[i]
		schema := compact(t.Schema)
		if schema == nil {
			notes = append(notes, model.Note{Tool: t.Name, SetAside: true, Text: "its schema is not a JSON object"})
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

// compact returns a schema without white space, or nil if it is invalid.
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

// tokens matches text from servers and users that could close its enclosing block, or imitate a
// call or another role.
var tokens = lazy.Regexp(`<(/?tool_response|/?tool_call|/?tools>|[|｜][\w▁/]+[|｜]>)`)

// harmless breaks the marks in JSON by escapes, which do not change its value.
func harmless(raw []byte) []byte { return tokens().ReplaceAll(raw, []byte(`\u003c$1`)) }

// harmlessText breaks the marks in text.
func harmlessText(text string) string { return tokens().ReplaceAllString(text, "&lt;$1") }

// A toolbox finds a tool by any name that a model may use for it, and builds calls from the model's
// text.
type toolbox struct {
	exact map[string]*model.Tool
	// folded maps names without case and punctuation, with and without the server's name, to tools.
	// The value is nil if two tools share a name.
	folded map[string]*model.Tool
	lastID int // number of the last id in the conversation
}

// newToolbox returns a toolbox for the offered tools. It does not assign ids that the conversation
// uses.
func newToolbox(tools []model.Tool, messages []model.Message) *toolbox {
	b := &toolbox{exact: map[string]*model.Tool{}, folded: map[string]*model.Tool{}}
	for i := range tools {
		t := &tools[i]
		b.exact[t.Name] = t
		_, tail, _ := strings.Cut(t.Name, "__")
		for _, name := range []string{fold(t.Name), fold(tail)} {
			if other, taken := b.folded[name]; taken && other != t {
				b.folded[name] = nil
			} else {
				b.folded[name] = t
			}
		}
	}
	delete(b.folded, "")
	for i := range messages {
		for _, c := range messages[i].Calls() {
			if n, err := strconv.Atoi(strings.TrimPrefix(c.ID, "call_")); err == nil {
				b.lastID = max(b.lastID, n)
			}
		}
	}
	return b
}

var punctuation = lazy.Regexp(`[^A-Za-z0-9]`)

// fold returns the form of a name that ignores case and punctuation.
func fold(name string) string { return strings.ToLower(punctuation().ReplaceAllString(name, "")) }

// find returns the only tool that a name can mean, or nil.
func (b *toolbox) find(name string) *model.Tool {
	if t := b.exact[name]; t != nil {
		return t
	}
	return b.folded[fold(name)]
}

// portable returns a portable form of an unknown tool's name, because the name stays in the
// conversation.
func portable(name string) string { return model.NewNames().Portable(name) }

// made returns a call with arguments in JSON, or without arguments if written is nil. The arguments
// may be an object encoded in a string.
func (b *toolbox) made(name string, written json.RawMessage) *model.Call {
	inner, _ := jsonrpc.Unquote(written)
	if raw, ok := readLoose(inner); ok {
		written = raw
	}
	c := &model.Call{Name: portable(name)}
	if t := b.find(name); t != nil {
		c.Name = t.Name
	}
	wire.SetArguments(c, string(written))
	return c
}

// malformed returns a malformed call; why is the reason.
func (b *toolbox) malformed(name, raw, why string) *model.Call {
	c := b.made(name, nil)
	c.Malformed, c.Raw = why, raw
	return c
}

// read returns the calls in a value, which is an object or a list of objects. It returns nil if any
// part is not a call. Unless the value was marked (tagged), only calls of existing tools with
// arguments count.
func (b *toolbox) read(raw json.RawMessage, tagged bool) []*model.Call {
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		return nil
	}
	var calls []*model.Call
	all := true
	add := func(value []byte) bool {
		c := b.readOne(value, tagged)
		calls, all = append(calls, c), c != nil
		return all && len(calls) <= maxCalls
	}
	if isObject(raw) {
		add(raw)
	} else {
		jsonrpc.EachElement(raw, add)
	}
	if !all {
		return nil
	}
	return calls
}

func (b *toolbox) readOne(raw json.RawMessage, tagged bool) *model.Call {
	name, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
	var arguments json.RawMessage
	for _, key := range []string{"arguments", "parameters", "args"} {
		if arguments == nil {
			arguments = jsonrpc.Get(raw, key)
		}
	}
	name = strings.TrimSpace(name)
	if name == "" || !tagged && (b.find(name) == nil || arguments == nil || arguments[0] != '{' && arguments[0] != '"') {
		return nil
	}
	return b.made(name, arguments)
}
