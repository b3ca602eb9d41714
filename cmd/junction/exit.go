package main

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
	exitOK          = 0
	exitToolFailed  = 1
	exitUsage       = 2
	exitConnection  = 3
	exitProtocol    = 4
	exitTimeout     = 5
	exitRefused     = 6
	exitInterrupted = 130
)

const exitHelp = `Exit codes:
  0    done
  1    the tool says that it failed (isError)
  2    the command line is wrong, or arguments do not fit the tool
  3    no connection: configuration, start, connection lost; or a local file
  4    the server answered with a protocol error
  5    the server did not answer in time
  6    refused by junction: a rule, a limit, a review, a secret, a scope, the audit log
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
	// errTerminated is errInterrupted where the signal was SIGTERM, as whoever runs services sends it.
	errTerminated = fmt.Errorf("%w", errInterrupted)
	// errToolFailed says that the result was shown, and is one of failure.
	errToolFailed = errors.New("the tool failed")
	// errReported says that what went wrong was reported already.
	errReported = errors.New("not all servers could be asked")
)

// A usageError is a mistake on the command line.
type usageError = commandline.Error

func usagef(format string, args ...any) error { return commandline.Errorf(format, args...) }

// A connectError says that a server cannot be reached, whatever it answered. What fails on this machine has the same exit code, and needs no type.
type connectError struct{ cause error }

func (e *connectError) Error() string { return e.cause.Error() }

func (e *connectError) Unwrap() error { return e.cause }

// Unanswered implements [unanswered.Error]: clients of a proxy read so of it.
func (e *connectError) Unanswered() {}

// An endedError says with which code a command ends of whose end nothing has to be said: its user saw it, or wanted it.
type endedError struct{ code int }

func (e *endedError) Error() string { return fmt.Sprintf("it ended with %d", e.code) }

// A refusedError says that a gateway refused a request itself.
type refusedError struct {
	why string
	err error // nil where a result says so
}

// Error implements the interface error.
func (e *refusedError) Error() string { return "refused by junction: " + e.why }

func (e *refusedError) Unwrap() error { return e.err }

// refusal is err, or what says that a gateway refused a request itself where that is so.
func refusal(err error) error {
	if fault, is := errors.AsType[*mcp.Error](err); is && refused.In(fault.Data) != "" {
		return &refusedError{fault.Message, err}
	}
	return err
}

// unmarked leaves out of what a server says the mark by which a gateway says that it refused a request itself.
func unmarked(next mcp.Handler) mcp.Handler {
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
	case errors.As(err, new(*refusedError)):
		return exitRefused
	case errors.As(err, new(*unansweredError)):
		return exitToolFailed
	case (errors.As(err, new(*connectError)) || errors.As(err, new(*add.StartError))) && !errors.Is(err, context.DeadlineExceeded):
		if code := respondedCode(err); code == exitTimeout {
			return code
		}
		return exitConnection
	case errors.As(err, new(*providerError)):
		return exitProtocol
	case errors.Is(err, context.DeadlineExceeded) && !errors.As(err, new(*mcp.Error)):
		return exitTimeout
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
		return exitConnection
	case unanswered.Timeout:
		return exitTimeout
	}
	if !is {
		return exitConnection
	}
	return exitProtocol
}

// errorObject is an error as scripts read it: code and data are there if the
// server gave them.
func errorObject(err error) []byte {
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
