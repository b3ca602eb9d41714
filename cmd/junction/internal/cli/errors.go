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

// The exit codes, which the help describes.
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

const ExitHelp = `Exit codes:
  0    done
  1    the tool says that it failed (isError)
  2    the command line is wrong, or arguments do not fit the tool
  3    no connection: configuration, start, connection lost; or a local file
  4    the server answered with a protocol error
  5    the server did not answer in time
  6    refused by junction: a rule, a limit, a review, a secret, a scope, the audit log
  130  interrupted (Ctrl-C)`

// AsksOnly is what exit code 2 says of a command that asks, and cannot go on where nobody can be asked.
const AsksOnly = ", or nobody can be asked here"

// ExitCodes is what the help of a command says of its exit codes: of 0, of 1 if it has that, what 2 means in addition to a wrong command line, and of 3.
func ExitCodes(done, failed, wrong, unable string) string {
	if failed != "" {
		failed = "  1    " + failed + "\n"
	}
	return "Exit codes:\n  0    " + done + "\n" + failed + "  2    the command line is wrong" + wrong + "\n  3    " + unable + "\n  130  interrupted (Ctrl-C)"
}

var (
	// ErrInterrupted is the cause of the end when a signal came.
	ErrInterrupted = errors.New("interrupted")
	// ErrTerminated is errInterrupted where the signal was SIGTERM, as whoever runs services sends it.
	ErrTerminated = fmt.Errorf("%w", ErrInterrupted)
	// ErrToolFailed says that the result was shown, and is one of failure.
	ErrToolFailed = errors.New("the tool failed")
	// ErrReported says that what went wrong was reported already.
	ErrReported = errors.New("not all servers could be asked")
)

// A UsageError is a mistake on the command line.
type UsageError = commandline.Error

func Usagef(format string, args ...any) error { return commandline.Errorf(format, args...) }

// A ConnectError says that a server cannot be reached, whatever it answered. What fails on this machine has the same exit code, and needs no type.
type ConnectError struct{ Cause error }

func (e *ConnectError) Error() string { return e.Cause.Error() }

func (e *ConnectError) Unwrap() error { return e.Cause }

// Unanswered implements [unanswered.Error]: clients of a proxy read so of it.
func (e *ConnectError) Unanswered() {}

// An EndedError says with which code a command ends of whose end nothing has to be said: its user saw it, or wanted it.
type EndedError struct{ Code int }

func (e *EndedError) Error() string { return fmt.Sprintf("it ended with %d", e.Code) }

// A RefusedError says that a gateway refused a request itself.
type RefusedError struct {
	Why string
	err error // nil where a result says so
}

// Error implements the interface error.
func (e *RefusedError) Error() string { return "refused by junction: " + e.Why }

func (e *RefusedError) Unwrap() error { return e.err }

// Refusal is err, or what says that a gateway refused a request itself where that is so.
func Refusal(err error) error {
	if fault, is := errors.AsType[*mcp.Error](err); is && refused.In(fault.Data) != "" {
		return &RefusedError{fault.Message, err}
	}
	return err
}

// Unmarked leaves out of what a server says the mark by which a gateway says that it refused a request itself.
func Unmarked(next mcp.Handler) mcp.Handler {
	return mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		if req.Method == "subscriptions/listen" && req.Peer != nil {
			listens := *req
			listens.Peer = &unmarkedPeer{req.Peer}
			req = &listens
		}
		result, err := next.Handle(ctx, req)
		result.Meta = refused.Without(result.Meta)
		if req.Method == "tasks/get" && err == nil {
			if body, fault := result.Encoded(); fault == nil {
				result = result.WithJSON(refused.WithoutInTask(body))
			}
		}
		if fault, is := errors.AsType[*mcp.Error](err); is && refused.In(fault.Data) != "" {
			return result, &mcp.Error{Code: fault.Code, Message: fault.Message, Data: refused.Without(fault.Data), Server: fault.Server}
		}
		return result, err
	})
}

// An unmarkedPeer is the Peer of a subscription, of which notifications may hold the outcomes of tasks.
type unmarkedPeer struct{ mcp.Peer }

// Unwrap is for [mcp.PeerAs].
func (p *unmarkedPeer) Unwrap() mcp.Peer { return p.Peer }

// Notify implements [mcp.Peer].
func (p *unmarkedPeer) Notify(ctx context.Context, method string, params json.RawMessage) error {
	if method == "notifications/tasks" {
		params = refused.WithoutInTask(params)
	}
	return p.Peer.Notify(ctx, method, params)
}

// ExitCode is the one map from errors to exit codes.
func ExitCode(ctx context.Context, err error) int {
	var ended *EndedError
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

// respondedCode is the exit code of an error with which a server responded: that of a gateway or a proxy which had no response of the
// server behind it is the one that the server itself would have had.
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

// ErrorObject is an error as scripts read it: code and data are there if the
// server gave them.
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

// Closed is how a command ends whose things were closed: a failure that was shown
// already must not hide what went wrong then.
func Closed(err, closing error) error {
	if closing != nil && errors.Is(err, ErrToolFailed) {
		return closing
	}
	return errors.Join(err, closing)
}

// An UnansweredError says why a run ended without an answer though nothing failed.
type UnansweredError struct{ Cause error }

func (e *UnansweredError) Error() string { return e.Cause.Error() }

func (e *UnansweredError) Unwrap() error { return e.Cause }

// A ProviderError is an error that a model's provider answered with.
type ProviderError struct{ Cause error }

func (e *ProviderError) Error() string { return e.Cause.Error() }

func (e *ProviderError) Unwrap() error { return e.Cause }

// ErrDiffers says that a client did not ask what was recorded.
var ErrDiffers = errors.New("the client did not ask what was recorded")

// Orderly is err, except that the end which somebody asked for is none.
func Orderly(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && (err == nil || errors.Is(err, cause) || errors.Is(err, context.Canceled)) {
		if errors.Is(cause, ErrInterrupted) {
			return nil
		}
		return cause
	}
	return err
}
