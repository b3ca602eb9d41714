package mcp

import (
	"cmp"
	"slices"
	"strings"
)

// A PrivateError is an error of whose text a part is only for who runs this program, such as the end of a server's standard
// error: where several people use the server, it may have what one of them sent. Its text, and that of errors that wrap it, has all
// of it; [PublicError] has what others may see.
type PrivateError struct {
	// Err is the error, whose text has Private in it.
	Err error
	// Private is that part, and Public what others see in its place.
	Private, Public string
}

// Error is the whole text.
func (e *PrivateError) Error() string { return e.Err.Error() }

// Unwrap is Err.
func (e *PrivateError) Unwrap() error { return e.Err }

// PublicError is an error that wraps err, with the text that any client may see: what [PrivateError] keeps for who runs this
// program is not in it. It is err itself where it wraps none.
func PublicError(err error) error {
	parts := privateParts(err, nil)
	if len(parts) == 0 {
		return err
	}
	slices.SortFunc(parts, func(a, b *PrivateError) int { return cmp.Compare(len(b.Private), len(a.Private)) }) // one may be in another
	whole := err.Error()
	text := whole
	for _, p := range parts {
		if !strings.Contains(whole, p.Private) { // somebody cut the text, which may still have some of it
			return &publicError{"the server failed; " + p.Public, err}
		}
		text = strings.ReplaceAll(text, p.Private, p.Public)
	}
	return &publicError{text, err}
}

// privateParts adds the PrivateErrors that err wraps.
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

// A publicError is an error with another text. What it wraps is found by [errors.Is] and [errors.As].
type publicError struct {
	text string
	err  error
}

func (e *publicError) Error() string { return e.text }
func (e *publicError) Unwrap() error { return e.err }
