package embeddings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
)

func endpoint(t *testing.T, h http.HandlerFunc, o Options) *Client {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	o.BaseURL = s.URL + "/v1/"
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func answering(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

func TestVectorsAreInTheOrderOfTheTexts(t *testing.T) {
	t.Parallel()
	c := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		var q request
		if err := json.UnmarshalRead(r.Body, &q); err != nil {
			t.Error(err)
		}
		if r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer secret" || q.Model != "m" || q.Format != "float" {
			t.Errorf("the request was %s %v %+v", r.URL, r.Header, q)
		}
		var parts []string
		for i, text := range slices.Backward(q.Input) {
			parts = append(parts, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,1]}`, i, len(text)))
		}
		fmt.Fprintf(w, `{"object":"list","data":[%s],"usage":{"total_tokens":1}}`, strings.Join(parts, ","))
	}, Options{Model: "m", Key: "secret"})
	got, err := c.Embed(context.Background(), []string{"a", "bb", "ccc", "dddd", "\xff"})
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]float32{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {3, 1}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAnAnswerThatDoesNotFitIsAnError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":            ``,
		"no JSON":            `<html>`,
		"no data":            `{}`,
		"too few":            `{"data":[{"index":0,"embedding":[1]}]}`,
		"an index twice":     `{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}`,
		"an index too large": `{"data":[{"index":0,"embedding":[1]},{"index":2,"embedding":[1]}]}`,
		"a negative index":   `{"data":[{"index":0,"embedding":[1]},{"index":-1,"embedding":[1]}]}`,
		"an empty vector":    `{"data":[{"index":0,"embedding":[1]},{"index":1,"embedding":[]}]}`,
		"text for a number":  `{"data":[{"index":0,"embedding":["1"]},{"index":1,"embedding":[1]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := endpoint(t, answering(text), Options{})
			if v, err := c.Embed(context.Background(), []string{"a", "b"}); err == nil {
				t.Errorf("got %v and no error", v)
			}
		})
	}
}

func TestAnAnswerWithoutEndIsGivenUp(t *testing.T) {
	t.Parallel()
	c := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		blank := make([]byte, 1<<20)
		for i := range blank {
			blank[i] = ' '
		}
		for r.Context().Err() == nil {
			if _, err := w.Write(blank); err != nil {
				return
			}
		}
	}, Options{})
	_, err := c.Embed(context.Background(), []string{"a"})
	if err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("got %v", err)
	}
}

func TestErrorsDoNotTellTheKeyOrTheAddress(t *testing.T) {
	t.Parallel()
	const key = "sk-very-secret"
	refusing := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, "bad key %s\x1b[2J", key)
	}, Options{Key: key})
	_, err := refusing.Embed(context.Background(), []string{"a"})
	if err == nil || !strings.Contains(err.Error(), "401") || strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("got %v", err)
	}
	nobody, err := New(Options{BaseURL: "http://user:" + key + "@127.0.0.1:1/v1?key=" + key, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = nobody.Embed(context.Background(), []string{"a"}); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("got %v", err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the other address was asked")
	}))
	defer other.Close()
	c := endpoint(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}, Options{Key: "k"})
	if _, err := c.Embed(context.Background(), []string{"a"}); err == nil || !strings.Contains(err.Error(), "307") {
		t.Errorf("got %v", err)
	}
}

// silent sends no response until the request is cancelled.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestARequestEndsAtItsTimeoutAndWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Options{BaseURL: "http://localhost/v1", HTTP: &http.Client{Transport: silent{}}})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := c.Embed(context.Background(), []string{"a"}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != requestTimeout {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
		start = time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if _, err := c.Embed(ctx, []string{"a"}); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

func TestOptionsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no address":         {},
		"no scheme":          {BaseURL: "localhost:8000/v1"},
		"another scheme":     {BaseURL: "file:///etc/passwd"},
		"a key of two lines": {BaseURL: "http://localhost", Key: "a\r\nX: y"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
