// Package commandline defines the error for a wrong command line.
package commandline

import "fmt"

// An Error is a mistake on the command line.
type Error struct{ Err error }

// Error implements the interface error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the mistake.
func (e *Error) Unwrap() error { return e.Err }

// Errorf returns an Error with the text of [fmt.Errorf].
func Errorf(format string, args ...any) error { return &Error{fmt.Errorf(format, args...)} }
