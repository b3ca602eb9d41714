package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// The exit codes, which the help describes.
const (
	exitOK          = 0
	exitToolFailed  = 1
	exitUsage       = 2
	exitConnection  = 3
	exitProtocol    = 4
	exitTimeout     = 5
	exitInterrupted = 130
)

const exitHelp = `Exit codes:
  0    done
  1    the tool says that it failed (isError)
  2    the command line is wrong, or arguments do not fit the tool
  3    no connection: configuration, start, connection lost; or a file of this machine
  4    the server answered with a protocol error
  5    the server did not answer in time
  130  interrupted (Ctrl-C)`

var (
	// errInterrupted is the cause of the end when a signal came.
	errInterrupted = errors.New("interrupted")
	// errToolFailed says that the result was shown, and is one of failure.
	errToolFailed = errors.New("the tool failed")
	// errReported says that what went wrong was reported already.
	errReported = errors.New("not all servers could be asked")
)

// A usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// A connectError says that a server cannot be reached, whatever it answered. What fails on this machine has the same exit code, and needs no type.
type connectError struct{ err error }

func (e *connectError) Error() string { return e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

// An endedError says that a program that was run ended otherwise than well, which its user saw.
type endedError struct{ code int }

func (e *endedError) Error() string { return fmt.Sprintf("it ended with %d", e.code) }

// exitCode is the one map from errors to exit codes.
func exitCode(ctx context.Context, err error) int {
	var ended *endedError
	switch {
	case errors.As(err, &ended):
		return ended.code
	case err == nil:
		return exitOK
	case errors.Is(err, errToolFailed) || errors.Is(err, errDiffers):
		return exitToolFailed
	case errors.Is(err, errInterrupted), errors.Is(context.Cause(ctx), errInterrupted):
		return exitInterrupted
	case errors.As(err, new(*usageError)):
		return exitUsage
	case errors.As(err, new(*unansweredError)):
		return exitToolFailed
	case errors.As(err, new(*connectError)) && !errors.Is(err, context.DeadlineExceeded):
		return exitConnection
	case errors.As(err, new(*mcp.Error)), errors.As(err, new(*providerError)):
		return exitProtocol
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	}
	return exitConnection
}

// writeError writes an error as scripts read it: code and data are there if the
// server gave them.
func writeError(w io.Writer, err error) { fmt.Fprintf(w, "%s\n", errorObject(err)) }

func errorObject(err error) []byte {
	type object struct {
		Code    *int            `json:"code,omitempty"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitzero"`
	}
	shown := object{Message: once(plainText(err))}
	var e *mcp.Error
	if errors.As(err, &e) {
		shown.Code, shown.Message, shown.Data = &e.Code, e.Message, e.Data
	}
	line, _ := schema.Encode(nil, struct {
		Error object `json:"error"`
	}{shown}) // strings and raw JSON always encode
	return line
}
