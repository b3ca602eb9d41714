package mcp

import (
	"cmp"
	"slices"
	"strings"
)

// A PrivateError is an error with a part of its text that only the operator of this program should
// see, such as the end of a server's standard error. If several users share the server, that part
// may contain input of another user. The text of a PrivateError, and of errors that wrap it, is
// complete. [RedactError] returns an error with the text for others.
type PrivateError struct {
	// Err is the error; its text contains Private.
	Err error
	// Private is the confidential part of the text. Public replaces it for others.
	Private, Public string
}

// Error returns the whole text.
func (e *PrivateError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *PrivateError) Unwrap() error { return e.Err }

// RedactError returns an error that wraps err and whose text any client may read. The text contains
// the replacement for the private part of each [PrivateError] in err. If err wraps none,
// RedactError returns err.
func RedactError(err error) error {
	parts := privateParts(err, nil)
	if len(parts) == 0 {
		return err
	}
	slices.SortFunc(parts, func(a, b *PrivateError) int { return cmp.Compare(len(b.Private), len(a.Private)) }) // the longest first, as one may contain another
	whole := err.Error()
	text := whole
	for _, p := range parts {
		if !strings.Contains(whole, p.Private) { // the text was cut, and may still contain a part of Private
			return &redactedError{"the server failed; " + p.Public, err}
		}
		text = strings.ReplaceAll(text, p.Private, p.Public)
	}
	return &redactedError{text, err}
}

// privateParts appends the PrivateErrors in the tree of err to the slice to.
func privateParts(err error, to []*PrivateError) []*PrivateError {
	if p, is := err.(*PrivateError); is {
		to = append(to, p)
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if next := e.Unwrap(); next != nil {
			to = privateParts(next, to)
		}
	case interface{ Unwrap() []error }:
		for _, next := range e.Unwrap() {
			to = privateParts(next, to)
		}
	}
	return to
}

// A redactedError replaces the text of an error. [errors.Is] and [errors.As] still find the wrapped
// errors.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }
