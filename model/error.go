package model

import (
	"errors"
	"fmt"
	"time"
)

// Error is what a provider answered instead of a message.
type Error struct {
	Provider string
	// Status is the HTTP status, or 0 where the connection failed or the error came
	// in the middle of a stream.
	Status int
	// Code is the provider's own word, such as "context_length_exceeded".
	Code string
	// Message is the provider's text, without secrets.
	Message string
	// RetryAfter is how long the provider asks to wait; 0 if it does not say.
	RetryAfter time.Duration
	// Window is how many tokens the model takes, where Err is ErrWindow and the provider
	// says it; 0 if it does not.
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
