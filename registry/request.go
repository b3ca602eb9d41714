package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
)

const (
	// answerTimeout is the time limit for a response, from connecting to the last byte.
	answerTimeout = 30 * time.Second
	// maxTries is the largest number of attempts if failures are temporary.
	maxTries = 3
	// firstPause is the pause before the second attempt. It doubles before each further one. The
	// registry may request a longer pause with Retry-After, up to lastPause.
	firstPause = 500 * time.Millisecond
	lastPause  = 20 * time.Second
	// maxRefusal is the largest number of bytes that are read from an error response.
	maxRefusal = 16 << 10
	// maxRedirects is the largest number of redirects that are followed.
	maxRedirects = 5
	// maxTokenLength is the largest length of a token in bytes.
	maxTokenLength = 16 << 10
)

var errRedirect = errors.New("it redirects")

// newHTTP returns the default HTTP client. It does not follow redirects from https to http, which
// would reveal the token.
func newHTTP() *http.Client {
	return &http.Client{CheckRedirect: func(to *http.Request, via []*http.Request) error {
		switch {
		case len(via) > maxRedirects:
			return fmt.Errorf("%w more than %d times", errRedirect, maxRedirects)
		case to.URL.Scheme == "http" && via[0].URL.Scheme == "https":
			return fmt.Errorf("%w from https to http://%s", errRedirect, to.URL.Host)
		}
		return nil
	}}
}

// passingError reports a temporary failure.
type passingError struct {
	err  error
	wait time.Duration // pause that the registry requests; 0 means none
}

func (e *passingError) Error() string { return e.err.Error() }
func (e *passingError) Unwrap() error { return e.err }

// read gets a resource of the API. It repeats the request after temporary failures.
func (c *Client) read(ctx context.Context, path string, q url.Values) (json.RawMessage, error) {
	pause := firstPause
	for try := 1; ; try++ {
		body, err := c.once(ctx, http.MethodGet, path, q, nil)
		var passing *passingError
		if err == nil || !errors.As(err, &passing) || try == maxTries {
			return body, err
		}
		select {
		case <-time.After(min(max(pause, passing.wait), lastPause)):
		case <-ctx.Done():
			return nil, err
		}
		pause *= 2
	}
}

// once sends one request.
func (c *Client) once(ctx context.Context, method, path string, q url.Values, send []byte) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	address := c.base.String() + "/v0.1" + path
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(send))
	if err != nil {
		return nil, fmt.Errorf("registry %s: %w", c, err)
	}
	req.Header.Set("Accept", "application/json")
	if send != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.options.Token != nil {
		token, err := c.options.Token(ctx)
		if err == nil && (token == "" || len(token) > maxTokenLength || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })) {
			err = errors.New("it is empty, too long, or contains a space or a character that is not printable ASCII")
		}
		if err != nil {
			return nil, fmt.Errorf("registry %s: its token: %w", c, err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.options.HTTP.Do(req)
	if err != nil {
		var failed *url.Error // the text of a url.Error contains the address
		if errors.As(err, &failed) {
			err = failed.Err
		}
		err = fmt.Errorf("registry %s cannot be reached: %w", c, err)
		if errors.Is(err, errRedirect) {
			return nil, err
		}
		return nil, &passingError{err: err}
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		return nil, c.refusal(response)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxPage+1))
	switch {
	case err != nil:
		return nil, &passingError{err: fmt.Errorf("registry %s broke off its answer: %w", c, err)}
	case len(body) > maxPage:
		return nil, fmt.Errorf("registry %s %w: more than %d MiB at once", c, ErrGarbage, maxPage>>20)
	}
	body = bytes.TrimSpace(body)
	if _, fault := jsonrpc.Index(body, jsonrpc.Limits{Members: maxPageEntries}); fault != nil {
		return nil, fmt.Errorf("registry %s %w: %s; check its URL: the answer begins with %q", c, ErrGarbage, fault.Message, plaintext.Line(string(body[:min(len(body), 300)]), 60))
	}
	return body, nil
}

// refusal returns the error for a response with an error status.
func (c *Client) refusal(response *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxRefusal)) // an error only shortens the text
	err := fmt.Errorf("registry %s answers %s%s", c, response.Status, errorMessage(text))
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("registry %s %w; it answers %s%s", c, ErrToken, response.Status, errorMessage(text))
	case http.StatusNotFound:
		return fmt.Errorf("registry %s: %w: it answers %s%s", c, ErrNotFound, response.Status, errorMessage(text))
	case http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		wait, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a date is ignored
		return &passingError{err: err, wait: time.Duration(min(max(wait, 0), int(lastPause/time.Second))) * time.Second}
	}
	return err
}

// errorMessage returns the message in an error response. The response has the format of RFC 9457,
// and may list single faults in "errors".
func errorMessage(text []byte) string {
	if _, fault := jsonrpc.Index(text, jsonrpc.Limits{}); fault != nil {
		return ""
	}
	var words []string
	note := func(message, location json.RawMessage) {
		word, _ := jsonrpc.Unquote(message)
		at, _ := jsonrpc.Unquote(location)
		if at = strings.TrimPrefix(at, "body."); at != "" && at != "body" {
			word = strings.TrimSpace(at + ": " + word)
		}
		if word != "" {
			words = append(words, plaintext.Line(word, 300))
		}
	}
	note(jsonrpc.Get(text, "detail"), nil)
	var faults []json.RawMessage
	if list := jsonrpc.Get(text, "errors"); list != nil {
		faults, _ = jsonrpc.SplitBatch(list, maxFaults, jsonrpc.Limits{})
	}
	for _, fault := range faults {
		note(jsonrpc.Get(fault, "message"), jsonrpc.Get(fault, "location"))
	}
	if len(words) == 0 {
		return ""
	}
	return ": " + strings.Join(words, "; ")
}
