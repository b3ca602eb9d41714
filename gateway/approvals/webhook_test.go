package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// A fakeHook responds to the requests of a webhook with these statuses, the last one repeatedly.
type fakeHook struct {
	mu       sync.Mutex
	statuses []int
	at       []time.Time
	bodies   []string
}

func (f *fakeHook) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at, f.bodies = append(f.at, time.Now()), append(f.bodies, string(body))
	status := f.statuses[min(len(f.at), len(f.statuses))-1]
	if status == 0 {
		return nil, errors.New("no route to host")
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader("no")), Header: http.Header{}, Request: req}, nil
}

func TestMessagesAreRepeatedAFewTimes(t *testing.T) {
	for _, c := range []struct {
		name     string
		statuses []int
		attempts int
		outcome  string
	}{
		{"at once", []int{204}, 1, "sent"},
		{"after faults", []int{0, 503, 429, 200}, 4, "sent"},
		{"never", []int{503}, maxAttempts, "failed"},
		{"the request is wrong", []int{404}, 1, "failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				m, hook := NewMessenger(slog.New(slog.NewTextHandler(&log, nil))), &fakeHook{statuses: c.statuses}
				for range 2 {
					m.Send(Webhook{URL: "https://hooks.example/services/SECRET", HTTP: &http.Client{Transport: hook}}, Call{Name: "write", Until: time.Now().Add(time.Hour)})
					time.Sleep(time.Minute)
				}
				m.Close()
				first := len(hook.at) / 2
				if c.outcome == "sent" {
					first = len(hook.at) - 1 // the second one is sent at once
				}
				if first != c.attempts || testutil.ToFloat64(m.counts.WithLabelValues(c.outcome)) != 2 {
					t.Errorf("%d attempts, %v %s", first, testutil.ToFloat64(m.counts.WithLabelValues(c.outcome)), c.outcome)
				}
				lines := strings.Count(log.String(), "\n")
				if c.outcome == "failed" && lines != 1 || c.outcome == "sent" && lines != 0 || strings.Contains(log.String(), "SECRET") {
					t.Errorf("logged %s", log.String())
				}
			})
		})
	}
}

func TestMessagesDoNotHoldCallsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMessenger(slog.New(slog.DiscardHandler))
		block := make(chan struct{})
		hook := Webhook{URL: "https://hooks.example/", HTTP: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
			select {
			case <-block:
			case <-req.Context().Done():
			}
			return nil, context.Cause(req.Context())
		})}}
		began := time.Now()
		for range maxMessages + 10 {
			m.Send(hook, Call{Until: time.Now().Add(time.Second)})
		}
		if time.Since(began) != 0 || testutil.ToFloat64(m.counts.WithLabelValues("dropped")) < 9 {
			t.Errorf("%v, %v dropped", time.Since(began), testutil.ToFloat64(m.counts.WithLabelValues("dropped")))
		}
		m.Close()
		close(block)
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// Texts of callers and servers are no markup in a message of Slack, and arguments are in none.
func TestMessagesOfSlackHaveNoMarkupOfOthers(t *testing.T) {
	q := Call{Name: "<!channel> *x*", Server: "a&b", Caller: "<https://evil.example|click>", Arguments: "hunter2", Until: time.Unix(0, 0), Parts: []Part{{Role: "sre", Reason: strings.Repeat("y", 5000)}}}
	for _, slack := range []bool{true, false} {
		text := (&Webhook{Slack: slack, Team: "https://tools.example/team"}).body(&q)
		var v any
		if err := json.Unmarshal(text, &v); err != nil || bytes.Contains(text, []byte("hunter2")) || !bytes.Contains(text, []byte("https://tools.example/team")) {
			t.Errorf("%s: %v", text, err)
		}
		if slack && (bytes.Contains(text, []byte("mrkdwn")) || len(text) > 4000 || strings.Count(string(text), "plain_text") != 6) {
			t.Errorf("%s", text)
		}
	}
}

// A secret in the form of Standard Webhooks is base64. The values are those of its specification.
func TestMessagesAreSigned(t *testing.T) {
	h := Webhook{Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
	if got := h.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`)); got != "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=" {
		t.Errorf("got %s", got)
	}
}
