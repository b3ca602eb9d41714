package reach

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/nearest"
)

// An UnlistedError is an error about a name that a server, or the stored conversations, do not list.
type UnlistedError struct {
	Text string
	Err  error
}

func (e *UnlistedError) Error() string { return e.Text }
func (e *UnlistedError) Unwrap() error { return e.Err }

// Unlisted is err, or if the server lists no such name, that and which one was meant. A
// server that names what it does not know may know better what was meant.
func Unlisted(what, name string, names []string, err error) error {
	if slices.Contains(names, name) {
		return err
	}
	near := nearest.Name(name, names)
	switch {
	case near != "":
		return &UnlistedError{fmt.Sprintf("the server lists no %s %q; did you mean %q?", what, name, near), err}
	case strings.Contains(err.Error(), name):
		return err
	}
	return &UnlistedError{fmt.Sprintf("the server lists no %s %q; junction %ss lists those that it has", what, name, what), err}
}
