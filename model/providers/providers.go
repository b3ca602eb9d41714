// Package providers has the table of the providers of language models that a user can name: where each is, where its key is kept, how it is
// asked, and how it lists its models. Programs that know their provider use its wire, such as package anthropic, directly.
package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/anthropic"
	"github.com/junction-mcp/junction/model/openai"
	"github.com/junction-mcp/junction/model/responses"
)

// Options say which model of a provider is asked, and where.
type Options struct {
	Model     string
	BaseURL   string // empty: that of the provider
	Key       string
	Window    int
	MaxTokens int
	Price     model.Price
	Effort    string // one of Efforts; empty leaves it to the model
}

// Provider is a provider of language models.
type Provider struct {
	Name     string
	BaseURL  string // where it is
	KeyEnv   string // the variable in which people keep its key; empty: it needs none
	Local    bool   // it runs on the user's own machine
	NoEffort bool   // it takes no level of effort
	Service  string // the provider whose service it is, by another wire; empty: its own
	Example  string // a name of a model; empty: none

	wire *wire
}

// A wire is how providers are asked.
type wire struct {
	open        func(p *Provider, o Options) (model.Model, error)
	models      string // the path of the list of models, with its query
	header      func(h http.Header, key string)
	newestFirst bool // the list is in an order of its own
}

// All returns the providers, in the order in which a list should show them. The slice is the caller's. Providers of chat completions are presets of
// package openai.
func All() []Provider {
	service, _ := openai.ByName("openai")
	all := []Provider{
		{Name: anthropic.Provider, BaseURL: "https://api.anthropic.com", KeyEnv: "ANTHROPIC_API_KEY", Example: "claude-sonnet-4-5", wire: &messagesWire},
		{Name: responses.Provider, BaseURL: service.BaseURL, KeyEnv: service.KeyEnv, Service: service.Name, wire: &responsesWire},
	}
	for _, p := range openai.Presets() {
		all = append(all, Provider{Name: p.Name, BaseURL: p.BaseURL, KeyEnv: p.KeyEnv, Local: p.Local, NoEffort: p.NoEffort, wire: &chatWire})
	}
	return all
}

// ByName returns a provider. One that is not known is asked by chat completions, where the caller says, and with OpenAI's key.
func ByName(name string) (p Provider, known bool) {
	all := All()
	index := func(name string) int { return slices.IndexFunc(all, func(p Provider) bool { return p.Name == name }) }
	if i := index(name); i >= 0 {
		return all[i], true
	}
	p = all[index("openai")]
	p.Name = name
	return p, false
}

// New returns a model. Nothing is sent.
func (p Provider) New(o Options) (model.Model, error) { return p.wire.open(&p, o) }

// Efforts are the levels of effort in thinking.
func Efforts() []string { return []string{"low", "medium", "high"} }

// thinkingTokens are how many tokens a model of Anthropic may think at a level of effort.
var thinkingTokens = map[string]int{"low": 2_048, "medium": 8_192, "high": 24_576}

var messagesWire = wire{
	open: func(_ *Provider, o Options) (model.Model, error) {
		return opened(anthropic.New(anthropic.Options{Model: o.Model, BaseURL: o.BaseURL, Key: o.Key, Window: o.Window, MaxTokens: o.MaxTokens, Price: o.Price, Thinking: thinkingTokens[o.Effort]}))
	},
	models: "v1/models?limit=1000",
	header: func(h http.Header, key string) {
		h.Set("Anthropic-Version", anthropic.APIVersion)
		if key != "" {
			h.Set("X-Api-Key", key)
		}
	},
	newestFirst: true,
}

var responsesWire = wire{
	open: func(_ *Provider, o Options) (model.Model, error) {
		return opened(responses.New(responses.Options{Model: o.Model, BaseURL: o.BaseURL, Key: o.Key, Window: o.Window, MaxTokens: o.MaxTokens, Price: o.Price,
			Body: o.effort("reasoning", map[string]any{"effort": o.Effort})}))
	},
	models: "models", header: bearer,
}

var chatWire = wire{
	open: func(p *Provider, o Options) (model.Model, error) {
		return opened(openai.New(openai.Options{Model: o.Model, Provider: p.Name, BaseURL: o.BaseURL, Key: o.Key, Window: o.Window, MaxTokens: o.MaxTokens, Price: o.Price,
			Body: o.effort("reasoning_effort", o.Effort)}))
	},
	models: "models", header: bearer,
}

// opened makes a model of one that New of a wire returned: an error comes without one.
func opened[M model.Model](m M, err error) (model.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// effort is the member of the request that asks for the effort, if there is one.
func (o Options) effort(member string, value any) map[string]any {
	if o.Effort == "" {
		return nil
	}
	return map[string]any{member: value}
}

func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

const (
	maxModels     = 2_000   // of one provider
	maxModelsBody = 8 << 20 // bytes of a provider's list
)

// Listed is a model as its provider lists it.
type Listed struct {
	Name   string // safe to print
	Title  string // for people; empty: none
	Window int    // how many tokens it sees at a time; 0: not known
}

// listed is a model on the wire. How the context is called differs.
type listed struct {
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	Length      int    `json:"context_length"`
	Window      int    `json:"context_window"`
	MaxLength   int    `json:"max_model_len"`
	Loaded      int    `json:"max_context_length"`
}

// ListURL is where the provider lists its models, below the URL at which it is.
func (p Provider) ListURL(base string) (string, error) {
	path, query, _ := strings.Cut(p.wire.models, "?")
	u, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	u = u.JoinPath(path)
	if query != "" {
		u.RawQuery = query
	}
	return u.String(), nil
}

// List asks the provider for the models that answer questions, at its ListURL. No redirect is followed, so that the key goes nowhere else.
func (p Provider) List(ctx context.Context, at, key string) ([]Listed, error) {
	fail := func(err error) error { return fmt.Errorf("the models of %s: %w", p.Name, err) }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, fail(errors.New("the base URL is not one"))
	}
	p.wire.header(req.Header, key)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // which address it is the user knows; it may hold a secret
		}
		return nil, fail(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fail(fmt.Errorf("status %d", res.StatusCode))
	}
	var answer struct {
		Data []listed `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxModelsBody)).Decode(&answer); err != nil {
		return nil, fail(errors.New("the list is not JSON as expected"))
	}
	return p.talking(answer.Data), nil
}

// talking are the models that answer questions, in an order to find them in.
func (p Provider) talking(all []listed) (models []Listed) {
	others := []string{"embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "realtime", "imagen", "veo-", "sora", "rerank"}
	for _, m := range all {
		name := strings.TrimPrefix(m.ID, "models/") // as Gemini lists them
		if name != "" && name == plaintext.Line(name, 200) && !slices.ContainsFunc(others, func(word string) bool { return strings.Contains(name, word) }) {
			models = append(models, Listed{name, m.DisplayName, cmp.Or(m.Length, m.Window, m.MaxLength, m.Loaded)})
		}
	}
	if !p.wire.newestFirst {
		slices.SortFunc(models, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	}
	return models[:min(len(models), maxModels)]
}
