package cli

import (
	"errors"
)

// Closed is how a command ends whose things were closed: a failure that was shown
// already must not hide what went wrong then.
func Closed(err, closing error) error {
	if closing != nil && errors.Is(err, ErrToolFailed) {
		return closing
	}
	return errors.Join(err, closing)
}

// An UnansweredError says why a run ended without an answer though nothing failed.
type UnansweredError struct{ Cause error }

func (e *UnansweredError) Error() string { return e.Cause.Error() }

func (e *UnansweredError) Unwrap() error { return e.Cause }

// A ProviderError is an error that a model's provider answered with.
type ProviderError struct{ Cause error }

func (e *ProviderError) Error() string { return e.Cause.Error() }

func (e *ProviderError) Unwrap() error { return e.Cause }
