package anthropic

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

const (
	// Provider is the name under which this adapter keeps what belongs to it.
	Provider = "anthropic"

	// APIVersion is the version of the messages API that is spoken here.
	APIVersion = "2023-06-01"

	defaultBaseURL = "https://api.anthropic.com/"
	// defaultMaxTokens limits an answer, as the provider requires a limit.
	defaultMaxTokens = 16_384
)

// Options say which model is asked, and where.
type Options struct {
	// Model is the model's name. It is needed.
	Model string
	// BaseURL is where v1/messages is; empty means Anthropic's own.
	BaseURL string
	// Key is sent as x-api-key; empty sends none.
	Key string
	// Window and Price go into Info. Zero means what is known of the model's family,
	// which can be nothing.
	Window int
	Price  model.Price
	// MaxTokens limits answers whose request has no limit; 0 means 16,384, or less
	// where the model takes no more.
	MaxTokens int
	// Thinking is how many tokens the model may think before it answers; 0 means no
	// thinking, unless Body asks for it. The provider wants at least 1,024. They are
	// added to the limit of the answer.
	Thinking int
	// Body are more members of the request, such as output_config.
	Body map[string]any
	// HTTPClient makes the requests; nil means http.DefaultClient. It is not changed.
	// Redirects are not followed, so that a key goes to no other server. More headers, or
	// a key for each request, are for its transport to set.
	HTTPClient *http.Client
}

// Model is a language model behind the messages API. It is safe for concurrent use.
type Model struct {
	options Options
	service wire.Service
}

var _ model.Model = (*Model)(nil)

// New returns the model that the options name. Nothing is sent. It is an error if
// the name of the model is missing, or the URL is none.
func New(o Options) (*Model, error) {
	if o.Model == "" {
		return nil, errors.New("anthropic: the name of the model is missing; set Model")
	}
	base, err := wire.BaseURL("anthropic", cmp.Or(o.BaseURL, defaultBaseURL), "https://host")
	if err != nil {
		return nil, err
	}
	known := familyOf(o.Model)
	o.Window = cmp.Or(o.Window, known.window)
	if o.Price == (model.Price{}) {
		o.Price = known.price
	}
	m := &Model{options: o}
	dialect, _ := model.DialectNamed("anthropic")
	m.service = wire.Service{
		Provider: Provider, URL: base.JoinPath("v1/messages").String(), Client: wire.Client(o.HTTPClient),
		Key: o.Key, Header: setHeaders, Dialect: dialect, Body: m.request,
		Begin: func(a *wire.Answer) wire.Assembly { return &assembly{Answer: a, byIndex: map[int]*piece{}} },
	}
	return m, nil
}

// Info describes the model.
func (m *Model) Info() model.Info {
	return model.Info{Provider: Provider, Name: m.options.Model, Window: m.options.Window, Price: m.options.Price, Language: true}
}

// Generate asks for the next message; see [model.Model]. A tool that the provider
// refuses is left out, and the request made again; Notes tell of it.
func (m *Model) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	return m.service.Generate(ctx, req, emit)
}

func setHeaders(h http.Header, key string) {
	h.Set("Accept", "text/event-stream")
	h.Set("Anthropic-Version", APIVersion)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}
