package injected

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// New returns a model that calls tools through one that cannot: the manual of the
// tools goes into the system prompt, calls and results of the past become text,
// and calls are found in the text that the model writes. It is as safe for
// concurrent use as m. Errors are those of m.
//
// A call is found in the form that the manual asks for, and in those that models
// were trained on. One that was cut off is dropped; one that is too damaged is
// returned as malformed, so that the model can learn of it. What a model writes as
// the result of its own call is cut off.
func New(m model.Model) model.Model { return &injected{m} }

type injected struct{ inner model.Model }

// Info describes the model below, which can have any number of tools now.
func (m *injected) Info() model.Info {
	info := m.inner.Info()
	info.MaxTools = 0
	return info
}

// Generate asks the model below, and finds the calls in what it writes.
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
				cancel() // what comes now is made up
			}
		case d.Retry != nil:
			p.start()
			emit(d)
		case d.Reasoning != "":
			emit(d)
		}
	})
	if p.over && ctx.Err() == nil {
		err = nil // it was not waited for
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

// finish makes res the whole answer. It had come to its end if failed is nil.
func (p *scanner) finish(res *model.Response, failed error) {
	// A model that tells nothing while it writes has it all in its answer.
	if rest, ok := strings.CutPrefix(res.Message.Text(), p.fed.String()); ok && !p.over {
		p.write(rest)
	}
	whole := failed == nil && res.Stop != model.StopLength && res.Stop != model.StopRefusal
	p.close(whole)
	// What the model below thought apart from its text stays in front of it.
	rest := slices.DeleteFunc(slices.Clone(res.Message.Parts), func(part model.Part) bool {
		return part.Text != "" || part.Call != nil || part == (model.Part{})
	})
	res.Message.Role = model.RoleAssistant
	res.Message.Parts = append(rest, p.parts...)
	if whole && len(res.Message.Calls()) > 0 {
		res.Stop = model.StopCalls
	}
}

// request returns what the model below is asked, and which tools it knows of.
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

// choices is what a request that leaves no choice adds to the manual.
var choices = map[model.Choice]string{
	model.ChoiceRequired: "Call at least one tool now.",
	model.ChoiceNone:     "Answer now without calling a tool.",
}

// render writes a conversation without calls and results as messages: calls are text of the assistant, results are text
// of the user. Two messages of the same speaker become one, because many chat templates want them in turns.
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
			// It was text between tags; models are trained not to see it again.
		case p.Text != "":
			out.Parts = appendText(out.Parts, p.Text)
		default:
			out.Parts = append(out.Parts, *p)
		}
	}
	return out
}

// appendText joins text to the text before it.
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

// tokens are what could end the place that a text of somebody else is in, or pretend to be a call or another speaker.
var tokens = regexp.MustCompile(`<(/?tool_response|/?tool_call|/?tools>|[|｜][\w▁/]+[|｜]>)`)

// harmless breaks the marks in JSON, where it can be done without a change.
func harmless(raw []byte) []byte { return tokens.ReplaceAll(raw, []byte(`\u003c$1`)) }

// harmlessText breaks the marks in text.
func harmlessText(text string) string { return tokens.ReplaceAllString(text, "&lt;$1") }

// toolbox knows the tools of a request by every name a model may give them, and makes calls of what it wrote.
type toolbox struct {
	exact map[string]*model.Tool
	// folded is by the name without case and punctuation, and by what follows the
	// server's name in that; nil where two tools share it.
	folded map[string]*model.Tool
	lastID int // of the conversation
}

// newToolbox takes the tools that are offered, and the conversation, whose ids are used already.
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

var punctuation = regexp.MustCompile(`[^A-Za-z0-9]`)

// fold makes names equal that differ in case and punctuation.
func fold(name string) string { return strings.ToLower(punctuation.ReplaceAllString(name, "")) }

// find returns the one tool that a model means by name, or nil.
func (b *toolbox) find(name string) *model.Tool {
	if t := b.exact[name]; t != nil {
		return t
	}
	return b.folded[fold(name)]
}

// portable returns the name of a tool that does not exist in a form that every
// provider takes, as it will stay in the conversation.
func portable(name string) string { return model.NewNames().Portable(name) }

// made returns a call with the arguments that were written, which are JSON or nil; an object may be within a string.
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

// malformed returns a call that says what is wrong with what was written.
func (b *toolbox) malformed(name, raw, why string) *model.Call {
	c := b.made(name, nil)
	c.Malformed, c.Raw = why, raw
	return c
}

// read makes calls of a value: of an object, or of a list of them. It returns nil unless all of it are calls. Where the
// model did not say that it is one, only calls with arguments of tools that exist count.
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
