package cli

import (
	"errors"
)

// ErrDiffers says that a client did not ask what was recorded.
var ErrDiffers = errors.New("the client did not ask what was recorded")
