package httplink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/pipe"
)

const (
	maxErrorBody = 64 << 10 // bytes to read of the body of an error
	maxShown     = 300      // runes of it to show

	shortMessage = 64 << 10 // bytes of a message that is read at once
	maxKept      = 2 << 20  // bytes of a buffer kept to read longer ones

	discardTime = 250 * time.Millisecond // time for reading the rest of an unused body
)

// The media types of responses.
const (
	JSON        = "application/json"
	EventStream = "text/event-stream"
)

// ErrTooLong is wrapped by the errors of bodies that exceed the limit.
var ErrTooLong = errors.New("message too long")

// ErrOtherForm is the error of a body that does not match its Content-Type; see [Expect].
var ErrOtherForm = errors.New("the body is not of its content type")

// MediaType returns the media type of a response in lower case. If the header is invalid, it
// returns the part before the first semicolon.
func MediaType(resp *http.Response) string {
	given := resp.Header.Get("Content-Type")
	if mediaType, _, err := mime.ParseMediaType(given); err == nil || errors.Is(err, mime.ErrInvalidMediaParameter) {
		return mediaType
	}
	kind, _, _ := strings.Cut(given, ";")
	return strings.ToLower(strings.TrimSpace(kind))
}

// OK reports whether the status means success.
func OK(resp *http.Response) bool { return resp.StatusCode >= 200 && resp.StatusCode < 300 }

// StatusError returns the error for a status that does not mean success. It also returns the id of
// the JSON-RPC error in the body, if there is one. It reads a part of the body and closes it.
func (e *Endpoint) StatusError(resp *http.Response) (status *mcp.StatusError, id jsonrpc.ID) {
	defer resp.Body.Close()
	err := &mcp.StatusError{Status: resp.StatusCode, Header: resp.Header, URL: e.Name}
	if resp.Request != nil {
		err.Method = resp.Request.Method
	}
	body, unread := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	body = bytes.TrimPrefix(body, []byte(ByteOrderMark))
	if m, fault := pipe.Parse(body); fault == nil && m.Error != nil {
		err.Fault = &mcp.Error{Code: m.Error.Code, Message: m.Error.Message, Data: m.Error.Data}
		id = m.ID
	}
	if err.Body = plaintext.Line(strings.TrimSpace(string(body)), maxShown); errors.Is(unread, errCoding) {
		err.Body = unread.Error()
	}
	return err, id
}

// SessionLost reports whether the refusal of a request within a session means that the server lost
// the session. The status for that is 404 (2025-11-25 basic/transports, session management).
// Several SDKs send 400 with a text, which may repeat input of a client. In that case, the caller
// must confirm the loss with [Endpoint.Knows]. An error with the id of the request (answered) is
// its response, unless it is a 404 that mentions the session.
func SessionLost(status *mcp.StatusError, answered bool) bool {
	text := strings.ToLower(status.Body)
	named := strings.Contains(text, "session") || strings.Contains(text, "not initialized")
	switch status.Status {
	case http.StatusNotFound:
		return !answered || named
	case http.StatusBadRequest:
		return !answered && named
	}
	return false
}

// knowsTime is the timeout of the check whether a server knows a session.
const knowsTime = 5 * time.Second

// Knows reports whether the server at u knows the session in header or u. It sends a ping, which
// contains no data of a client. It returns false only if the server refuses the ping.
func (e *Endpoint) Knows(ctx context.Context, u *url.URL, header http.Header) bool {
	ctx, cancel := context.WithTimeout(ctx, knowsTime)
	defer cancel()
	header = header.Clone()
	header.Set("Content-Type", JSON)
	header.Set("Accept", JSON+", "+EventStream)
	resp, err := e.Do(ctx, http.MethodPost, u, header, jsonrpc.AppendRequest(nil, jsonrpc.StringID("session"), "ping", nil))
	if err != nil {
		return true
	}
	Discard(resp)
	return resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusNotFound
}

// ReadMessage reads a body that consists of one message.
func (e *Endpoint) ReadMessage(resp *http.Response) ([]byte, error) {
	if n := resp.ContentLength; n > 0 && n <= min(shortMessage, int64(e.MaxMessage)) {
		body := make([]byte, n)
		_, err := io.ReadFull(resp.Body, body)
		return body, err
	}
	long, _ := e.long.Get().(*bytes.Buffer)
	if long == nil {
		long = new(bytes.Buffer)
	}
	defer func() {
		if long.Cap() <= maxKept {
			long.Reset()
			e.long.Put(long)
		}
	}()
	if _, err := long.ReadFrom(io.LimitReader(resp.Body, int64(e.MaxMessage)+1)); err != nil {
		return nil, err
	}
	if long.Len() > e.MaxMessage {
		return nil, fmt.Errorf("%w: over %d bytes", ErrTooLong, e.MaxMessage)
	}
	return bytes.Clone(long.Bytes()), nil
}

// Discard closes an unused body. If the body is short, Discard first reads it for at most
// discardTime, so that the connection can be reused.
func Discard(resp *http.Response) {
	defer resp.Body.Close()
	if resp.ContentLength > 0 && resp.ContentLength <= maxErrorBody {
		defer time.AfterFunc(discardTime, func() { resp.Body.Close() }).Stop()
		io.Copy(io.Discard, resp.Body)
	}
}
