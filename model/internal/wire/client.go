package wire

import (
	"bytes"
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

type tapKey struct{}

// WithTap returns a context whose exchanges through a [Client] are reported to tap;
// nil changes nothing.
func WithTap(ctx context.Context, tap func(model.Exchange)) context.Context {
	if tap == nil {
		return ctx
	}
	return context.WithValue(ctx, tapKey{}, tap)
}

// Client returns a client like base (nil means [http.DefaultClient]) that bounds
// the size of answers and the silence within them, tells the tap of a request's
// context, and follows no redirects: a key is sent to the server it was meant for
// and to no other. base is not changed.
func Client(base *http.Client) *http.Client {
	if base == nil {
		base = http.DefaultClient
	}
	c := *base
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	c.Transport = &transport{next: c.Transport}
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

type transport struct{ next http.RoundTripper }

// RoundTrip makes the exchange under a timer that each byte winds up again.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	tap, _ := ctx.Value(tapKey{}).(func(model.Exchange))
	x := &exchange{tap: tap}
	x.begin(req)
	timer := time.AfterFunc(answerTime, func() { cancel(ErrIdle) })
	res, err := t.next.RoundTrip(x.watch(req.WithContext(ctx)))
	if err != nil {
		timer.Stop()
		x.end()
		err = because(ctx, err)
		cancel(nil)
		return nil, err
	}
	x.Status = res.StatusCode
	timer.Reset(idleTime)
	res.Body = &body{ReadCloser: res.Body, ctx: ctx, cancel: cancel, timer: timer, exchange: x}
	return res, nil
}

// because returns the cause of an end where it is ours, as the error of the
// transport says no more than that the context was canceled.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, ErrIdle) || errors.Is(cause, ErrTooLarge) {
		return cause
	}
	return err
}

// exchange collects what the tap gets.
type exchange struct {
	model.Exchange
	tap  func(model.Exchange)
	sent bytes.Buffer
	got  bytes.Buffer
}

func (x *exchange) begin(req *http.Request) {
	if x.tap == nil {
		return
	}
	x.Method = req.Method
	x.URL = (&url.URL{Scheme: req.URL.Scheme, Host: req.URL.Host, Path: req.URL.Path}).String()
}

// watch has the request's body copied while it is sent.
func (x *exchange) watch(req *http.Request) *http.Request {
	if x.tap == nil || req.GetBody == nil {
		return req
	}
	// A copy, not a tee: the transport may still be sending when the answer comes.
	if copied, err := req.GetBody(); err == nil {
		_, _ = io.Copy(&x.sent, io.LimitReader(copied, maxTapped+1))
		_ = copied.Close()
	}
	return req
}

func (x *exchange) read(p []byte) {
	if x.tap != nil {
		room := maxTapped + 1 - x.got.Len()
		x.got.Write(p[:max(0, min(len(p), room))])
	}
}

// end tells the tap, once.
func (x *exchange) end() {
	if x.tap == nil {
		return
	}
	x.RequestBody, x.ResponseBody = x.cut(&x.sent), x.cut(&x.got)
	x.tap(x.Exchange)
	x.tap = nil
}

func (x *exchange) cut(b *bytes.Buffer) []byte {
	x.Cut = x.Cut || b.Len() > maxTapped
	return b.Bytes()[:min(b.Len(), maxTapped)]
}
