package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/junction-mcp/junction/internal/secret"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// Options say which model is asked, and where.
type Options struct {
	// Model is the model's name. It is needed.
	Model string
	// Provider names a preset, from which everything comes that is not set here. If
	// empty it is found by BaseURL; without that it is "openai". A name that is no
	// preset needs a BaseURL.
	Provider string
	// BaseURL is where chat/completions is, such as http://localhost:8000/v1.
	BaseURL string
	// Key is sent as the bearer token; empty sends none. KeyFunc, if set, is asked
	// for it before each request instead.
	Key     string
	KeyFunc func(context.Context) (string, error)
	// Dialect is the JSON Schema that is taken; one without a name means the
	// preset's.
	Dialect model.Dialect
	// Window, MaxTools and Price go into Info. MaxTools replaces the dialect's.
	Window, MaxTools int
	Price            model.Price
	// MaxTokens limits answers whose request has no limit; 0 leaves that to the
	// provider.
	MaxTokens int
	// Body are more members of the request, such as reasoning_effort, or options
	// with num_ctx.
	Body map[string]any
	// Headers are more headers of the request.
	Headers map[string]string
	// HTTPClient makes the requests; nil means http.DefaultClient. It is not changed.
	// Redirects are not followed, so that a key goes to no other server.
	HTTPClient *http.Client
}

// Model is a language model behind chat completions. It is safe for concurrent use.
type Model struct {
	options Options
	preset  Preset
	dialect model.Dialect
	service openai.ChatCompletionService
	learned learned
}

var _ model.Model = (*Model)(nil)

// New returns the model that the options name. Nothing is sent. It is an error if
// the name of the model is missing, or neither provider nor URL say where it is.
func New(o Options) (*Model, error) {
	preset, base, err := o.where()
	if err != nil {
		return nil, err
	}
	dialect := o.Dialect
	if dialect.Name == "" {
		dialect, _ = model.DialectNamed(preset.Dialect)
	}
	if o.MaxTools > 0 {
		dialect.MaxTools = o.MaxTools
	}
	m := &Model{options: o, preset: preset, dialect: dialect}
	// A service by itself reads no environment: the key of one provider must not go
	// to another.
	m.service = openai.NewChatCompletionService(
		option.WithBaseURL(base),
		option.WithHTTPClient(wire.Client(o.HTTPClient)),
		option.WithMaxRetries(0),
	)
	return m, nil
}

// where finds out which provider is meant and at which URL.
func (o *Options) where() (Preset, string, error) {
	if o.Model == "" {
		return Preset{}, "", errors.New("openai: the name of the model is missing; set Model")
	}
	provider := o.Provider
	if provider == "" && o.BaseURL == "" {
		provider = "openai"
	}
	preset, known := ByName(provider)
	if o.BaseURL == "" {
		if !known {
			return Preset{}, "", fmt.Errorf("openai: provider %q is not known; set BaseURL", provider)
		}
		return preset, preset.BaseURL, nil
	}
	base, err := url.Parse(o.BaseURL)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return Preset{}, "", fmt.Errorf("openai: the base URL %q is not one; it looks like https://host/v1", secret.URL(o.BaseURL))
	}
	if !known {
		preset = byURL(base)
	}
	if provider != "" {
		preset.Name = provider
	}
	return preset, o.BaseURL, nil
}

// Info describes the model.
func (m *Model) Info() model.Info {
	return model.Info{
		Provider: m.preset.Name, Name: m.options.Model, Window: m.options.Window,
		MaxTools: m.dialect.MaxTools, Price: m.options.Price, Language: true,
	}
}

// Generate asks for the next message; see [model.Model]. What the provider turns
// out not to take is left out, and the request made again; Notes tell of tools.
func (m *Model) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	if emit == nil {
		emit = func(model.Delta) {}
	}
	ctx = wire.WithTap(ctx, req.Tap)
	return wire.Insist(m.preset.Name, req, m.dialect, &m.learned, func(tools []model.Tool) (*model.Response, error) {
		return m.ask(ctx, req, tools, emit)
	})
}

// ask makes one request. A Response says that an answer had begun.
func (m *Model) ask(ctx context.Context, req *model.Request, tools []model.Tool, emit func(model.Delta)) (*model.Response, error) {
	key, err := m.key(ctx)
	if err != nil {
		return nil, &model.Error{Provider: m.preset.Name, Message: "the key could not be had", Err: err}
	}
	r := m.request(req, tools)
	var raw *http.Response
	options := []option.RequestOption{option.WithResponseBodyInto(&raw)}
	if key != "" {
		options = append(options, option.WithHeader("Authorization", "Bearer "+key))
	}
	for name, value := range m.options.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	_, err = m.service.New(ctx, r, options...)
	switch f := (&failures{provider: m.preset.Name, key: key}); {
	case raw != nil && raw.StatusCode >= 300:
		defer raw.Body.Close()
		return nil, f.answered(raw)
	case err != nil || raw == nil:
		return nil, f.unsent(ctx, err)
	default:
		defer raw.Body.Close()
		return m.receive(ctx, raw, req, emit, f)
	}
}

func (m *Model) key(ctx context.Context) (string, error) {
	if m.options.KeyFunc != nil {
		return m.options.KeyFunc(ctx)
	}
	return m.options.Key, nil
}
