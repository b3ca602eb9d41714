package model_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/model"
)

// An attempt is the reaction of a fallible model to one request.
type attempt struct {
	emits []model.Delta
	res   *model.Response
	err   error
}

// fallible is a model that follows a script and records the times of requests.
type fallible struct {
	attempts []attempt
	asked    []time.Time
}

func (f *fallible) Info() model.Info { return model.Info{Name: "fallible"} }

func (f *fallible) Generate(_ context.Context, _ *model.Request, emit func(model.Delta)) (*model.Response, error) {
	a := f.attempts[min(len(f.asked), len(f.attempts)-1)]
	f.asked = append(f.asked, time.Now())
	for _, d := range a.emits {
		emit(d)
	}
	return a.res, a.err
}

func answer(text string) attempt {
	return attempt{res: &model.Response{Message: assistant(model.Part{Text: text}), Usage: model.Usage{Input: 10, Output: 1}}}
}

func status(code int, err error) attempt {
	return attempt{err: &model.Error{Provider: "p", Status: code, Err: err}}
}

func TestRetryingRepeatsTemporaryFailures(t *testing.T) {
	t.Parallel()
	connection := func(err error) attempt {
		return attempt{err: &model.Error{Provider: "p", Err: &url.Error{Op: "Post", URL: "http://p", Err: err}}}
	}
	for _, test := range []struct {
		name     string
		fails    attempt
		attempts int
	}{
		{"too many requests", status(429, model.ErrRateLimited), 5},
		{"an overloaded provider", status(529, model.ErrOverloaded), 5},
		{"a gateway's error", status(502, nil), 5},
		{"a timeout", status(408, nil), 5},
		{"a reset connection", connection(syscall.ECONNRESET), 5},
		{"a server that is not there is asked twice", connection(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), 2},
		{"a host that nobody knows is asked twice", connection(&net.DNSError{IsNotFound: true}), 2},
		{"an answer that broke off before anything came", status(0, model.ErrBroken), 5},
		{"a refused key", status(401, model.ErrUnauthorized), 1},
		{"an unknown model", status(404, model.ErrNoModel), 1},
		{"a conversation that is too long", status(400, model.ErrWindow), 1},
		{"a wrong request", status(400, nil), 1},
		{"a method that is not implemented", status(501, nil), 1},
		{"a certificate that is not valid", connection(&tls.CertificateVerificationError{Err: errors.New("unknown authority")}), 1},
		{"a spent quota", attempt{err: &model.Error{Status: 429, Code: "insufficient_quota", Err: model.ErrRateLimited}}, 1},
		{"a canceled request", attempt{err: &model.Error{Err: context.Canceled}}, 1},
		{"an error of no provider", attempt{err: errors.New("out of memory")}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fallible{attempts: []attempt{test.fails}}
				_, err := model.Retrying(f).Generate(t.Context(), &model.Request{}, nil)
				if len(f.asked) != test.attempts || !errors.Is(err, test.fails.err) {
					t.Errorf("%d attempts, not %d, and %v", len(f.asked), test.attempts, err)
				}
			})
		})
	}
}

func TestRetryingWaitsLongerEachTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fallible{attempts: []attempt{status(503, model.ErrOverloaded)}}
		m := model.Retrying(f)
		if _, err := m.Generate(t.Context(), &model.Request{}, nil); err == nil {
			t.Fatal("no error")
		}
		for i, most := range []time.Duration{1, 2, 4, 8} {
			most *= time.Second
			if pause := f.asked[i+1].Sub(f.asked[i]); pause < most/2 || pause > most {
				t.Errorf("pause %d is %v, not between %v and %v", i, pause, most/2, most)
			}
		}
	})
}

func TestRetryingWaitsAsLongAsTheProviderAsks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		after time.Duration
		asked int
		waits time.Duration
	}{{40 * time.Second, 2, 40 * time.Second}, {3 * time.Minute, 1, 0}} {
		t.Run(fmt.Sprint(test.after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fallible{attempts: []attempt{{err: &model.Error{Status: 429, RetryAfter: test.after, Err: model.ErrRateLimited}}, answer("ok")}}
				start := time.Now()
				_, _ = model.Retrying(f).Generate(t.Context(), &model.Request{}, nil)
				if len(f.asked) != test.asked || time.Since(start) != test.waits {
					t.Errorf("%d attempts within %v", len(f.asked), time.Since(start))
				}
			})
		})
	}
}

func TestRetryingVoidsEmittedText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := attempt{
			emits: []model.Delta{{Reasoning: "hm"}, {Text: "Hal"}},
			res:   &model.Response{Usage: model.Usage{Input: 10, Output: 2}},
			err:   &model.Error{Err: model.ErrBroken},
		}
		good := answer("Hello")
		good.emits = []model.Delta{{Text: "Hello"}}
		var got []model.Delta
		m := model.Retrying(&fallible{attempts: []attempt{broken, good}})
		res, err := m.Generate(t.Context(), &model.Request{}, func(d model.Delta) { got = append(got, d) })
		if err != nil || res.Usage != (model.Usage{Input: 20, Output: 3}) {
			t.Errorf("%v, usage %+v; the broken attempt was paid for too", err, res.Usage)
		}
		if len(got) != 4 || got[2].Retry == nil || got[2].Retry.Attempt != 1 || got[2].Retry.After <= 0 || !reflect.DeepEqual(got[3], model.Delta{Text: "Hello"}) {
			t.Errorf("emitted %+v", got)
		}
		if m.Info().Name != "fallible" {
			t.Error("Info is not the model's")
		}
	})
}

func TestRetryingAnAnswerThatBrokeOff(t *testing.T) {
	t.Parallel()
	text, call := model.Delta{Text: "a"}, model.Delta{Call: &model.CallDelta{ID: "1", Name: "n"}}
	for _, test := range []struct {
		emits []model.Delta
		asked int
	}{
		{nil, 2},
		{[]model.Delta{text}, 2},
		{[]model.Delta{text, call}, 1},
		{[]model.Delta{call, {Retry: &model.Retry{}}, text}, 2},
	} {
		t.Run(fmt.Sprintf("after %d pieces", len(test.emits)), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fallible{attempts: []attempt{{emits: test.emits, err: &model.Error{Err: model.ErrBroken}}, answer("ok")}}
				_, _ = model.Retrying(f).Generate(t.Context(), &model.Request{}, nil)
				if len(f.asked) != test.asked {
					t.Errorf("%d attempts, not %d", len(f.asked), test.asked)
				}
			})
		})
	}
}

func TestRetryingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		f := &fallible{attempts: []attempt{status(500, nil)}}
		start := time.Now()
		_, err := model.Retrying(f).Generate(ctx, &model.Request{}, nil)
		if len(f.asked) != 1 || err == nil || time.Since(start) != 100*time.Millisecond {
			t.Errorf("%d attempts within %v: %v", len(f.asked), time.Since(start), err)
		}
	})
}
