package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

// Options configures a Model and its service.
type Options struct {
	// Model is the model's name. It is required.
	Model string
	// Provider names a preset with defaults for all other options. If it is empty, BaseURL
	// determines the preset, and without a BaseURL it is "openai". A name without a preset needs a
	// BaseURL.
	Provider string
	// BaseURL is the URL below which chat/completions is found, such as http://localhost:8000/v1.
	BaseURL string
	// Key is sent as the bearer token; if it is empty, none is sent.
	Key string
	// Window and Price are returned by Info. A model on this machine is free unless it has a price.
	Window int
	Price  model.Price
	// MaxTokens limits answers to requests without a limit; with 0 the provider decides.
	MaxTokens int
	// Body holds additional members for the request, such as reasoning_effort, or options with
	// num_ctx.
	Body map[string]any
	// HTTPClient sends the requests; nil means http.DefaultClient. It is not changed, and redirects
	// are not followed, so that the key goes to no other server. Use its transport to add headers,
	// or a different key for each request.
	HTTPClient *http.Client
}

// A Model is a language model behind chat completions. It is safe for concurrent use.
type Model struct {
	options Options
	preset  Preset
	service wire.Service
}

var _ model.Model = (*Model)(nil)

// New returns the model named in the options. It sends nothing. It returns an error if the model's
// name is missing, or if neither provider nor URL are given.
func New(o Options) (*Model, error) {
	preset, base, err := o.endpoint()
	if err != nil {
		return nil, err
	}
	dialect, _ := model.DialectNamed(preset.Dialect)
	if preset.Local && !o.Price.Known() {
		o.Price.Free = true
	}
	m := &Model{options: o, preset: preset}
	m.service = wire.Service{
		Provider: preset.Name, URL: base.JoinPath("chat/completions").String(), Client: wire.Client(o.HTTPClient),
		Key: o.Key, Header: wire.Bearer, Dialect: dialect, Learned: wire.Learned{Members: optional}, Body: m.request,
		Begin: func(a *wire.Answer) wire.Assembly {
			a.Marked = true
			return &assembly{Answer: a, byIndex: map[int]*call{}}
		},
	}
	return m, nil
}

// endpoint returns the preset and the URL of the provider.
func (o *Options) endpoint() (Preset, *url.URL, error) {
	if o.Model == "" {
		return Preset{}, nil, errors.New("openai: the name of the model is missing; set Model")
	}
	provider := o.Provider
	if provider == "" && o.BaseURL == "" {
		provider = "openai"
	}
	preset, known := ByName(provider)
	if o.BaseURL == "" && !known {
		return Preset{}, nil, fmt.Errorf("openai: provider %q is not known; set BaseURL", provider)
	}
	base, err := wire.BaseURL("openai", cmp.Or(o.BaseURL, preset.BaseURL), "https://host/v1")
	if err != nil {
		return Preset{}, nil, err
	}
	if !known {
		preset = byURL(base)
	}
	if provider != "" {
		preset.Name = provider
	}
	return preset, base, nil
}

// Info describes the model.
func (m *Model) Info() model.Info {
	return model.Info{
		Provider: m.preset.Name, Name: m.options.Model, Window: m.options.Window,
		MaxTools: m.service.Dialect.MaxTools, Price: m.options.Price, Language: true,
	}
}

// Generate requests the next message; see [model.Model]. If the provider refuses a part of the
// request, Generate repeats it without that part. Notes list omitted tools.
func (m *Model) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	return m.service.Generate(ctx, req, emit)
}

// Parts of a request that a service may refuse.
const (
	streamOptionsMember = "stream_options"
	maxTokensMember     = "max_tokens" // the limit is then sent under its other name
	temperatureMember   = "temperature"
	toolChoiceMember    = "tool_choice"
	reasoningMember     = "reasoning_content"
	extraMember         = "extra"
	stopMember          = "stop"
)

var optional = []wire.Member{
	{Name: streamOptionsMember, Words: []string{"stream_options", "include_usage"}},
	{Name: maxTokensMember, Words: []string{"max_tokens", "max_completion_tokens"}},
	{Name: temperatureMember, Words: []string{"temperature"}},
	{Name: toolChoiceMember, Words: []string{"tool_choice"}},
	{Name: reasoningMember, Words: []string{"reasoning_content"}},
	{Name: extraMember, Words: []string{"reasoning_details", "extra_content"}},
	{Name: stopMember, Words: []string{"'stop'", `"stop"`, "`stop`"}},
}
