package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/junction-mcp/junction/model"
)

// messages is the conversation as the provider wants it.
func (m *Model) messages(req *model.Request, has facts) []openai.ChatCompletionMessageParamUnion {
	out := make([]openai.ChatCompletionMessageParamUnion, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, openai.SystemMessage(req.System))
	}
	called := turnsWithCalls(req.Messages)
	for i := range req.Messages {
		msg := &req.Messages[i]
		switch msg.Role {
		case model.RoleUser:
			out = append(out, userMessage(msg.Parts))
		case model.RoleAssistant:
			out = append(out, m.assistant(msg, called[i], has))
		case model.RoleTool:
			out = append(out, m.results(msg)...)
		}
	}
	return out
}

// turnsWithCalls says of each message whether its turn, from one message of the
// user to the next, calls a tool.
func turnsWithCalls(messages []model.Message) []bool {
	called := make([]bool, len(messages))
	for from := 0; from < len(messages); {
		to, calls := from, false
		for ; to < len(messages) && (to == from || messages[to].Role != model.RoleUser); to++ {
			calls = calls || len(messages[to].Calls()) > 0
		}
		for ; from < to; from++ {
			called[from] = calls
		}
	}
	return called
}

// assistant is a message of the model, with what its provider put into it.
func (m *Model) assistant(msg *model.Message, inTurn bool, has facts) openai.ChatCompletionMessageParamUnion {
	a := &openai.ChatCompletionAssistantMessageParam{}
	text := msg.Text()
	for _, c := range msg.Calls() {
		a.ToolCalls = append(a.ToolCalls, m.call(c))
	}
	if text != "" || len(a.ToolCalls) == 0 {
		a.Content.OfString = param.NewOpt(text)
	}
	more := map[string]any{}
	for name, value := range msg.Extra[m.preset.Name] {
		if m.goesBack(name, msg, inTurn, has) {
			more[name] = value
		}
	}
	if _, there := more["reasoning_content"]; !there && m.preset.reasoning == always && inTurn && !has.noReasoning {
		more["reasoning_content"] = ""
	}
	if len(more) > 0 {
		a.SetExtraFields(more)
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: a}
}

// goesBack says whether a member of a message is sent back to its provider.
func (m *Model) goesBack(name string, msg *model.Message, inTurn bool, has facts) bool {
	switch name {
	case "role", "content", "tool_calls", "function_call", "refusal", "annotations", "audio":
		return false // the message has them, or requests do not
	case "reasoning_content", "reasoning":
		_, detail := msg.Extra[m.preset.Name]["reasoning_details"]
		return m.preset.reasoning != never && !has.noReasoning && inTurn && !detail
	}
	return !has.noExtra
}

func (m *Model) call(c *model.Call) openai.ChatCompletionMessageToolCallUnionParam {
	f := &openai.ChatCompletionMessageFunctionToolCallParam{ID: m.wireID(c.ID)}
	f.Function.Name, f.Function.Arguments = c.Name, string(c.Arguments)
	more := map[string]any{}
	for name, value := range c.Extra[m.preset.Name] {
		more[name] = value
	}
	if len(more) > 0 {
		f.SetExtraFields(more)
	}
	return openai.ChatCompletionMessageToolCallUnionParam{OfFunction: f}
}

// maxWireID is the longest id of a call that OpenAI takes.
const maxWireID = 40

var nineCharacters = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

// wireID is the id of a call as the provider takes it: calls of another provider
// can be in the conversation.
func (m *Model) wireID(id string) string {
	if m.preset.shortIDs && !nineCharacters.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:])[:9]
	}
	if len(id) > maxWireID {
		sum := sha256.Sum256([]byte(id))
		return "call_" + hex.EncodeToString(sum[:12])
	}
	return id
}

// results are one message for each result, and then, as their content can only be
// text, one of the user with their media.
func (m *Model) results(msg *model.Message) []openai.ChatCompletionMessageParamUnion {
	var out []openai.ChatCompletionMessageParamUnion
	var media []model.Part
	for i := range msg.Parts {
		r := msg.Parts[i].Result
		if r == nil {
			continue
		}
		text := []string{}
		for _, p := range r.Parts {
			switch {
			case p.Text != "":
				text = append(text, p.Text)
			case p.Media != nil && canShow(p.Media):
				text = append(text, fmt.Sprintf("[%s, in the message that follows]", p.Media.Type))
				media = append(media, model.Part{Text: fmt.Sprintf("The %s of %s (%s):", p.Media.Type, r.Name, m.wireID(r.CallID))}, p)
			case p.Media != nil:
				text = append(text, notShown(p.Media))
			}
		}
		out = append(out, openai.ToolMessage(resultText(r, text), m.wireID(r.CallID)))
	}
	if len(media) > 0 {
		out = append(out, userMessage(media))
	}
	return out
}

// resultText marks errors, for which the protocol has no member.
func resultText(r *model.Result, texts []string) string {
	text := strings.Join(texts, "\n")
	switch {
	case r.IsError && !json.Valid([]byte(text)):
		return "Error: " + text
	case text == "":
		return "(no output)"
	}
	return text
}
