package model

import (
	"context"
	"encoding/json"
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
	// Name is unique in a request and matches [A-Za-z_][A-Za-z0-9_-]{0,63}, which
	// every provider takes; see [Names].
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
	// Notes say what was done to tools on the way, and which were set aside, and whether
	// pictures were.
	Notes []Note
	// Model is the name the provider answered under, which can be more exact than
	// the one that was asked for.
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
	// Retry says that the request failed and is made again; whatever was emitted
	// for it before is void.
	Retry *Retry `json:"retry,omitempty"`
}

// CallDelta is a piece of a call.
type CallDelta struct {
	Index     int    `json:"index"`               // which call of the message
	ID        string `json:"id,omitempty"`        // set in the first piece
	Name      string `json:"name,omitempty"`      // set in the first piece
	Arguments string `json:"arguments,omitempty"` // the next characters of the arguments
}
