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
	// Info describes the model. It sends nothing, and its result never changes.
	Info() Info

	// Generate requests the next message. If emit is not nil, Generate calls it with every piece as
	// it comes, from the calling goroutine. The Response is the sum of the pieces.
	//
	// An error may come with a Response, which is the part that came before the stream broke off.
	// Its Message then has no calls with incomplete arguments, so that it can be kept in the
	// conversation. Errors of the provider are an [*Error].
	Generate(ctx context.Context, req *Request, emit func(Delta)) (*Response, error)
}

// Info describes a model.
type Info struct {
	// Provider names the adapter or the service, such as "openai" or "anthropic".
	Provider string `json:"provider"`
	// Name is the provider's name of the model.
	Name string `json:"name"`
	// Window is the model's window in tokens; 0 if unknown.
	Window int `json:"window,omitempty"`
	// MaxTools is the maximum number of tools in one request; 0 means no limit.
	MaxTools int `json:"maxTools,omitempty"`
	// Price is the price of tokens; zero if unknown. Free models have Price.Free set.
	Price Price `json:"price,omitzero"`
	// Language reports whether this is a language model. The built-in offline model is not, and
	// programs that show its answers should state that.
	Language bool `json:"language"`
}

// Request is one request to a model. A Model does not change it.
type Request struct {
	// System is the system prompt.
	System string
	// Messages is the conversation, oldest first.
	Messages []Message
	// Tools lists the tools that the model can call. The order is kept, so that the provider's
	// prompt cache works.
	Tools []Tool
	// CachedTools is the number of first Tools that later requests repeat, together with System.
	// Adapters use it to mark a cacheable prefix.
	CachedTools int
	// Choice decides whether the model must call a tool; empty means it may.
	Choice Choice
	// MaxTokens limits the answer; 0 means the adapter's default.
	MaxTokens int
	// Temperature is the sampling temperature; nil means the provider's default.
	Temperature *float64
	// Stop lists sequences at which the answer ends, for providers that support it. OpenAI's
	// responses do not.
	Stop []string
	// Tap, if not nil, is called after every exchange with the provider, from the calling
	// goroutine. That includes failed and repeated ones.
	Tap func(Exchange)
}

// Choice decides how a model may use tools.
type Choice string

const (
	ChoiceAuto     Choice = ""         // call tools or answer
	ChoiceNone     Choice = "none"     // answer, do not call
	ChoiceRequired Choice = "required" // call at least one tool
)

// Tool is a tool as a model sees it.
type Tool struct {
	// Name is unique in a request and matches [A-Za-z_][A-Za-z0-9_-]{0,63}, which every provider
	// accepts; see [Names].
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"` // JSON Schema of the arguments; nil means any object
}

// Response is the answer of a model.
type Response struct {
	Message Message
	// Stop is the reason for the end, and StopDetail is the provider's name for it.
	Stop       StopReason
	StopDetail string
	Usage      Usage
	// Notes lists the tools and pictures that were changed or omitted.
	Notes []Note
	// Model is the provider's name of the answering model, which can be more exact than the
	// requested one.
	Model string
}

// StopReason is the reason why a model stopped.
type StopReason string

const (
	StopEnd     StopReason = "end"     // the answer is complete
	StopCalls   StopReason = "calls"   // the model calls tools
	StopLength  StopReason = "length"  // the limit of tokens was reached; the answer is cut
	StopRefusal StopReason = "refusal" // the model or a filter refused
	StopPause   StopReason = "pause"   // the model continues when the same conversation is sent again
	StopOther   StopReason = "other"   // see StopDetail
)

// Note describes how an adapter treated a tool that the provider does not support as it is.
type Note struct {
	// Tool is the tool's name. It is empty in notes about pictures.
	Tool string `json:"tool"`
	// SetAside reports that the request omitted the tool.
	SetAside bool `json:"setAside,omitempty"`
	// Text lists the changes, or gives the reason for the omission.
	Text string `json:"text"`
}

// Delta is a piece of an answer during its generation. Exactly one field is set.
type Delta struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Call is a piece of a call.
	Call *CallDelta `json:"call,omitempty"`
	// Retry reports that the request failed and is repeated. All earlier deltas of the request are
	// void.
	Retry *Retry `json:"retry,omitempty"`
}

// CallDelta is a piece of a call.
type CallDelta struct {
	Index     int    `json:"index"`               // index of the call in the message
	ID        string `json:"id,omitempty"`        // set in the first piece
	Name      string `json:"name,omitempty"`      // set in the first piece
	Arguments string `json:"arguments,omitempty"` // the next characters of the arguments
}

// Role is the author of a message.
type Role string

const (
	RoleUser      Role = "user"      // the user
	RoleAssistant Role = "assistant" // the model
	RoleTool      Role = "tool"      // results of calls
)

// Message is one message of a conversation. It is stored as JSON.
type Message struct {
	Role  Role   `json:"role"`
	Parts []Part `json:"parts"`
	// Extra holds members of the provider's message that this package has no field for, by
	// provider. They are sent back only to that provider.
	Extra map[string]map[string]json.RawMessage `json:"extra,omitempty"`
}

// Part is a piece of a message. Exactly one field is set.
type Part struct {
	Text      string     `json:"text,omitempty"`
	Media     *Media     `json:"media,omitempty"`
	Reasoning *Reasoning `json:"reasoning,omitempty"`
	Call      *Call      `json:"call,omitempty"`
	Result    *Result    `json:"result,omitempty"`
	// Opaque is a provider's block that this package has no field for; see Message.Extra.
	Opaque *Opaque `json:"opaque,omitempty"`
}

// Media is an image, a sound or a document.
type Media struct {
	Type string `json:"type"` // MIME type
	Data []byte `json:"data"`
}

// Reasoning is the reasoning of a model. It is shown on request, and sent back to its provider.
type Reasoning struct {
	Text     string `json:"text,omitempty"`
	Provider string `json:"provider,omitempty"`
	// Raw is the block as received, with its signature. It is nil if the provider does not want it
	// back.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Call is a model's call of a tool.
type Call struct {
	// ID is unique in the conversation; the Result refers to it.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is one JSON object. It is never nil in a message from a Model. If the model wrote
	// anything else, Malformed is the reason and Raw the model's text.
	Arguments json.RawMessage `json:"arguments"`
	Malformed string          `json:"malformed,omitempty"`
	Raw       string          `json:"raw,omitempty"`
	// Extra is like Message.Extra, for the call.
	Extra map[string]map[string]json.RawMessage `json:"extra,omitempty"`
}

// Result is the result of a Call.
type Result struct {
	CallID  string `json:"callId"`
	Name    string `json:"name"`  // name of the tool
	Parts   []Part `json:"parts"` // Text and Media only
	IsError bool   `json:"isError,omitempty"`
}

// Opaque is a block that only its provider understands.
type Opaque struct {
	Provider string          `json:"provider"`
	Raw      json.RawMessage `json:"raw"`
}

// UserText returns a message of the user with one text.
func UserText(text string) Message {
	return Message{Role: RoleUser, Parts: []Part{{Text: text}}}
}

// Text returns the joined texts of the message.
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
	// Input counts the tokens of the request, including those read from and written to the
	// provider's cache.
	Input int `json:"input"`
	// Output counts the tokens of the answer, including its reasoning.
	Output int `json:"output"`
	// CacheRead and CacheWrite are the parts of Input that were read from and written to the
	// provider's prompt cache.
	CacheRead  int `json:"cacheRead,omitempty"`
	CacheWrite int `json:"cacheWrite,omitempty"`
	// Reasoning is the part of Output that is reasoning, if the provider counts it.
	Reasoning int `json:"reasoning,omitempty"`
	// Estimated reports that the provider sent no counts, and that the numbers are estimates from
	// the lengths of texts.
	Estimated bool `json:"estimated,omitempty"`
}

// Add returns the sum of u and v.
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

// Price is the price of tokens in US dollars per million. The zero Price means unknown.
type Price struct {
	// Free reports that tokens cost nothing.
	Free       bool    `json:"free,omitempty"`
	Input      float64 `json:"input,omitempty"`
	Output     float64 `json:"output,omitempty"`
	CacheRead  float64 `json:"cacheRead,omitempty"`  // 0 means the price of Input
	CacheWrite float64 `json:"cacheWrite,omitempty"` // 0 means the price of Input
}

// Known reports whether the price is known.
func (p Price) Known() bool { return p != Price{} }

// Cost returns the cost of the tokens in US dollars.
func (p Price) Cost(u Usage) float64 {
	read, write := cmp.Or(p.CacheRead, p.Input), cmp.Or(p.CacheWrite, p.Input)
	plain := max(0, u.Input-u.CacheRead-u.CacheWrite)
	return (float64(plain)*p.Input + float64(u.CacheRead)*read + float64(u.CacheWrite)*write + float64(u.Output)*p.Output) / 1e6
}

// PictureTokens is an estimate of a picture's tokens. Providers scale pictures down to about 260 to
// 1,600 tokens.
const PictureTokens = 1_200

// EstimateTokens estimates the tokens of a text as a quarter of its bytes. It is used until a
// provider has counted tokens, and for providers that do not.
func EstimateTokens(bytes int) int { return (bytes + 3) / 4 }

// Exchange is a request to a provider and its response, for traces. To exclude keys it has no
// headers and no query of the URL. Long bodies are cut.
type Exchange struct {
	Method string
	URL    string
	// RequestBody and ResponseBody hold the bytes on the wire. For a streamed answer this is the
	// part of the stream that was read.
	RequestBody, ResponseBody []byte
	// Status is the HTTP status, or 0 without a response.
	Status int
	// Cut reports that a body was longer than the bytes kept here.
	Cut bool
}

// Error is an error that a provider returned instead of a message.
type Error struct {
	Provider string
	// Status is the HTTP status. It is 0 if the connection failed, or if the error came during a
	// stream.
	Status int
	// Code is the provider's code, such as "context_length_exceeded".
	Code string
	// Message is the provider's text, without secrets.
	Message string
	// RetryAfter is the wait that the provider requests, or 0.
	RetryAfter time.Duration
	// Window is the model's window in tokens if Err is ErrWindow and the provider reports it, and 0
	// otherwise.
	Window int
	// Err is the cause, or one of the errors below.
	Err error
}

// Errors for use with errors.Is.
var (
	ErrUnauthorized = errors.New("the key was refused")
	ErrRateLimited  = errors.New("too many requests")
	ErrOverloaded   = errors.New("the provider is overloaded")
	ErrWindow       = errors.New("the conversation is longer than the model's window")
	ErrNoModel      = errors.New("the provider does not have this model")
	ErrBroken       = errors.New("the answer broke off")
	ErrBadTool      = errors.New("the provider does not accept a tool")
)

// Error returns the provider, the status, the code and the message.
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

// Retry describes the reason and the time of a repeated request.
type Retry struct {
	Attempt int           `json:"attempt"` // number of the failed attempt, from 1
	After   time.Duration `json:"afterNs"` // wait before the next one
	Err     error         `json:"-"`
}
