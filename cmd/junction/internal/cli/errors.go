package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/install/add"
	"github.com/junction-mcp/junction/internal/commandline"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/refused"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/unanswered"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/mcp"
)

// The exit codes; [ExitHelp] describes them.
const (
	ExitOK          = 0
	ExitToolFailed  = 1
	ExitUsage       = 2
	ExitConnection  = 3
	ExitProtocol    = 4
	ExitTimeout     = 5
	ExitRefused     = 6
	ExitInterrupted = 130
)

// ExitHelp describes the exit codes in the help of commands.
const ExitHelp = `Exit codes:
  0    done
  1    the tool failed (isError)
  2    the command line is wrong, or arguments do not fit the tool
  3    no connection: configuration, start or connection failed; or a local file failed
  4    the server answered with a protocol error
  5    the server did not answer in time
  6    refused by junction: a rule, a limit, a review, a secret, a scope, the audit log
  130  interrupted (Ctrl-C)`

// NoTerminalHelp extends the description of exit code 2 for a command that must ask the user.
const NoTerminalHelp = ", or there is no terminal for questions"

// ExitCodes returns the description of a command's exit codes: 0, 1 if failed is not empty, 2 with
// wrong appended, 3 and 130.
func ExitCodes(done, failed, wrong, unable string) string {
	if failed != "" {
		failed = "  1    " + failed + "\n"
	}
	return "Exit codes:\n  0    " + done + "\n" + failed + "  2    the command line is wrong" + wrong + "\n  3    " + unable + "\n  130  interrupted (Ctrl-C)"
}

var (
	// ErrInterrupted is the cause of a context that a signal ended.
	ErrInterrupted = errors.New("interrupted")
	// ErrTerminated wraps [ErrInterrupted] for the signal SIGTERM.
	ErrTerminated = fmt.Errorf("%w", ErrInterrupted)
	// ErrToolFailed is the error of a command that has printed the result of a failed tool.
	ErrToolFailed = errors.New("the tool failed")
	// ErrReported is the error of a command that has printed its errors.
	ErrReported = errors.New("not all servers could be asked")
)

// A UsageError is an error on the command line.
type UsageError = commandline.Error

// Usagef returns a formatted [UsageError].
func Usagef(format string, args ...any) error { return commandline.Errorf(format, args...) }

// A ConnectError is the error of a server that cannot be reached, even if it responded. Local
// failures have the same exit code without this type.
type ConnectError struct{ Cause error }

// Error implements [error].
func (e *ConnectError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Cause }

// Unanswered implements [unanswered.Error], which a proxy reports to its clients.
func (e *ConnectError) Unanswered() {}

// An ExitError holds the exit code of a command that ends without an error message.
type ExitError struct{ Code int }

// Error implements [error].
func (e *ExitError) Error() string { return fmt.Sprintf("it exited with code %d", e.Code) }

// A RefusedError is the error of a request that a gateway refused itself.
type RefusedError struct {
	Why string
	err error // nil if a result reported it
}

// Error implements [error].
func (e *RefusedError) Error() string { return "refused by junction: " + e.Why }

// Unwrap returns the error of the request, or nil.
func (e *RefusedError) Unwrap() error { return e.err }

// WrapRefusal returns err, or a [RefusedError] around it if a gateway refused the request itself.
func WrapRefusal(err error) error {
	if fault, is := errors.AsType[*mcp.Error](err); is && refused.In(fault.Data) != "" {
		return &RefusedError{fault.Message, err}
	}
	return err
}

// ExitCode returns the exit code of err. It also looks at the cause of ctx, to recognize an
// interrupt.
func ExitCode(ctx context.Context, err error) int {
	var ended *ExitError
	switch {
	case errors.As(err, &ended):
		return ended.Code
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrToolFailed) || errors.Is(err, ErrDiffers):
		return ExitToolFailed
	case errors.Is(err, ErrInterrupted), errors.Is(context.Cause(ctx), ErrInterrupted):
		return ExitInterrupted
	case errors.As(err, new(*UsageError)):
		return ExitUsage
	case errors.As(err, new(*RefusedError)):
		return ExitRefused
	case errors.As(err, new(*UnansweredError)):
		return ExitToolFailed
	case (errors.As(err, new(*ConnectError)) || errors.As(err, new(*add.StartError))) && !errors.Is(err, context.DeadlineExceeded):
		if code := respondedCode(err); code == ExitTimeout {
			return code
		}
		return ExitConnection
	case errors.As(err, new(*ProviderError)):
		return ExitProtocol
	case errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*mcp.Error)):
		return ExitTimeout
	}
	return respondedCode(err)
}

// respondedCode returns the exit code of an error response. A gateway or proxy that could not reach
// its server yields the code of that failure.
func respondedCode(err error) int {
	var data json.RawMessage
	fault, is := errors.AsType[*mcp.Error](err)
	if is {
		data = fault.Data
	} else if handshake, failed := errors.AsType[*jsonrpc.Error](err); failed {
		data = handshake.Data
	}
	switch unanswered.In(data) {
	case unanswered.Connection:
		return ExitConnection
	case unanswered.Timeout:
		return ExitTimeout
	}
	if !is {
		return ExitConnection
	}
	return ExitProtocol
}

// ErrorObject returns an error as the JSON object for scripts. It has code and data if the server
// sent them.
func ErrorObject(err error) []byte {
	type object struct {
		Code    *int            `json:"code,omitempty"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitzero"`
	}
	shown := object{Message: why.Once(why.Text(err))}
	if e, is := errors.AsType[*mcp.Error](err); is {
		shown.Code, shown.Message, shown.Data = &e.Code, e.Message, e.Data
	}
	line, _ := schema.Encode(nil, struct {
		Error object `json:"error"`
	}{shown}) // strings and raw JSON always encode
	return line
}

// JoinClose joins the error of a command and that of closing its resources. An [ErrToolFailed] gives
// way to closing, because its result was printed.
func JoinClose(err, closing error) error {
	if closing != nil && errors.Is(err, ErrToolFailed) {
		return closing
	}
	return errors.Join(err, closing)
}

// An UnansweredError is the error of a run that ended without an answer although nothing failed.
type UnansweredError struct{ Cause error }

// Error implements [error].
func (e *UnansweredError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *UnansweredError) Unwrap() error { return e.Cause }

// A ProviderError is an error response of a model's provider.
type ProviderError struct{ Cause error }

// Error implements [error].
func (e *ProviderError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.Cause }

// ErrDiffers is the error of a client that differs from the recording.
var ErrDiffers = errors.New("the client did not send the recorded requests")

// IgnoreInterrupt returns err, or nil if it is due to an interrupt. For another end of ctx, it returns the
// cause.
func IgnoreInterrupt(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (err == nil || errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		if errors.Is(cause, ErrInterrupted) {
			return nil
		}
		return cause
	}
	return err
}
