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

// NoTerminalHelp completes the description of exit code 2 for a command that must ask the user.
const NoTerminalHelp = ", or there is no terminal for questions"

// ExitCodes returns the help text about the exit codes of a command: 0, 2, 3 and 130, and also 1 if
// failed is not empty. The text about code 2 ends with wrong.
func ExitCodes(done, failed, wrong, unable string) string {
	if failed != "" {
		failed = "  1    " + failed + "\n"
	}
	return "Exit codes:\n  0    " + done + "\n" + failed + "  2    the command line is wrong" + wrong + "\n  3    " + unable + "\n  130  interrupted (Ctrl-C)"
}

var (
	// ErrInterrupted is the cause of a context that ended because of a signal.
	ErrInterrupted = errors.New("interrupted")
	// ErrTerminated wraps [ErrInterrupted] for the signal SIGTERM.
	ErrTerminated = fmt.Errorf("%w", ErrInterrupted)
	// ErrToolFailed reports that a tool failed and that its result was printed.
	ErrToolFailed = errors.New("the tool failed")
	// ErrReported reports that a command failed and has already printed its errors.
	ErrReported = errors.New("not all servers could be asked")
)

// A UsageError reports a fault of the command line.
type UsageError = commandline.Error

// Usagef returns a formatted [UsageError].
func Usagef(format string, args ...any) error { return commandline.Errorf(format, args...) }

// A ConnectError reports that a server cannot be reached or used. Local failures have the same exit
// code but not this type.
type ConnectError struct{ Cause error }

// Error implements [error].
func (e *ConnectError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *ConnectError) Unwrap() error { return e.Cause }

// Unanswered marks the error for [unanswered.Error]: a proxy reports it to its clients as a server
// without a response.
func (e *ConnectError) Unanswered() {}

// An ExitError holds the exit code of a command that ends without printing an error.
type ExitError struct{ Code int }

// Error implements [error].
func (e *ExitError) Error() string { return fmt.Sprintf("it exited with code %d", e.Code) }

// A RefusedError reports a request that a gateway refused itself.
type RefusedError struct {
	Why string
	err error // nil if the refusal was reported by a result
}

// Error implements [error].
func (e *RefusedError) Error() string { return "refused by junction: " + e.Why }

// Unwrap returns the error of the request, or nil.
func (e *RefusedError) Unwrap() error { return e.err }

// WrapRefusal returns a [RefusedError] if err means that a gateway refused the request itself, and
// otherwise err.
func WrapRefusal(err error) error {
	if fault, is := errors.AsType[*mcp.Error](err); is && refused.In(fault.Data) != "" {
		return &RefusedError{fault.Message, err}
	}
	return err
}

// ExitCode returns the exit code for err. It uses the cause of ctx to recognize an interrupt.
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

// respondedCode returns the exit code for an error response. If a gateway or proxy could not reach
// its server, the code is that of the failure to reach it.
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

// ErrorObject returns an error as a JSON object for scripts. The object has code and data if the
// server sent them.
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
	}{shown}) // encoding strings and raw JSON cannot fail
	return line
}

// JoinClose joins the error of a command with the error of closing its resources. An
// [ErrToolFailed] is dropped if closing fails, because the result was already printed.
func JoinClose(err, closing error) error {
	if closing != nil && errors.Is(err, ErrToolFailed) {
		return closing
	}
	return errors.Join(err, closing)
}

// An UnansweredError reports that a run ended without an answer, although nothing failed.
type UnansweredError struct{ Cause error }

// Error implements [error].
func (e *UnansweredError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *UnansweredError) Unwrap() error { return e.Cause }

// A ProviderError reports an error response of a model's provider.
type ProviderError struct{ Cause error }

// Error implements [error].
func (e *ProviderError) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e *ProviderError) Unwrap() error { return e.Cause }

// ErrDiffers reports that the requests of a client differ from the recording.
var ErrDiffers = errors.New("the client did not send the recorded requests")

// IgnoreInterrupt returns err, or nil if an interrupt caused it. If ctx ended for another reason,
// it returns that cause.
func IgnoreInterrupt(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (err == nil || errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		if errors.Is(cause, ErrInterrupted) {
			return nil
		}
		return cause
	}
	return err
}
