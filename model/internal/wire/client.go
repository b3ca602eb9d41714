package wire

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/junction-mcp/junction/model"
)

// What a provider can make grow, and how long it is waited for.
const (
	// maxAnswer is how many bytes one answer may have, as it comes on the wire.
	maxAnswer = 64 << 20
	// MaxEvent is how many bytes one event of a stream, or an answer that is no
	// stream, may have.
	MaxEvent = 16 << 20
	// maxTapped is how many bytes of each body an Exchange keeps.
	maxTapped = 4 << 20
	// answerTime is how long the first byte of an answer may take: a model on the
	// user's own machine may have to be loaded first.
	answerTime = 10 * time.Minute
	// idleTime is how long a stream may be silent.
	idleTime = 5 * time.Minute
)

// What went wrong with the answer itself.
var (
	ErrIdle     = errors.New("the provider fell silent")
	ErrTooLarge = errors.New("the answer is larger than 64 MiB")
)

// Client returns a client like base (nil means [http.DefaultClient]) that
// follows no redirects: a key is sent to the server it was meant for
// and to no other. base is not changed.
func Client(base *http.Client) *http.Client {
	base = cmp.Or(base, http.DefaultClient)
	c := *base
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// exchange is a request and its answer, whose body it is: bounded in size and silence.
type exchange struct {
	model.Exchange
	tap    func(model.Exchange)
	ctx    context.Context
	cancel context.CancelCauseFunc
	timer  *time.Timer // that each byte winds up again
	body   io.ReadCloser
	size   int64
	got    bytes.Buffer
}

// do makes a request with a body. The tap learns of it when it has failed, or the body of the answer is
// closed; it may be nil.
func do(client *http.Client, req *http.Request, body []byte, tap func(model.Exchange)) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	x := &exchange{tap: tap, ctx: ctx, cancel: cancel, body: http.NoBody}
	x.Method, x.URL = req.Method, (&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: req.URL.Path}).String()
	x.RequestBody, x.Cut = body[:min(len(body), maxTapped)], len(body) > maxTapped
	x.timer = time.AfterFunc(answerTime, func() { cancel(ErrIdle) })
	res, err := client.Do(req.WithContext(ctx))
	if err != nil {
		err = x.because(err)
		_ = x.Close()
		return nil, err
	}
	x.Status = res.StatusCode
	x.timer.Reset(idleTime)
	x.body, res.Body = res.Body, x
	return res, nil
}

// because returns the cause of an end where it is ours, as the error of the
// transport says no more than that the context was canceled.
func (x *exchange) because(err error) error {
	if cause := context.Cause(x.ctx); errors.Is(cause, ErrIdle) || errors.Is(cause, ErrTooLarge) {
		return cause
	}
	return err
}

// Read reads on. The error is ErrIdle or ErrTooLarge where a limit was the cause.
func (x *exchange) Read(p []byte) (int, error) {
	n, err := x.body.Read(p)
	if n > 0 {
		x.timer.Reset(idleTime)
	}
	if x.tap != nil {
		room := maxTapped - x.got.Len()
		x.got.Write(p[:min(n, room)])
		x.Cut = x.Cut || n > room
	}
	x.size += int64(n)
	if x.size > maxAnswer {
		x.cancel(ErrTooLarge)
		return 0, ErrTooLarge
	}
	if err != nil && err != io.EOF {
		err = x.because(err)
	}
	return n, err
}

// Close ends the exchange and tells its tap, once.
func (x *exchange) Close() error {
	x.timer.Stop()
	err := x.body.Close()
	x.cancel(nil)
	if x.tap != nil {
		x.ResponseBody = x.got.Bytes()
		x.tap(x.Exchange)
		x.tap = nil
	}
	return err
}
