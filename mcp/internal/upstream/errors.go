package upstream

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

func (c *conn) protocolError(s *session, req *mcp.Request, e *jsonrpc.Error) error {
	if s != nil {
		e = s.revision.ErrorFrom(req.Method, req.Name, e)
	}
	return &mcp.Error{Code: e.Code, Message: e.Message, Data: e.Data, Server: c.options.Name}
}

// failed returns the error of a request that got no response. If the body of an HTTP error contains
// a protocol error, it returns that one. If the server may have executed the request, the error is
// an [mcp.ErrLost].
func (c *conn) failed(s *session, req *mcp.Request, err error) error {
	if named, is := err.(*namedError); is {
		err = named.err
	}
	var status *mcp.StatusError
	if errors.As(err, &status) && status.Fault != nil && !errors.Is(err, link.ErrSessionLost) {
		return c.protocolError(s, req, statusFault(status))
	}
	ended := c.link.Err()
	if errors.Is(ended, mcp.ErrClosed) {
		ended = nil
	}
	if ended != nil {
		c.end(nil) // before the caller can see the error
	}
	if ended != nil && errors.Is(err, mcp.ErrClosed) {
		err = ended // the request was closed because the link had ended
	}
	noResponse := errors.Is(err, link.ErrNoResponse)
	if errors.Is(err, mcp.ErrClosed) {
		err = c.whyClosed() // without the text about the expected message
	}
	failed := c.named(req, err)
	switch {
	case noResponse:
		return lostError{failed}
	case ended != nil:
		return lostError{fmt.Errorf("%w; %w", failed, link.ErrNoResponse)}
	}
	return failed
}

// named adds the server and the request to an error.
func (c *conn) named(req *mcp.Request, err error) error {
	return &namedError{fmt.Sprintf("server %q: %s: %v", c.options.Name, describe(req), err), err}
}

// A namedError is an error with the names of the server and the request.
type namedError struct {
	text string
	err  error
}

func (e *namedError) Error() string { return e.text }

func (e *namedError) Unwrap() error { return e.err }

// Unanswered implements [unanswered.Error].
func (e *namedError) Unanswered() {}

// A lostError is an [mcp.ErrLost] with its own text.
type lostError struct{ error }

func (e lostError) Unwrap() error { return e.error }

func (e lostError) Is(target error) bool { return target == mcp.ErrLost }

// notSent returns the error of a request that begins now, if the connection has ended.
func (c *conn) notSent(req *mcp.Request) error {
	c.mu.Lock()
	ended, closed := c.ended, errors.Is(c.lost, mcp.ErrClosed) || c.closed && !errors.Is(c.lost, mcp.ErrLost)
	c.mu.Unlock()
	switch {
	case closed:
		return c.named(req, mcp.ErrClosed)
	case ended:
		return notSentError{c.named(req, fmt.Errorf("not sent, because the connection had ended: %w", c.Err()))}
	}
	return nil
}

// A notSentError is an [mcp.ErrLost] and an [mcp.ErrNotSent] with its own text.
type notSentError struct{ error }

func (e notSentError) Unwrap() error { return e.error }

func (e notSentError) Is(target error) bool {
	return target == mcp.ErrLost || target == mcp.ErrNotSent
}

func describe(req *mcp.Request) string {
	if req.Name == "" {
		return req.Method
	}
	return fmt.Sprintf("%s %q", req.Method, req.Name)
}

// isRefusal reports whether an error means that the server refused a request, and did not fail.
func isRefusal(err error) bool {
	var status *mcp.StatusError
	if errors.As(err, &status) {
		switch status.Status {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
			return false
		}
		return status.Status >= 400 && status.Status < 500
	}
	var fault *jsonrpc.Error
	if !errors.As(err, &fault) {
		return false
	}
	switch fault.Code {
	case jsonrpc.InvalidRequest, jsonrpc.MethodNotFound, jsonrpc.InvalidParams, revision.CodeUnsupportedRevision:
		return true
	}
	return false
}
