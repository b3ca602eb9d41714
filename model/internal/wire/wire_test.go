package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/model"
)

// answering is a transport that is a function.
type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) { return a(req) }

func ok(body io.Reader) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(body)}
}

func post(t *testing.T, ctx context.Context, tap func(model.Exchange), a answering, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://user:pass@host/v1/chat?key=secret", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return do(Client(&http.Client{Transport: a}), req, []byte(body), tap)
}

func TestTapSeesRequestsAndResponses(t *testing.T) {
	t.Parallel()
	var reported []model.Exchange
	res, err := post(t, t.Context(), func(x model.Exchange) { reported = append(reported, x) }, func(req *http.Request) (*http.Response, error) {
		if got, _ := io.ReadAll(req.Body); string(got) != "asked" {
			t.Errorf("the provider got %q", got)
		}
		return ok(strings.NewReader("answered")), nil
	}, "asked")
	if err != nil {
		t.Fatal(err)
	}
	if len(reported) > 0 {
		t.Error("the tap was called before the end")
	}
	_, _ = io.ReadAll(res.Body)
	_ = res.Body.Close()
	_ = res.Body.Close()
	if len(reported) != 1 {
		t.Fatalf("the tap was called %d times", len(reported))
	}
	x := reported[0]
	if x.Method != "POST" || x.URL != "https://host/v1/chat" || x.Status != 200 || string(x.RequestBody) != "asked" || string(x.ResponseBody) != "answered" || x.Cut {
		t.Errorf("%+v", x)
	}
}

func TestTapGetsFailures(t *testing.T) {
	t.Parallel()
	var reported []model.Exchange
	_, err := post(t, t.Context(), func(x model.Exchange) { reported = append(reported, x) }, func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, "asked")
	if !errors.Is(err, io.ErrUnexpectedEOF) || len(reported) != 1 || reported[0].Status != 0 || string(reported[0].RequestBody) != "asked" {
		t.Errorf("%v %+v", err, reported)
	}
}

func TestTapKeepsLongBodiesCut(t *testing.T) {
	t.Parallel()
	var reported model.Exchange
	long := bytes.Repeat([]byte("x"), maxTapped+10)
	res, err := post(t, t.Context(), func(x model.Exchange) { reported = x }, func(*http.Request) (*http.Response, error) { return ok(bytes.NewReader(long)), nil }, string(long))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := io.Copy(io.Discard, res.Body); n != maxTapped+10 {
		t.Errorf("%d bytes came", n)
	}
	_ = res.Body.Close()
	if len(reported.RequestBody) != maxTapped || len(reported.ResponseBody) != maxTapped || !reported.Cut {
		t.Errorf("%d and %d bytes, cut %v", len(reported.RequestBody), len(reported.ResponseBody), reported.Cut)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestAnswersHaveALimit(t *testing.T) {
	t.Parallel()
	res, err := post(t, t.Context(), nil, func(*http.Request) (*http.Response, error) { return ok(endless{}), nil }, "")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if !errors.Is(err, ErrTooLarge) || n > maxAnswer {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// silent is a body that ends with its request's context.
type silent struct {
	ctx   context.Context
	after []time.Duration
}

func (s *silent) Read(p []byte) (int, error) {
	if len(s.after) == 0 {
		<-s.ctx.Done()
		return 0, s.ctx.Err()
	}
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(s.after[0]):
		s.after = s.after[1:]
		return copy(p, "x"), nil
	}
}

func TestSilenceEndsAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		res, err := post(t, t.Context(), nil, func(req *http.Request) (*http.Response, error) {
			return ok(&silent{ctx: req.Context(), after: []time.Duration{4 * time.Minute, 4 * time.Minute}}), nil
		}, "")
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if string(got) != "xx" || !errors.Is(err, ErrIdle) || time.Since(start) != 8*time.Minute+idleTime {
			t.Errorf("%q, %v after %v", got, err, time.Since(start))
		}
	})
}

func TestSilenceBeforeTheAnswerEndsTheRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := post(t, t.Context(), nil, func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		}, "")
		if !errors.Is(err, ErrIdle) || time.Since(start) != answerTime {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	asked := 0
	res, err := post(t, t.Context(), nil, func(*http.Request) (*http.Response, error) {
		asked++
		return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"https://other/"}}, Body: http.NoBody}, nil
	}, "")
	if err != nil || res.StatusCode != http.StatusTemporaryRedirect || asked != 1 {
		t.Errorf("asked %d times: %v", asked, err)
	}
	_ = res.Body.Close()
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", " 1.5 ", 1500 * time.Millisecond},
		{"Retry-After", "Wed, 02 Jan 2030 03:05:05 GMT", time.Minute},
		{"Retry-After", "Wed, 02 Jan 2030 03:03:05 GMT", 0},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After", "-3", 0},
		{"Retry-After", "1e300", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "soon", 0},
		{"X", "", 0},
	} {
		if got := RetryAfter(http.Header{test.name: {test.value}}, now); got != test.want {
			t.Errorf("%s: %s is %v, not %v", test.name, test.value, got, test.want)
		}
	}
}

func TestTextHasNoSecretsAndAnEnd(t *testing.T) {
	t.Parallel()
	if got := Text(" no key sk-abcdef here\xff ", "sk-abcdef", ""); got != "no key [key] here\ufffd" {
		t.Errorf("%q", got)
	}
	if got := Text(strings.Repeat("é", 5000)); len(got) > maxErrorText+4 || !strings.HasSuffix(got, "é…") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestSetArguments(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, written, want, malformed string }{
		{"an object", ` {"a": 1} `, `{"a": 1}`, ""},
		{"nothing", "", "{}", ""},
		{"blanks", " \n", "{}", ""},
		{"null", "null", "{}", ""},
		{"an object in a string", `"{\"a\":\"é\"}"`, `{"a":"é"}`, ""},
		{"an empty string in a string", `""`, "{}", ""},
		{"a list", "[1]", "{}", "not a JSON object"},
		{"a string", `"a"`, "{}", "not a JSON object"},
		{"half an object", `{"a":`, "{}", "not valid JSON"},
		{"two objects", `{}{}`, "{}", "not valid JSON"},
		{"one name twice", `{"a":1,"a":2}`, "{}", "not valid JSON"},
		{"bytes that are no text", "{\"a\":\"\xff\"}", "{}", "not valid JSON"},
		{"more than anybody needs", `{"a":"` + strings.Repeat("x", maxArguments) + `"}`, "{}", "longer than 4 MiB"},
	} {
		var c model.Call
		SetArguments(&c, test.written)
		if string(c.Arguments) != test.want || !strings.Contains(c.Malformed, test.malformed) || (test.malformed == "") != (c.Malformed == "") {
			t.Errorf("%s: %s, %q", test.name, c.Arguments, c.Malformed)
		}
		if c.Malformed != "" && c.Raw != test.written {
			t.Errorf("%s: what was written is lost", test.name)
		}
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]error{
		401: model.ErrUnauthorized, 403: model.ErrUnauthorized, 429: model.ErrRateLimited, 503: model.ErrOverloaded, 529: model.ErrOverloaded, 400: nil, 500: nil,
	} {
		if got := Sentinel(status); got != want {
			t.Errorf("%d is %v, not %v", status, got, want)
		}
	}
}
