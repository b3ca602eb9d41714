package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// params is the body of a request of chat completions.
type params struct {
	Model               string         `json:"model"`
	Messages            []message      `json:"messages"`
	Tools               []toolParam    `json:"tools,omitempty"` // some servers refuse an empty list
	ToolChoice          model.Choice   `json:"tool_choice,omitempty"`
	Temperature         *float64       `json:"temperature,omitempty"`
	Stop                []string       `json:"stop,omitempty"`
	MaxTokens           int            `json:"max_tokens,omitempty"`
	MaxCompletionTokens int            `json:"max_completion_tokens,omitempty"`
	Stream              bool           `json:"stream"`
	StreamOptions       *streamOptions `json:"stream_options,omitempty"`
}

type streamOptions struct {
	IncludeUsage bool `json:"include_usage"`
}

type toolParam struct {
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

// A message is a message with any role.
type message struct {
	Content    any        `json:"content,omitempty"` // a string, or a list of parts
	Role       string     `json:"role"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []callSent `json:"tool_calls,omitempty"`

	more map[string]json.RawMessage // members that the protocol does not define
}

// MarshalJSON adds the members that the protocol does not define.
func (m message) MarshalJSON() ([]byte, error) {
	type known message
	return wire.Marshal(known(m), m.more)
}

type callSent struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`

	more map[string]json.RawMessage
}

// MarshalJSON adds the members that the protocol does not define.
func (c callSent) MarshalJSON() ([]byte, error) {
	type known callSent
	return wire.Marshal(known(c), c.more)
}

// request returns the body of a request.
func (m *Model) request(req *model.Request, tools []model.Tool) ([]byte, error) {
	left := m.service.Learned.Left()
	var list []toolParam
	for i := range tools {
		list = append(list, toolParam{Type: "function", Function: function{Name: tools[i].Name, Description: tools[i].Description, Parameters: tools[i].Schema}})
	}
	p := &params{
		Model:    m.options.Model,
		Messages: m.messages(req, left),
		Tools:    list,
		Stream:   true,
	}
	switch {
	case len(tools) == 0 || left[toolChoiceMember]:
	case req.Choice == model.ChoiceNone, req.Choice == model.ChoiceRequired:
		p.ToolChoice = req.Choice
	}
	if !left[temperatureMember] {
		p.Temperature = req.Temperature
	}
	if !left[stopMember] {
		p.Stop = req.Stop
	}
	if !left[streamOptionsMember] {
		p.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	m.limit(p, req.MaxTokens, left)
	return wire.Marshal(p, m.options.Body)
}

// limit sets the limit of the answer, for which two names exist.
func (m *Model) limit(p *params, tokens int, left map[string]bool) {
	tokens = cmp.Or(tokens, m.options.MaxTokens)
	if tokens <= 0 {
		return
	}
	if completion := m.preset.maxTokens == "max_completion_tokens"; completion != left[maxTokensMember] {
		p.MaxCompletionTokens = tokens
	} else {
		p.MaxTokens = tokens
	}
}

// messages converts the conversation to the provider's form.
func (m *Model) messages(req *model.Request, left map[string]bool) []message {
	out := make([]message, 0, len(req.Messages)+1)
	if req.System != "" {
		out = append(out, message{Role: "system", Content: req.System})
	}
	called := make([]bool, len(req.Messages))
	for from := 0; from < len(req.Messages); {
		to, calls := from, false
		for ; to < len(req.Messages) && (to == from || req.Messages[to].Role != model.RoleUser); to++ {
			calls = calls || len(req.Messages[to].Calls()) > 0
		}
		for ; from < to; from++ {
			called[from] = calls
		}
	}
	for i := range req.Messages {
		msg := &req.Messages[i]
		switch msg.Role {
		case model.RoleUser:
			out = append(out, userMessage(msg.Parts))
		case model.RoleAssistant:
			out = append(out, m.assistant(msg, called[i], left))
		case model.RoleTool:
			out = append(out, m.results(msg)...)
		}
	}
	return out
}

// assistant converts a message of the model, with the members of its provider.
func (m *Model) assistant(msg *model.Message, inTurn bool, left map[string]bool) message {
	a := message{Role: "assistant", more: map[string]json.RawMessage{}}
	text := msg.Text()
	for _, c := range msg.Calls() {
		sent := callSent{ID: m.wireID(c.ID), Type: "function", more: c.Extra[m.preset.Name]}
		sent.Function.Name, sent.Function.Arguments = c.Name, string(c.Arguments)
		a.ToolCalls = append(a.ToolCalls, sent)
	}
	if text != "" || len(a.ToolCalls) == 0 {
		a.Content = text
	}
	for name, value := range msg.Extra[m.preset.Name] {
		if m.isSentBack(name, msg, inTurn, left) {
			a.more[name] = value
		}
	}
	if _, there := a.more["reasoning_content"]; !there && m.preset.reasoning == always && inTurn && !left[reasoningMember] {
		a.more["reasoning_content"] = json.RawMessage(`""`)
	}
	return a
}

// isSentBack reports whether a member of Extra is sent back to its provider.
func (m *Model) isSentBack(name string, msg *model.Message, inTurn bool, left map[string]bool) bool {
	switch name {
	case "role", "content", "tool_calls", "function_call", "refusal", "annotations", "audio":
		return false // already sent as fields, or not allowed in requests
	case "reasoning_content", "reasoning":
		_, detail := msg.Extra[m.preset.Name]["reasoning_details"]
		return m.preset.reasoning != never && !left[reasoningMember] && inTurn && !detail
	}
	return !left[extraMember]
}

// maxWireID is the maximum length of the id of a call that OpenAI accepts.
const maxWireID = 40

var nineCharacters = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

// wireID returns the id of a call in a form that the provider accepts. The call may come from
// another provider.
func (m *Model) wireID(id string) string {
	if m.preset.shortIDs && !nineCharacters.MatchString(id) {
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:])[:9]
	}
	return wire.ShortID(id, maxWireID)
}

// results returns one message for each result. Their content can only be text, so a user message
// with their media follows.
func (m *Model) results(msg *model.Message) []message {
	var out []message
	var media []model.Part
	for i := range msg.Parts {
		r := msg.Parts[i].Result
		if r == nil {
			continue
		}
		text := []string{}
		for _, p := range r.Parts {
			if p.Media == nil {
				if p.Text != "" {
					text = append(text, p.Text)
				}
			} else if _, shown := mediaPart(p.Media); shown {
				text = append(text, fmt.Sprintf("[%s, in the message that follows]", p.Media.Type))
				media = append(media, model.Part{Text: fmt.Sprintf("The %s of %s (%s):", p.Media.Type, r.Name, m.wireID(r.CallID))}, p)
			} else {
				text = append(text, wire.NotShown(p.Media))
			}
		}
		out = append(out, message{Role: "tool", Content: wire.MarkError(r, strings.Join(text, "\n")), ToolCallID: m.wireID(r.CallID)})
	}
	if len(media) > 0 {
		out = append(out, userMessage(media))
	}
	return out
}

// A part is one part of a message of the user.
type part struct {
	ImageURL   *imageURL   `json:"image_url,omitempty"`
	InputAudio *inputAudio `json:"input_audio,omitempty"`
	File       *file       `json:"file,omitempty"`
	Text       string      `json:"text,omitempty"`
	Type       string      `json:"type"`
}

type imageURL struct {
	URL string `json:"url"`
}

type inputAudio struct {
	Data   string `json:"data"`
	Format string `json:"format"`
}

type file struct {
	Data string `json:"file_data"`
	Name string `json:"filename"`
}

func userMessage(parts []model.Part) message {
	return message{Role: "user", Content: wire.Contents(parts, func(text string) part { return part{Type: "text", Text: text} }, mediaPart)}
}

// mediaPart returns media in the protocol's form. ok is false if there is none.
func mediaPart(media *model.Media) (part, bool) {
	switch format := audioFormat(media.Type); {
	case format != "":
		return part{Type: "input_audio", InputAudio: &inputAudio{Data: base64.StdEncoding.EncodeToString(media.Data), Format: format}}, true
	case media.Type == "application/pdf":
		return part{Type: "file", File: &file{Data: wire.DataURL(media), Name: "document.pdf"}}, true
	case strings.HasPrefix(media.Type, "image/"):
		return part{Type: "image_url", ImageURL: &imageURL{URL: wire.DataURL(media)}}, true
	}
	return part{}, false
}

func audioFormat(mime string) string {
	switch mime {
	case "audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave":
		return "wav"
	case "audio/mpeg", "audio/mp3":
		return "mp3"
	}
	return ""
}
