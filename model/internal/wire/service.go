package wire

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/model"
)

// MaxAttempts is in how many forms one request is made: each time without what the
// provider refused before.
const MaxAttempts = 12

// Service is a provider's API: where requests go, and what it takes.
type Service struct {
	Provider string
	URL      string
	Client   *http.Client // one of [Client]
	Key      string
	Header   func(h http.Header, key string) // sets the headers of a request
	Dialect  model.Dialect
	Learned  Learned

	// Body writes a request with these tools, without what was learned.
	Body func(req *model.Request, tools []model.Tool) ([]byte, error)
	// Begin begins to put an answer together.
	Begin func(a *Answer) Assembly
}

// BaseURL reads the URL below which an API is. The error shows like, a good one.
func BaseURL(provider, base, like string) (*url.URL, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s: the base URL %q is not one; it looks like %s", provider, redact.URL(base), like)
	}
	return u, nil
}

// Generate makes the request, and again without what is refused; see [model.Model].
func (s *Service) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if emit == nil {
		emit = func(model.Delta) {}
	}
	return s.insist(req, func(sent *model.Request, tools []model.Tool) (*model.Response, error) {
		return s.ask(ctx, sent, tools, emit)
	})
}

// insist makes a request with ask, whose Response says that an answer had begun, and
// again without what was refused. Notes of the Response tell of tools and pictures.
func (s *Service) insist(req *model.Request, ask func(req *model.Request, tools []model.Tool) (*model.Response, error)) (*model.Response, error) {
	tools, notes := model.Lower(req.Tools, s.Dialect)
	tools, aside := s.Learned.without(tools)
	notes = append(notes, aside...)
	var last error
	for range MaxAttempts {
		sent := s.Learned.sendable(req, &s.Dialect)
		res, err := ask(sent, tools)
		if res != nil {
			res.Notes = notes
			return res, err
		}
		next, more, again := s.Learned.from(err, tools)
		if !again {
			more, again = s.Learned.fromPictures(err, sent)
		}
		if !again {
			return nil, err
		}
		tools, notes, last = next, append(notes, more...), err
	}
	return nil, &model.Error{Provider: s.Provider, Message: fmt.Sprintf("the request was refused in %d forms, at last: %v", MaxAttempts, last), Err: model.ErrBadTool}
}

// ask makes a request in one form, and reads the answer. The Response is nil where nothing of one had come.
func (s *Service) ask(ctx context.Context, req *model.Request, tools []model.Tool, emit func(model.Delta)) (*model.Response, error) {
	body, err := s.Body(req, tools)
	if err != nil {
		return nil, &model.Error{Provider: s.Provider, Message: "the request cannot be written as JSON", Err: err}
	}
	post, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, &model.Error{Provider: s.Provider, Err: err}
	}
	post.Header.Set("Content-Type", "application/json")
	s.Header(post.Header, s.Key)
	res, err := do(s.Client, post, body, req.Tap)
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, &model.Error{Provider: s.Provider, Err: err}
	}
	defer res.Body.Close()
	if res.StatusCode >= 300 {
		return nil, s.answered(res)
	}
	a := &Answer{Provider: s.Provider, Emit: emit, IDs: NewIDs(req)}
	assembly := s.Begin(a)
	failed := s.problem(ctx, a, a.read(res, assembly))
	if !a.Begun {
		return nil, failed
	}
	return a.response(req, assembly.Message(failed != nil), failed != nil), failed
}

// Bearer sends the key as a bearer token.
func Bearer(h http.Header, key string) {
	h.Set("Accept", "application/json") // as OpenAI's libraries say, also for a stream
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}
