package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

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

// asksOnly is what exit code 2 says of a command that asks, and cannot go on where nobody can be asked.
const asksOnly = ", or nobody can be asked here"

// exitCodes is what the help of a command says of its exit codes: of 0, of 1 if it has that, what 2 means in addition to a wrong command line, and of 3.
func exitCodes(done, failed, wrong, unable string) string {
	if failed != "" {
		failed = "  1    " + failed + "\n"
	}
	return "Exit codes:\n  0    " + done + "\n" + failed + "  2    the command line is wrong" + wrong + "\n  3    " + unable + "\n  130  interrupted (Ctrl-C)"
}

var (
	// errInterrupted is the cause of the end when a signal came.
	errInterrupted = errors.New("interrupted")
	// errToolFailed says that the result was shown, and is one of failure.
	errToolFailed = errors.New("the tool failed")
	// errReported says that what went wrong was reported already.
	errReported = errors.New("not all servers could be asked")
)

// A usageError is a mistake on the command line.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// A connectError says that a server cannot be reached, whatever it answered. What fails on this machine has the same exit code, and needs no type.
type connectError struct{ error }

func (e *connectError) Unwrap() error { return e.error }

// An endedError says with which code a command ends of whose end nothing has to be said: its user saw it, or wanted it.
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

// errorObject is an error as scripts read it: code and data are there if the
// server gave them.
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
