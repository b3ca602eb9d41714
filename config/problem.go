package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// The possible causes of a [Problem], for errors.Is.
var (
	// ErrNotSet means that a variable has neither a value nor a default.
	ErrNotSet = errors.New("variable is not set")
	// ErrSecret means that a secret, or its file, could not be read.
	ErrSecret = errors.New("secret is missing")
	// ErrInput means that the user gave no value for an input.
	ErrInput = errors.New("input is missing")
	// ErrNoEffect means that a member of an entry has no effect on a server of its kind.
	ErrNoEffect = errors.New("member has no effect")
	// ErrDuplicate means that a name is defined twice in one file.
	ErrDuplicate = errors.New("defined twice")
	// ErrLimit means that a file or a value exceeds a limit of this package.
	ErrLimit = errors.New("too large")
)

// maxQuoted is the largest number of bytes of a name or value in an error.
const maxQuoted = 64

// Problem is a fault in a configuration file, with its place and advice. Its text never contains
// the value of a variable, an environment or a header.
type Problem struct {
	Source string // file name as passed to Load or Parse; empty before [Server.Located]
	Server string // server's name; empty for a fault of the whole file
	Field  string // path in the server's entry, such as "env.TOKEN" or "args[2]"; may be empty
	Line   int    // line in Source, from 1; 0 if unknown
	Err    error  // the fault
}

// Error returns the text of the fault: file, server, field and fault.
func (p *Problem) Error() string {
	var b strings.Builder
	if p.Source != "" {
		b.WriteString(p.Source + ": ")
	}
	if p.Server != "" {
		b.WriteString("server " + quote(p.Server) + ": ")
	}
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	return b.String() + p.Err.Error()
}

// Unwrap returns the fault without its place.
func (p *Problem) Unwrap() error { return p.Err }

// causedError has a text for users and wraps a cause for callers.
type causedError struct{ cause, text error }

func (e *causedError) Error() string   { return e.text.Error() }
func (e *causedError) Unwrap() []error { return []error{e.cause, e.text} }

func caused(cause error, format string, args ...any) error {
	return &causedError{cause, fmt.Errorf(format, args...)}
}

// quote shortens and quotes text from a file, so that it cannot flood or forge a line.
func quote(s string) string {
	if len(s) > maxQuoted {
		s = plaintext.Beginning(s, maxQuoted) + "…"
	}
	return strconv.Quote(s)
}

// plain returns name unchanged if it has only ordinary characters, and quoted otherwise.
func plain(name string) string {
	unusual := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
	}
	if name == "" || len(name) > maxQuoted || strings.ContainsFunc(name, unusual) {
		return quote(name)
	}
	return name
}
