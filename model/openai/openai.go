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

// Options say which model is asked, and where.
type Options struct {
	// Model is the model's name. It is needed.
	Model string
	// Provider names a preset, from which everything comes that is not set here. If empty it is found by BaseURL;
	// without that it is "openai". A name that is no preset needs a BaseURL.
	Provider string
	// BaseURL is where chat/completions is, such as http://localhost:8000/v1.
	BaseURL string
	// Key is sent as the bearer token; empty sends none.
	Key string
	// Window and Price go into Info. A model on this machine is free unless it has a price.
	Window int
	Price  model.Price
	// MaxTokens limits answers whose request has no limit; 0 leaves that to the provider.
	MaxTokens int
	// Body are more members of the request, such as reasoning_effort, or options with num_ctx.
	Body map[string]any
	// HTTPClient makes the requests; nil means http.DefaultClient. It is not changed. Redirects are not followed, so
	// that a key goes to no other server. More headers, or a key for each request, are for its transport to set.
	HTTPClient *http.Client
}

// Model is a language model behind chat completions. It is safe for concurrent use.
type Model struct {
	options Options
	preset  Preset
	service wire.Service
}

var _ model.Model = (*Model)(nil)

// New returns the model that the options name. Nothing is sent. It is an error if
// the name of the model is missing, or neither provider nor URL say where it is.
func New(o Options) (*Model, error) {
	preset, base, err := o.where()
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

// where finds out which provider is meant and at which URL.
func (o *Options) where() (Preset, *url.URL, error) {
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

// Generate asks for the next message; see [model.Model]. What the provider turns
// out not to take is left out, and the request made again; Notes tell of tools.
func (m *Model) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	return m.service.Generate(ctx, req, emit)
}

// What a service may turn out not to take.
const (
	streamOptionsMember = "stream_options"
	maxTokensMember     = "max_tokens" // it has the other name there
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
