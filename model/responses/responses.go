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
	// Provider is the name under which this adapter keeps what belongs to OpenAI. For
	// another server, @ and its host follow.
	Provider       = "responses"
	defaultBaseURL = "https://api.openai.com/v1"
)

// Options say which model is asked, and where.
type Options struct {
	// Model is the model's name. It is needed.
	Model string
	// BaseURL is where responses is, such as http://localhost:8000/v1; empty means OpenAI's own.
	BaseURL string
	// Key is sent as the bearer token; empty sends none.
	Key string
	// Window and Price go into Info.
	Window int
	Price  model.Price
	// MaxTokens limits answers whose request has no limit; 0 leaves that to the provider.
	MaxTokens int
	// Body are more members of the request, such as reasoning with effort or summary.
	Body map[string]any
	// HTTPClient makes the requests; nil means http.DefaultClient. It is not changed. Redirects are not followed, so
	// that a key goes to no other server. More headers, or a key for each request, are for its transport to set.
	HTTPClient *http.Client
}

// Model is a language model behind the Responses API. It is safe for concurrent use.
type Model struct {
	options  Options
	provider string
	service  wire.Service
}

var _ model.Model = (*Model)(nil)

// New returns the model that the options name. Nothing is sent. It is an error if
// the name of the model is missing, or the URL is none.
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

// Generate asks for the next message; see [model.Model]. What the provider turns
// out not to take is left out, and the request made again; Notes tell of tools.
func (m *Model) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	return m.service.Generate(ctx, req, emit)
}
