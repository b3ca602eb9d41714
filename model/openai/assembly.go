package openai

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
)

// assembly puts an answer together from its pieces.
type assembly struct {
	provider  string
	emit      func(model.Delta)
	ids       *ids
	text      joined
	reasoning joined
	calls     []*call
	byIndex   map[int64]*call // the newest of each index
	extra     extras
	usage     *model.Usage
	name      string // the model's
	reason    string
	refused   bool
	begun     bool   // a choice has come
	fault     string // why nothing more is read
}

func newAssembly(provider string, req *model.Request, emit func(model.Delta)) *assembly {
	return &assembly{
		provider: provider, emit: emit, ids: newIDs(req),
		byIndex: map[int64]*call{},
	}
}

// chunk takes in one event of the stream.
func (a *assembly) chunk(c *openai.ChatCompletionChunk) {
	if c.Model != "" {
		a.name = c.Model
	}
	if u := usageOf(c); u != nil {
		a.usage = u
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue // nobody asked for a second answer
		}
		a.begun = true
		a.delta(&choice.Delta)
		if choice.FinishReason != "" {
			a.reason = choice.FinishReason
		}
	}
}

func (a *assembly) delta(d *openai.ChatCompletionChunkChoiceDelta) {
	more := map[string]json.RawMessage{}
	for name, field := range d.JSON.ExtraFields {
		if raw := field.Raw(); raw != "" && raw != "null" {
			more[name] = json.RawMessage(raw)
		}
	}
	a.addReasoning(reasoningIn(more))
	for name, value := range more {
		a.extra.add(name, value)
	}
	a.content(d, isThought(more))
	if d.Refusal != "" {
		a.refused = true
		a.addText(d.Refusal)
	}
	for i := range d.ToolCalls {
		a.toolCall(pieceOf(&d.ToolCalls[i]))
	}
	//lint:ignore SA1019 servers that were made before tool calls still answer with it
	if f := d.FunctionCall; f.Name != "" || d.JSON.FunctionCall.Valid() {
		zero := int64(0)
		a.toolCall(piece{index: &zero, name: f.Name, arguments: argumentsIn(f.JSON.Arguments.Raw())})
	}
}

// content is a text, or a list of parts (Mistral's thinking).
func (a *assembly) content(d *openai.ChatCompletionChunkChoiceDelta, thought bool) {
	raw := d.JSON.Content.Raw()
	if !strings.HasPrefix(raw, "[") {
		if thought {
			a.addReasoning(d.Content)
		} else {
			a.addText(d.Content)
		}
		return
	}
	jsonrpc.EachElement([]byte(raw), func(part []byte) bool {
		if inner := jsonrpc.Get(part, "thinking"); inner != nil {
			a.addReasoning(textsIn(inner))
		} else {
			a.addText(stringIn(jsonrpc.Get(part, "text")))
		}
		return true
	})
}

func (a *assembly) addText(text string) {
	if text = a.text.add(text); text != "" {
		a.emit(model.Delta{Text: text})
	}
}

// addRest gives on bytes that waited for the rest of their character.
func (a *assembly) addRest() {
	if rest := a.reasoning.end(); rest != "" {
		a.emit(model.Delta{Reasoning: rest})
	}
	if rest := a.text.end(); rest != "" {
		a.emit(model.Delta{Text: rest})
	}
}

func (a *assembly) addReasoning(text string) {
	if text = a.reasoning.add(text); text != "" {
		a.emit(model.Delta{Reasoning: text})
	}
}

// response is what the pieces add up to. Of an answer that is cut, calls that are
// not complete are left out.
func (a *assembly) response(req *model.Request, broken bool) *model.Response {
	if !broken { // half a character of half an answer is nothing
		a.addRest()
	}
	res := &model.Response{Model: a.name, StopDetail: a.reason}
	res.Message = model.Message{Role: model.RoleAssistant, Parts: a.parts(broken)}
	if extra := a.extra.all(); extra != nil {
		res.Message.Extra = map[string]map[string]json.RawMessage{a.provider: extra}
	}
	res.Stop = a.stop(len(res.Message.Calls()), broken)
	if a.usage != nil {
		res.Usage = *a.usage
	} else {
		res.Usage = a.estimate(req)
	}
	return res
}

func (a *assembly) parts(broken bool) []model.Part {
	var parts []model.Part
	if text := a.reasoning.String(); strings.TrimSpace(text) != "" {
		parts = append(parts, model.Part{Reasoning: &model.Reasoning{Text: text, Provider: a.provider}})
	}
	if text := a.text.String(); strings.TrimSpace(text) != "" {
		parts = append(parts, model.Part{Text: text})
	}
	cut := broken || a.reason == "length"
	for i, c := range a.calls {
		last := i == len(a.calls)-1
		if cut && !c.complete(last || broken) {
			break
		}
		if c.name != "" {
			parts = append(parts, model.Part{Call: c.call(a.provider)})
		}
	}
	return parts
}

// stop translates the reason. Some servers say stop where they mean calls.
func (a *assembly) stop(calls int, broken bool) model.StopReason {
	switch reason := strings.ToLower(a.reason); {
	case broken:
		return model.StopOther
	case a.refused, strings.HasPrefix(reason, "content_filter"), reason == "safety", reason == "sensitive":
		return model.StopRefusal
	case reason == "length", reason == "max_tokens":
		return model.StopLength
	case calls > 0:
		return model.StopCalls
	case reason == "", reason == "stop", reason == "eos", reason == "end_turn", reason == "stop_sequence":
		return model.StopEnd
	}
	return model.StopOther
}

// joined is text from pieces. A character whose bytes came in two pieces is
// given on when it is whole; bytes that are none become U+FFFD.
type joined struct {
	strings.Builder
	rest string
}

// add takes in a piece, and returns what can be shown now.
func (j *joined) add(piece string) string {
	if piece == "" {
		return ""
	}
	text := j.rest + piece
	whole := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if b := text[len(text)-back]; utf8.RuneStart(b) {
			if b >= utf8.RuneSelf && !utf8.FullRuneInString(text[len(text)-back:]) {
				whole -= back
			}
			break
		}
	}
	j.rest = text[whole:]
	return j.write(text[:whole])
}

// end returns what was held back.
func (j *joined) end() string {
	rest := j.rest
	j.rest = ""
	return j.write(rest)
}

func (j *joined) write(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	j.WriteString(text)
	return text
}
