package responses

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

const (
	// minTokens is the smallest limit of an answer that the API accepts.
	minTokens = 16
	// maxCallID is the maximum length of the id of a call that the API accepts.
	maxCallID = 64
)

// Parts of a request that a server may refuse.
const (
	reasoningMember   = "reasoning"
	includeMember     = "include"
	phaseMember       = "phase"
	temperatureMember = "temperature"
	toolChoiceMember  = "tool_choice"
)

var optional = []wire.Member{
	// Reasoning that another organization or a deleted key encrypted.
	{Name: reasoningMember, Words: []string{"could not be verified", "could not be decrypted"}},
	{Name: includeMember, Words: []string{"ncrypted content", "'include'", "reasoning.encrypted_content"}},
	{Name: phaseMember, Words: []string{"phase"}},
	{Name: temperatureMember, Words: []string{"temperature"}},
	{Name: toolChoiceMember, Words: []string{"tool_choice"}},
}

// params is the body of a request.
type params struct {
	Model        string       `json:"model"`
	Instructions string       `json:"instructions,omitempty"`
	Input        []input      `json:"input"`
	Tools        []toolParam  `json:"tools,omitempty"`
	ToolChoice   model.Choice `json:"tool_choice,omitempty"`
	Temperature  *float64     `json:"temperature,omitempty"`
	MaxTokens    int          `json:"max_output_tokens,omitempty"`
	Include      []string     `json:"include,omitempty"`
	Store        bool         `json:"store"`
	Stream       bool         `json:"stream"`
}

type toolParam struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"` // always sent, because a missing member means true
}

// An input is one item of the conversation.
type input struct {
	Type      string `json:"type"`
	Role      string `json:"role,omitempty"`
	Content   any    `json:"content,omitempty"` // a string, or a list of contents
	Phase     string `json:"phase,omitempty"`
	CallID    string `json:"call_id,omitempty"`
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	Output    any    `json:"output,omitempty"` // like Content

	verbatim json.RawMessage // if set, the encoded item; the other fields are ignored
	more     map[string]json.RawMessage
}

// MarshalJSON encodes the item together with its additional members.
func (i input) MarshalJSON() ([]byte, error) {
	if i.verbatim != nil {
		return i.verbatim, nil
	}
	type known input
	return wire.Marshal(known(i), i.more)
}

// A content is a piece of a message of the user, or of a result.
type content struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	FileName string `json:"filename,omitempty"`
	FileData string `json:"file_data,omitempty"`
}

// request returns the body of a request.
func (m *Model) request(req *model.Request, tools []model.Tool) ([]byte, error) {
	left := m.service.Learned.Left()
	p := &params{Model: m.options.Model, Instructions: req.System, Input: m.input(req.Messages, left), Stream: true}
	for i := range tools {
		p.Tools = append(p.Tools, toolParam{Type: "function", Name: tools[i].Name, Description: tools[i].Description, Parameters: tools[i].Schema})
	}
	if len(tools) > 0 && !left[toolChoiceMember] {
		p.ToolChoice = req.Choice
	}
	if !left[temperatureMember] {
		p.Temperature = req.Temperature
	}
	if !left[includeMember] {
		p.Include = []string{"reasoning.encrypted_content"}
	}
	if tokens := cmp.Or(max(req.MaxTokens, 0), m.options.MaxTokens); tokens > 0 {
		p.MaxTokens = max(tokens, minTokens)
	}
	return wire.Marshal(p, m.options.Body)
}

// input returns the items of the conversation.
func (m *Model) input(messages []model.Message, left map[string]bool) []input {
	items := []input{}
	for i := range messages {
		msg := &messages[i]
		switch msg.Role {
		case model.RoleUser:
			items = append(items, input{Type: "message", Role: "user", Content: contents(msg.Parts)})
		case model.RoleAssistant:
			items = append(items, m.assistant(msg, left)...)
		case model.RoleTool:
			for j := range msg.Parts {
				if r := msg.Parts[j].Result; r != nil {
					items = append(items, input{Type: "function_call_output", CallID: wire.ShortID(r.CallID, maxCallID), Output: output(r)})
				}
			}
		}
	}
	return items
}

// assistant returns the items of a message of the model. Reasoning is sent only before the item
// that followed it, because the provider refuses it otherwise.
func (m *Model) assistant(msg *model.Message, left map[string]bool) []input {
	var items, thoughts []input
	add := func(i input) {
		items = append(append(items, thoughts...), i)
		thoughts = nil
	}
	var phases []string
	if !left[phaseMember] {
		_ = json.Unmarshal(msg.Extra[m.provider]["phases"], &phases) // invalid phases count as none
	}
	texts := 0
	for i := range msg.Parts {
		p := &msg.Parts[i]
		switch {
		case p.Text != "":
			said := input{Type: "message", Role: "assistant", Content: p.Text}
			if texts < len(phases) {
				said.Phase = phases[texts]
			}
			texts++
			add(said)
		case p.Call != nil:
			add(input{Type: "function_call", CallID: wire.ShortID(p.Call.ID, maxCallID), Name: p.Call.Name, Arguments: string(p.Call.Arguments), more: p.Call.Extra[m.provider]})
		case p.Opaque != nil && p.Opaque.Provider == m.provider:
			add(input{verbatim: p.Opaque.Raw})
		case p.Reasoning != nil && p.Reasoning.Provider == m.provider && isSentBack(p.Reasoning.Raw) && !left[reasoningMember]:
			thoughts = append(thoughts, input{verbatim: jsonrpc.Without(p.Reasoning.Raw, "status")})
		}
	}
	return items
}

// isSentBack reports whether the provider can use a reasoning item. The provider stores nothing, so
// the item must contain the reasoning.
func isSentBack(raw json.RawMessage) bool {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(raw, "encrypted_content"))
	plain := jsonrpc.Get(raw, "content")
	return text != "" || len(plain) > len("[]") && plain[0] == '['
}

// output returns a result as one text, or as a list of contents if it has media.
func output(r *model.Result) any {
	media := slices.ContainsFunc(r.Parts, func(p model.Part) bool { return p.Media != nil })
	if !media || r.IsError {
		return wire.ResultText(r)
	}
	return contents(r.Parts)
}

// contents returns parts as one text if possible, and otherwise as a list.
func contents(parts []model.Part) any {
	return wire.Contents(parts, func(text string) content { return content{Type: "input_text", Text: text} }, func(media *model.Media) (content, bool) {
		switch {
		case strings.HasPrefix(media.Type, "image/"):
			return content{Type: "input_image", ImageURL: wire.DataURL(media)}, true
		case media.Type == "application/pdf":
			return content{Type: "input_file", FileName: "document.pdf", FileData: wire.DataURL(media)}, true
		}
		return content{}, false
	})
}
