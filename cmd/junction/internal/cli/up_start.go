package cli

const (
	// MaxSaid is how much of a line of standard error is shown, in letters.
	MaxSaid = 200
)
