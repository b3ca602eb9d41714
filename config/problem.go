package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
)

// Causes that callers branch on, inside a [Problem].
var (
	// ErrNotSet says that a variable has no value and no default.
	ErrNotSet = errors.New("variable is not set")
	// ErrSecret says that a secret, or the file that holds one, could not be read.
	ErrSecret = errors.New("secret is missing")
	// ErrInput says that an input could not be had from the person.
	ErrInput = errors.New("input is missing")
	// ErrNoEffect says that a member of an entry has no effect on a server of its kind.
	ErrNoEffect = errors.New("member has no effect")
	// ErrDuplicate says that a name is defined twice in one file.
	ErrDuplicate = errors.New("defined twice")
	// ErrLimit says that a file or a value is larger than this package accepts.
	ErrLimit = errors.New("too large")
)

// maxQuoted is how many bytes of a name or a value an error repeats.
const maxQuoted = 64

// Problem is a fault in a configuration file: what is wrong, where, and what to do.
// Its text never holds the value of a variable, an environment or a header.
type Problem struct {
	Source string // the file, as it was given to Load or Parse; empty before [Server.Located]
	Server string // the server's name; empty for a fault of the whole file
	Field  string // path inside the server's entry, such as "env.TOKEN" or "args[2]"; may be empty
	Line   int    // line in Source, from 1; 0 when unknown
	Err    error  // what is wrong
}

// Error is the text of the fault: file, server, field, what is wrong.
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

// Unwrap is the fault without its place.
func (p *Problem) Unwrap() error { return p.Err }

// causedError is a text for people that has a cause callers can branch on.
type causedError struct{ cause, text error }

func (e *causedError) Error() string   { return e.text.Error() }
func (e *causedError) Unwrap() []error { return []error{e.cause, e.text} }

func caused(cause error, format string, args ...any) error {
	return &causedError{cause, fmt.Errorf(format, args...)}
}

// quote bounds and quotes text from a file, so that it cannot flood or forge a line.
func quote(s string) string {
	if len(s) > maxQuoted {
		s = plaintext.Beginning(s, maxQuoted) + "…"
	}
	return strconv.Quote(s)
}

// plain returns a name without quotes if it has ordinary characters only, and else what quote returns.
func plain(name string) string {
	unusual := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.')
	}
	if name == "" || len(name) > maxQuoted || strings.ContainsFunc(name, unusual) {
		return quote(name)
	}
	return name
}
