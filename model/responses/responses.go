package responses

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

const (
	// Provider is the name under which this adapter stores OpenAI's own data in messages. For
	// another server the name is followed by @ and the host.
	Provider       = "responses"
	defaultBaseURL = "https://api.openai.com/v1"
)

// Options configures a Model and its service.
type Options struct {
	// Model is the model's name. It is required.
	Model string
	// BaseURL is the URL below which responses is found, such as http://localhost:8000/v1; empty
	// means OpenAI's own.
	BaseURL string
	// Key is sent as the bearer token; if it is empty, none is sent.
	Key string
	// Window and Price are returned by Info.
	Window int
	Price  model.Price
	// MaxTokens limits answers to requests without a limit; with 0 the provider decides.
	MaxTokens int
	// Body holds additional members for the request, such as reasoning with effort or summary.
	Body map[string]any
	// HTTPClient sends the requests; nil means http.DefaultClient. It is not changed, and redirects
	// are not followed, so that the key goes to no other server. Use its transport to add headers,
	// or a different key for each request.
	HTTPClient *http.Client
}

// A Model is a language model behind the Responses API. It is safe for concurrent use.
type Model struct {
	options  Options
	provider string
	service  wire.Service
}

var _ model.Model = (*Model)(nil)

// New returns the model named in the options. It sends nothing. It returns an error if the model's
// name is missing or the URL is malformed.
func New(o Options) (*Model, error) {
	if o.Model == "" {
		return nil, errors.New("responses: the name of the model is missing; set Model")
	}
	base, err := wire.BaseURL("responses", cmp.Or(o.BaseURL, defaultBaseURL), "https://host/v1")
	if err != nil {
		return nil, err
	}
	m := &Model{options: o, provider: Provider}
	if own, _ := url.Parse(defaultBaseURL); base.Host != own.Host {
		m.provider += "@" + base.Host
	}
	dialect, _ := model.DialectNamed("openai")
	m.service = wire.Service{
		Provider: m.provider, URL: base.JoinPath("responses").String(), Client: wire.Client(o.HTTPClient),
		Key: o.Key, Header: wire.Bearer, Dialect: dialect, Learned: wire.Learned{Members: optional}, Body: m.request,
		Begin: func(a *wire.Answer) wire.Assembly { return &assembly{Answer: a, byIndex: map[int]*item{}} },
	}
	return m, nil
}

// Info describes the model.
func (m *Model) Info() model.Info {
	return model.Info{
		Provider: m.provider, Name: m.options.Model, Window: m.options.Window,
		MaxTools: m.service.Dialect.MaxTools, Price: m.options.Price, Language: true,
	}
}

// Generate requests the next message; see [model.Model]. If the provider refuses a part of the
// request, Generate repeats it without that part. Notes list omitted tools.
func (m *Model) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	return m.service.Generate(ctx, req, emit)
}
