package model

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Model is a language model. Implementations are safe for concurrent use.
type Model interface {
	// Info describes the model. It costs nothing and never changes.
	Info() Info

	// Generate asks for the next message. emit is called with every piece as it comes,
	// from the calling goroutine, and may be nil. The Response is what the pieces
	// add up to.
	//
	// An error may come with a Response: what had come before the stream broke.
	// Its Message then holds no call whose arguments are incomplete, so that it
	// can be kept in the conversation. Errors of the provider are an [*Error].
	Generate(ctx context.Context, req *Request, emit func(Delta)) (*Response, error)
}

// Info describes a model.
type Info struct {
	// Provider names the adapter or the service, such as "openai" or "anthropic".
	Provider string `json:"provider"`
	// Name is the model's own name, as the provider calls it.
	Name string `json:"name"`
	// Window is how many tokens the model can see at a time; 0 if not known.
	Window int `json:"window,omitempty"`
	// MaxTools is how many tools one request may have; 0 if there is no limit.
	MaxTools int `json:"maxTools,omitempty"`
	// Price is what tokens cost; zero if not known. Models that are free say so.
	Price Price `json:"price,omitzero"`
	// Language says whether this is a language model at all. The built-in offline
	// model is not, and whoever shows its answers should say so.
	Language bool `json:"language"`
}

// Request is one request to a model. A Model does not change it.
type Request struct {
	// System is the system prompt.
	System string
	// Messages are the conversation, oldest first.
	Messages []Message
	// Tools are what the model can call, in the order in which they are sent. The
	// order is the caller's and is kept, so that the provider's prompt cache hits.
	Tools []Tool
	// CachedTools is how many of the first Tools, with System, will be sent the
	// same way again. Adapters that mark a prefix as cacheable do it there.
	CachedTools int
	// Choice says whether the model must call a tool; empty means it may.
	Choice Choice
	// MaxTokens limits the answer; 0 means the adapter's default.
	MaxTokens int
	// Temperature is passed on where it is not nil.
	Temperature *float64
	// Stop are sequences at which the answer ends, where the provider has a member for them: OpenAI's responses
	// have none.
	Stop []string
	// Tap is called with every exchange with the provider, after its end, from the calling
	// goroutine; also with those that failed and were made again. It may be nil.
	Tap func(Exchange)
}

// Choice says what a model may do with tools.
type Choice string

const (
	ChoiceAuto     Choice = ""         // call tools or answer
	ChoiceNone     Choice = "none"     // answer, do not call
	ChoiceRequired Choice = "required" // call at least one tool
)

// Tool is a tool as a model sees it.
type Tool struct {
	// Name is unique in a request and matches [A-Za-z_][A-Za-z0-9_-]{0,63}, which every provider takes; see [Names].
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of the arguments; nil means an object
}

// Response is what a model answered.
type Response struct {
	Message Message
	// Stop says why the model stopped, and StopDetail what the provider calls it.
	Stop       StopReason
	StopDetail string
	Usage      Usage
	// Notes say what was done to tools on the way, and which were set aside, and whether pictures were.
	Notes []Note
	// Model is the name the provider answered under, which can be more exact than the one that was asked for.
	Model string
}

// StopReason says why a model stopped.
type StopReason string

const (
	StopEnd     StopReason = "end"     // it was done
	StopCalls   StopReason = "calls"   // it wants tools called
	StopLength  StopReason = "length"  // the limit of tokens was reached; the answer is cut
	StopRefusal StopReason = "refusal" // it refused, or a filter stepped in
	StopPause   StopReason = "pause"   // it wants to be asked again with the same conversation
	StopOther   StopReason = "other"   // see StopDetail
)

// Note tells what an adapter did with a tool that the provider cannot take as it is.
type Note struct {
	// Tool is the tool's name; empty where the note is about pictures.
	Tool string `json:"tool"`
	// SetAside is whether the tool was left out of the request.
	SetAside bool `json:"setAside,omitempty"`
	// Text says what was changed, or why the tool was left out.
	Text string `json:"text"`
}

// Delta is a piece of an answer while it is made. Exactly one field is set.
type Delta struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Call is a piece of a call.
	Call *CallDelta `json:"call,omitempty"`
	// Retry says that the request failed and is made again; whatever was emitted for it before is void.
	Retry *Retry `json:"retry,omitempty"`
}

// CallDelta is a piece of a call.
type CallDelta struct {
	Index     int    `json:"index"`               // which call of the message
	ID        string `json:"id,omitempty"`        // set in the first piece
	Name      string `json:"name,omitempty"`      // set in the first piece
	Arguments string `json:"arguments,omitempty"` // the next characters of the arguments
}

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
	// Extra are members of the message on the provider's wire that have no name here, under the provider they belong
	// to. They are sent back to that provider, and to no other.
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
	// Raw is the block as it came, with its signature; nil where the provider wants nothing back.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Call is a call of a tool that a model asks for.
type Call struct {
	// ID is unique in the conversation; the Result names it.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments are one JSON object; never nil in a message that a Model returned. Where the model wrote something
	// else, Malformed says what is wrong, and Raw holds what it wrote.
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

// Usage counts tokens.
type Usage struct {
	// Input are the tokens of the request, those read from and written to the provider's cache included.
	Input int `json:"input"`
	// Output are the tokens of the answer, its reasoning included.
	Output int `json:"output"`
	// CacheRead and CacheWrite are the part of Input that came from the provider's prompt cache, and that went into it.
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	// Reasoning is the part of Output that was thought, where the provider says so.
	Reasoning int `json:"reasoning,omitempty"`
	// Estimated is whether the provider said nothing and the numbers are a guess from the length of the texts.
	Estimated bool `json:"estimated,omitempty"`
}

// Add returns the sum of both.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
		Reasoning:  u.Reasoning + v.Reasoning,
		Estimated:  u.Estimated || v.Estimated,
	}
}

// Price is what tokens cost, in US dollars for a million of them. The zero Price is one that is not known.
type Price struct {
	// Free says that they cost nothing.
	Free       bool    `json:"free,omitempty"`
	Input      float64 `json:"input,omitempty"`
	Output     float64 `json:"output,omitempty"`
	CacheRead  float64 `json:"cacheRead,omitempty"`  // 0 means as Input
	CacheWrite float64 `json:"cacheWrite,omitempty"` // 0 means as Input
}

// Known reports whether it is known what tokens cost.
func (p Price) Known() bool { return p != Price{} }

// Cost returns what the tokens cost, in US dollars.
func (p Price) Cost(u Usage) float64 {
	read, write := cmp.Or(p.CacheRead, p.Input), cmp.Or(p.CacheWrite, p.Input)
	plain := max(0, u.Input-u.CacheRead-u.CacheWrite)
	return (float64(plain)*p.Input + float64(u.CacheRead)*read + float64(u.CacheWrite)*write + float64(u.Output)*p.Output) / 1e6
}

// PictureTokens is a guess how many tokens a picture takes: providers scale it down until it takes some 260 to 1,600.
const PictureTokens = 1_200

// EstimateTokens guesses how many tokens a text of so many bytes has: a quarter.
// It is used before a provider has counted, and where none does.
func EstimateTokens(bytes int) int { return (bytes + 3) / 4 }

// Exchange is what went to a provider and what came back, for a trace. It holds no headers, so no key, and no query of
// the URL. Bodies are cut where they are too long to keep.
type Exchange struct {
	Method string
	URL    string
	// RequestBody and ResponseBody are as they were on the wire; a streamed
	// answer is the whole stream, as far as it was read.
	RequestBody, ResponseBody []byte
	// Status is the HTTP status, or 0 where no answer came.
	Status int
	// Cut is whether a body is longer than what is here.
	Cut bool
}

// Error is what a provider answered instead of a message.
type Error struct {
	Provider string
	// Status is the HTTP status, or 0 where the connection failed or the error came in the middle of a stream.
	Status int
	// Code is the provider's own word, such as "context_length_exceeded".
	Code string
	// Message is the provider's text, without secrets.
	Message string
	// RetryAfter is how long the provider asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	// Window is how many tokens the model takes, where Err is ErrWindow and the provider says it; 0 if it does not.
	Window int
	// Err is the cause, or one of the errors below.
	Err error
}

// What callers branch on, with errors.Is.
var (
	ErrUnauthorized = errors.New("the key was refused")
	ErrRateLimited  = errors.New("too many requests")
	ErrOverloaded   = errors.New("the provider is overloaded")
	ErrWindow       = errors.New("the conversation is longer than the model's window")
	ErrNoModel      = errors.New("the provider does not have this model")
	ErrBroken       = errors.New("the answer broke off")
	ErrBadTool      = errors.New("the provider does not take a tool")
)

// Error says what happened and where.
func (e *Error) Error() string {
	text := e.Provider
	if e.Status != 0 {
		text += fmt.Sprintf(": status %d", e.Status)
	}
	if e.Code != "" {
		text += " (" + e.Code + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retry says why a request is made again, and when.
type Retry struct {
	Attempt int           `json:"attempt"` // the one that failed, from 1
	After   time.Duration `json:"afterNs"` // the wait before the next one
	Err     error         `json:"-"`
}
