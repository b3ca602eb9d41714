package cli

import (
	"context"
	"errors"
)

// Orderly is err, except that the end which somebody asked for is none.
func Orderly(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (err == nil || errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		if errors.Is(cause, ErrInterrupted) {
			return nil
		}
		return cause
	}
	return err
}
