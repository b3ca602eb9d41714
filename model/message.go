package model

import (
	"encoding/json"
	"strings"
)

// Role says who speaks.
type Role string

const (
	RoleUser      Role = "user"      // a person
	RoleAssistant Role = "assistant" // the model
	RoleTool      Role = "tool"      // results of calls
)

// Message is one message of a conversation. It is stored as JSON.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	// Extra are members of the message on the provider's wire that have no name
	// here, under the provider they belong to. They are sent back to that
	// provider, and to no other.
	Extra map[string]map[string]json.RawMessage `json:"extra,omitempty"`
}

// Part is a piece of a message. Exactly one field is set.
type Part struct {
	Text      string     `json:"text,omitempty"`
	Media     *Media     `json:"media,omitempty"`
	Reasoning *Reasoning `json:"reasoning,omitempty"`
	Call      *Call      `json:"call,omitempty"`
	Result    *Result    `json:"result,omitempty"`
	// Opaque is a block of a provider that has no name here; see Message.Extra.
	Opaque *Opaque `json:"opaque,omitempty"`
}

// Media is an image, a sound or a document.
type Media struct {
	Type string `json:"type"` // MIME type
	Data []byte `json:"data"`
}

// Reasoning is what a model thought aloud. It is shown to people if they want,
// and returned to the provider it came from as that provider wants it.
type Reasoning struct {
	Text     string `json:"text,omitempty"`
	Provider string `json:"provider,omitempty"`
	// Raw is the block as it came, with its signature; nil where the provider
	// wants nothing back.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Call is a call of a tool that a model asks for.
type Call struct {
	// ID is unique in the conversation; the Result names it.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments are one JSON object; never nil in a message that a Model returned.
	// Where the model wrote something else, Malformed says what is wrong, and Raw
	// holds what it wrote.
	Arguments json.RawMessage `json:"arguments"`
	Malformed string          `json:"malformed,omitempty"`
	Raw       string          `json:"raw,omitempty"`
	// Extra is as Message.Extra, for the call.
	Extra map[string]map[string]json.RawMessage `json:"extra,omitempty"`
}

// Result is the answer to a Call.
type Result struct {
	CallID  string `json:"callId"`
	Name    string `json:"name"`  // the tool's
	Parts   []Part `json:"parts"` // Text and Media
	IsError bool   `json:"isError,omitempty"`
}

// Opaque is a block that only its provider understands.
type Opaque struct {
	Provider string          `json:"provider"`
	Raw      json.RawMessage `json:"raw"`
}

// UserText returns a user's message of one text.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Text: text}}}
}

// Text returns the texts of the message, joined.
func (m *Message) Text() string {
	var b strings.Builder
	for i := range m.Parts {
		b.WriteString(m.Parts[i].Text)
	}
	return b.String()
}

// Calls returns the calls of the message, in order.
func (m *Message) Calls() []*Call {
	var calls []*Call
	for i := range m.Parts {
		if c := m.Parts[i].Call; c != nil {
			calls = append(calls, c)
		}
	}
	return calls
}

// Text returns the texts of the result, joined by line breaks.
func (r *Result) Text() string {
	var texts []string
	for i := range r.Parts {
		if r.Parts[i].Text != "" {
			texts = append(texts, r.Parts[i].Text)
		}
	}
	return strings.Join(texts, "\n")
}
