package mcp_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/junction-mcp/junction/mcp"
)

func TestARedactedErrorHasNothingThatIsPrivate(t *testing.T) {
	private := func(part string, errs ...error) error {
		return &mcp.PrivateError{Err: fmt.Errorf("it ended; %s%w", part, errors.Join(append(errs, io.EOF)...)), Private: part, Public: "see the log"}
	}
	plain := errors.New("plain")
	for _, test := range []struct {
		name string
		err  error
		want string
	}{
		{"of an error that is public", fmt.Errorf("it failed: %w", plain), "it failed: plain"},
		{"of one that is wrapped", fmt.Errorf("server %q: %w; more", "x", private("a secret ")), `server "x": it ended; see the logEOF; more`},
		{"of two that are joined", errors.Join(plain, private("one "), private("two ")), "plain\nit ended; see the logEOF\nit ended; see the logEOF"},
		{"of the same twice", errors.Join(private("one "), private("one ")), "it ended; see the logEOF\nit ended; see the logEOF"},
		{"of one in which another's part is", &mcp.PrivateError{Err: fmt.Errorf("no response (%w)", private("a secret ")), Private: "it ended; a secret EOF", Public: "why is in the log"}, "no response (why is in the log)"},
		{"of a text that was cut", fmt.Errorf("%w", cut{private("a secret that is long ")}), "the server failed; see the log"},
	} {
		got := mcp.RedactError(test.err)
		if got.Error() != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if errors.Is(got, io.EOF) != errors.Is(test.err, io.EOF) || errors.Is(got, plain) != errors.Is(test.err, plain) {
			t.Errorf("%s: it does not wrap what it is of", test.name)
		}
	}
	if mcp.RedactError(nil) != nil || mcp.RedactError(plain) != plain {
		t.Error("an error that is public became another one")
	}
}

// cut is an error whose text is the beginning of another's.
type cut struct{ error }

func (c cut) Error() string { return c.error.Error()[:15] }
func (c cut) Unwrap() error { return c.error }
