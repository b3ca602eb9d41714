package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// block is a block of content, as the messages API has it.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitzero"`
	Source    *source         `json:"source,omitzero"`
	ID        string          `json:"id,omitzero"`
	Name      string          `json:"name,omitzero"`
	Input     json.RawMessage `json:"input,omitzero"`
	ToolUseID string          `json:"tool_use_id,omitzero"`
	IsError   bool            `json:"is_error,omitzero"`
	Content   []block         `json:"content,omitempty"`
	Cache     *kind           `json:"cache_control,omitzero"`

	verbatim json.RawMessage // what is sent instead of all this
	extra    map[string]json.RawMessage
}

// source is the data of an image or a document.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// MarshalJSON writes the block with the members that have no name here.
func (b block) MarshalJSON() ([]byte, error) {
	if b.verbatim != nil {
		return b.verbatim, nil
	}
	type plain block
	return wire.Marshal(plain(b), b.extra)
}

func textBlock(text string) block { return block{Type: "text", Text: text} }

// turns writes a conversation as turns of the user and the assistant. Those of
// one that follow each other are joined, and results come first in theirs.
func turns(conversation []model.Message) []turn {
	var all []turn
	for i := range conversation {
		role := "user"
		if conversation[i].Role == model.RoleAssistant {
			role = "assistant"
		}
		content := blocks(&conversation[i])
		switch n := len(all); {
		case len(content) == 0:
		case n > 0 && all[n-1].Role == role:
			all[n-1].Content = append(all[n-1].Content, content...)
		default:
			all = append(all, turn{role, content})
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].Content, func(a, b block) int { return rank(&a) - rank(&b) })
	}
	markLast(all)
	return all
}

// rank puts results before everything else.
func rank(b *block) int {
	if b.Type == "tool_result" {
		return 0
	}
	return 1
}

// markLast marks the end of the last turn of the user for the cache.
func markLast(all []turn) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == "user" {
			last := len(all[i].Content) - 1
			all[i].Content[last].Cache = ephemeral()
			return
		}
	}
}

func blocks(m *model.Message) []block {
	var content []block
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Text != "":
			if strings.TrimSpace(p.Text) != "" {
				content = append(content, textBlock(p.Text))
			}
		case p.Media != nil:
			content = append(content, mediaBlock(p.Media))
		case p.Reasoning != nil:
			if p.Reasoning.Provider == Provider && len(p.Reasoning.Raw) > 0 {
				content = append(content, block{verbatim: p.Reasoning.Raw})
			}
		case p.Opaque != nil:
			if p.Opaque.Provider == Provider {
				content = append(content, block{verbatim: p.Opaque.Raw})
			}
		case p.Call != nil:
			input := p.Call.Arguments
			if len(input) == 0 {
				input = json.RawMessage("{}")
			}
			content = append(content, block{Type: "tool_use", ID: portableID(p.Call.ID), Name: p.Call.Name, Input: input, extra: p.Call.Extra[Provider]})
		case p.Result != nil:
			content = append(content, resultBlock(p.Result))
		}
	}
	return content
}

func resultBlock(r *model.Result) block {
	b := block{Type: "tool_result", ToolUseID: portableID(r.CallID), IsError: r.IsError}
	for i := range r.Parts {
		p := &r.Parts[i]
		switch {
		case p.Media != nil:
			b.Content = append(b.Content, mediaBlock(p.Media))
		case strings.TrimSpace(p.Text) != "":
			b.Content = append(b.Content, textBlock(p.Text))
		}
	}
	return b
}

// mediaBlock is an image, a document, or a text that says what cannot be shown.
func mediaBlock(m *model.Media) block {
	kind, _, _ := strings.Cut(strings.ToLower(m.Type), ";")
	switch kind = strings.TrimSpace(kind); kind {
	case "image/jpg":
		kind = "image/jpeg"
		fallthrough
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return block{Type: "image", Source: &source{"base64", kind, base64.StdEncoding.EncodeToString(m.Data)}}
	case "application/pdf":
		return block{Type: "document", Source: &source{"base64", kind, base64.StdEncoding.EncodeToString(m.Data)}}
	}
	if strings.HasPrefix(kind, "text/") || kind == "application/json" {
		if text := strings.ToValidUTF8(string(m.Data), "\uFFFD"); strings.TrimSpace(text) != "" {
			return textBlock(text)
		}
	}
	return textBlock(wire.NotShown(m))
}

// portable matches the ids that are taken here.
var portable = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// portableID is the id of a call of any provider in the form that is taken here.
func portableID(id string) string {
	if portable.MatchString(id) {
		return id
	}
	return wire.ShortID(id, -1)
}
