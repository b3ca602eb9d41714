package wire

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/junction-mcp/junction/internal/secret"
	"github.com/junction-mcp/junction/model"
)

// Service is a provider's API: where requests go, and what it takes.
type Service struct {
	Provider string
	URL      string
	Client   *http.Client // one of [Client]
	// Key, or what KeyFunc returns if it is set, is given to Header with the headers
	// of each request.
	Key      string
	KeyFunc  func(context.Context) (string, error)
	Header   func(h http.Header, key string)
	Dialect  model.Dialect
	Refusals Refusals
	// Cause is [Failures.Cause].
	Cause func(c Complaint, status int) error
}

// BaseURL reads the URL below which an API is. The error shows like, a good one.
func BaseURL(provider, base, like string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: the base URL %q is not one; it looks like %s", provider, secret.URL(base), like)
	}
	return u, nil
}

// Exchange is how one request is written and its answer read. Body writes a request with these tools, and
// Read reads an answer that is no error; its Response is nil where nothing had come.
type Exchange struct {
	Body func(req *model.Request, tools []model.Tool) ([]byte, error)
	Read func(ctx context.Context, req *model.Request, res *http.Response, f *Failures) (*model.Response, error)
}

// Generate makes the request, and again without what is refused; see [Insist].
func (s *Service) Generate(ctx context.Context, req *model.Request, x Exchange) (*model.Response, error) {
	ctx = WithTap(ctx, req.Tap)
	return Insist(s.Provider, req, s.Dialect, s.Refusals, func(sent *model.Request, tools []model.Tool) (*model.Response, error) {
		body, err := x.Body(sent, tools)
		if err != nil {
			return nil, &model.Error{Provider: s.Provider, Message: "the request cannot be written as JSON", Err: err}
		}
		res, key, err := s.Post(ctx, body)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		f := &Failures{Provider: s.Provider, Key: key, Cause: s.Cause}
		if res.StatusCode >= 300 {
			return nil, f.Answered(res)
		}
		return x.Read(ctx, sent, res, f)
	})
}

// Post sends a request, and returns the answer, whatever its status, and the key
// that was sent. Errors are a [*model.Error].
func (s *Service) Post(ctx context.Context, body []byte) (res *http.Response, key string, err error) {
	key = s.Key
	if s.KeyFunc != nil {
		if key, err = s.KeyFunc(ctx); err != nil {
			return nil, "", &model.Error{Provider: s.Provider, Message: "the key could not be had", Err: err}
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, "", &model.Error{Provider: s.Provider, Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	s.Header(req.Header, key)
	if res, err = s.Client.Do(req); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, "", &model.Error{Provider: s.Provider, Err: err}
	}
	return res, key, nil
}

// Bearer returns a Service.Header that sends the key as a bearer token, and more
// headers.
func Bearer(more map[string]string) func(http.Header, string) {
	return func(h http.Header, key string) {
		h.Set("Accept", "application/json") // as OpenAI's libraries say, also for a stream
		if key != "" {
			h.Set("Authorization", "Bearer "+key)
		}
		for name, value := range more {
			h.Set(name, value)
		}
	}
}
