package model

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/internal/idle"
)

// Limits of a [Retrying] model.
const (
	// maxAttempts is the total number of attempts of a request.
	maxAttempts = 5
	// firstPause is the first pause between attempts; each following one is twice as long. Half of
	// each pause is random, so that clients that were refused together do not return together.
	firstPause = time.Second
	// maxRetryAfter is the maximum wait that a provider may request. With a longer one the request
	// fails at once, and the user learns about it.
	maxRetryAfter = 2 * time.Minute
	// refusedAttempts is the number of attempts at an address without a listener. The usual reason
	// is a server that was not started, which the user should learn soon.
	refusedAttempts = 2
)

// Retrying returns a model that repeats requests to m. It does so if the provider is overloaded or
// limits requests, fails with a status of 5xx, or cannot be reached. It makes at most five
// attempts. Before each new one it emits a Delta with a Retry, which makes earlier deltas void, and
// waits. The wait is the longer of its own pause and the provider's request, and ends with the
// context. The Usage of attempts whose answers broke off is added to that of the Response.
//
// Permanent errors are not retried: refused keys, unknown models, invalid certificates, a used-up
// quota. An address without a listener is tried twice. An answer that broke off is requested again
// only if it had no call so far.
func Retrying(m Model) Model { return &retrying{m} }

type retrying struct{ Model }

// Generate repeats the request until it succeeds or an error is permanent.
func (r *retrying) Generate(ctx context.Context, req *Request, emit func(Delta)) (*Response, error) {
	if emit == nil {
		emit = func(Delta) {}
	}
	var spent Usage
	for attempt := 1; ; attempt++ {
		called := false // the attempt emitted a call
		res, err := r.Model.Generate(ctx, req, func(d Delta) {
			called = d.Retry == nil && (called || d.Call != nil)
			emit(d)
		})
		pause, again := after(err, attempt, called)
		if !again || ctx.Err() != nil {
			return withSpent(res, spent), err
		}
		emit(Delta{Retry: &Retry{Attempt: attempt, After: pause, Err: err}})
		if idle.Wait(ctx, pause) != nil {
			return withSpent(res, spent), err
		}
		if res != nil {
			spent = spent.Add(res.Usage)
		}
	}
}

// after returns the wait before the next attempt. It returns false if there is none.
func after(err error, attempt int, called bool) (time.Duration, bool) {
	if err == nil || called || attempt >= maxAttempts || !isTemporary(err) || attempt >= refusedAttempts && isRefused(err) {
		return 0, false
	}
	pause := firstPause << (attempt - 1)
	pause = pause/2 + rand.N(pause/2+1)
	var failure *Error
	if errors.As(err, &failure) && failure.RetryAfter > 0 {
		return max(pause, failure.RetryAfter), failure.RetryAfter <= maxRetryAfter
	}
	return pause, true
}

// isTemporary reports whether an error may be temporary.
func isTemporary(err error) bool {
	var failure *Error
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &failure) {
		return false
	}
	switch {
	case failure.Code == "insufficient_quota", errors.Is(err, ErrUnauthorized), errors.Is(err, ErrWindow), errors.Is(err, ErrNoModel), errors.Is(err, ErrBadTool):
		return false
	case errors.Is(err, ErrRateLimited), errors.Is(err, ErrOverloaded), errors.Is(err, ErrBroken):
		return true
	case failure.Status == 0:
		return isConnection(failure.Err)
	}
	return failure.Status == 408 || failure.Status >= 500 && failure.Status != 501 && failure.Status != 505
}

// isConnection reports whether the connection failed for another reason than the server's
// certificate.
func isConnection(err error) bool {
	var network net.Error
	var certificate *tls.CertificateVerificationError
	return !errors.As(err, &certificate) && (errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
}

// isRefused reports whether the address has no listener, or the host is unknown.
func isRefused(err error) bool {
	var unknown *net.DNSError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &unknown) && unknown.IsNotFound
}

func withSpent(res *Response, spent Usage) *Response {
	if res == nil || spent == (Usage{}) {
		return res
	}
	sum := *res
	sum.Usage = sum.Usage.Add(spent)
	return &sum
}
