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

// How a [Retrying] model waits.
const (
	// maxAttempts is how often a request is made in all.
	maxAttempts = 5
	// firstPause is the first pause between attempts; each next is twice as long. Half of each is
	// random, so that many who were refused together do not come back together.
	firstPause = time.Second
	// maxRetryAfter is the longest wait that a provider can ask for. If it asks for
	// more, the request fails at once: a person should know.
	maxRetryAfter = 2 * time.Minute
	// refusedAttempts is how often a server is asked at whose address nobody
	// listens: most often it was not started, which a person should hear soon.
	refusedAttempts = 2
)

// Retrying returns a model that makes requests to m again when the provider is
// overloaded or limits requests, fails with a status of 5xx, or cannot be reached: five times in all.
// Each time it emits a Delta with a Retry, after which what was emitted before is
// void, and waits. It waits as long as the provider asks, if that is longer than
// its own pause. The end of the context ends the wait. The Usage of attempts whose
// answers broke off is added to that of the Response.
//
// What cannot get better is not tried again: refused keys, unknown models,
// certificates, a spent quota. An address at which nobody listens is tried twice.
// An answer that broke off is asked for again if only text of it had come, and no call.
func Retrying(m Model) Model { return &retrying{m} }

type retrying struct{ Model }

// Generate asks until there is an answer, or it makes no sense to go on.
func (r *retrying) Generate(ctx context.Context, req *Request, emit func(Delta)) (*Response, error) {
	if emit == nil {
		emit = func(Delta) {}
	}
	var spent Usage
	for attempt := 1; ; attempt++ {
		called := false // it has emitted a call
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

// after says how long to wait before the next attempt, and whether there is one.
func after(err error, attempt int, called bool) (time.Duration, bool) {
	if err == nil || called || attempt >= maxAttempts || !passes(err) || attempt >= refusedAttempts && isRefused(err) {
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

// passes says whether an error can be another one the next time.
func passes(err error) bool {
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

// isConnection says whether an error is of the connection, and not of what was found at its other end.
func isConnection(err error) bool {
	var network net.Error
	var certificate *tls.CertificateVerificationError
	return !errors.As(err, &certificate) && (errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF))
}

// isRefused says whether nobody listens, or nobody knows the host.
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
