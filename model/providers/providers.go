// Package providers holds the table of the providers of language models that a user can name: their
// addresses, environment variables of keys, wires and lists of models. Programs with a fixed
// provider use that provider's package, such as package anthropic, directly.
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

// Options selects a provider's model and its settings.
type Options struct {
	Model     string
	BaseURL   string // empty means the provider's own
	Key       string
	Window    int
	MaxTokens int
	Price     model.Price
	Effort    string // one of Efforts; if empty, the model decides
}

// A Provider is a provider of language models.
type Provider struct {
	Name     string
	BaseURL  string // base URL
	KeyEnv   string // usual environment variable for the key; empty if no key is needed
	Local    bool   // the service runs on the user's machine
	NoEffort bool   // thinking has no levels of effort
	Service  string // name of the provider of the same service with another wire, or its own name
	Example  string // example of a model's name, or empty

	wire *wire
}

// A wire is a protocol, with its constructor and its list of models.
type wire struct {
	open        func(p *Provider, o Options) (model.Model, error)
	models      string // path and query of the list of models
	header      func(h http.Header, key string)
	newestFirst bool // the list is sorted, newest first
}

// All returns the providers in display order. The slice belongs to the caller. Providers of chat
// completions come from the presets of package openai.
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

// ByName returns a provider. An unknown one uses chat completions and the environment variable of
// OpenAI's key, and needs a base URL.
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

// New returns a model. It sends nothing.
func (p Provider) New(o Options) (model.Model, error) { return p.wire.open(&p, o) }

// Efforts returns the levels of effort in thinking.
func Efforts() []string { return []string{"low", "medium", "high"} }

// thinkingTokens maps a level of effort to the number of tokens that a model of Anthropic may
// think.
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

// opened converts the results of a wire's New, so that the model is a nil interface if there is an
// error.
func opened[M model.Model](m M, err error) (model.Model, error) {
	if err != nil {
		return nil, err
	}
	return m, nil
}

// effort returns the request's member for the effort, or nil if none is set.
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
	maxModels     = 2_000   // models of one provider
	maxModelsBody = 8 << 20 // bytes of a provider's list
)

// Listed is a model in its provider's list.
type Listed struct {
	Name   string // safe to print
	Title  string // display name; may be empty
	Window int    // window in tokens; 0 if unknown
}

// listedModel is a model on the wire. Providers use different names for its window.
type listedModel struct {
	ID          string `json:"id"`
	DisplayName string `json:"display_name"`
	Length      int    `json:"context_length"`
	Window      int    `json:"context_window"`
	MaxLength   int    `json:"max_model_len"`
	Loaded      int    `json:"max_context_length"`
}

// ListURL returns the URL of the provider's list of models below a base URL.
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

// List requests the provider's language models from its ListURL. It does not follow redirects, so
// that the key goes to no other server.
func (p Provider) List(ctx context.Context, at, key string) ([]Listed, error) {
	fail := func(err error) error { return fmt.Errorf("the models of %s: %w", p.Name, err) }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, fail(errors.New("the base URL is not valid"))
	}
	p.wire.header(req.Header, key)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) {
			err = at.Err // without the URL, which the user knows and which may contain a secret
		}
		return nil, fail(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fail(fmt.Errorf("status %d", res.StatusCode))
	}
	var answer struct {
		Data []listedModel `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(res.Body, maxModelsBody)).Decode(&answer); err != nil {
		return nil, fail(errors.New("the list is not the expected JSON"))
	}
	return p.talking(answer.Data), nil
}

// talking returns the language models in the list, in display order.
func (p Provider) talking(all []listedModel) (models []Listed) {
	others := []string{"embed", "whisper", "tts", "dall-e", "moderation", "transcribe", "realtime", "imagen", "veo-", "sora", "rerank"}
	for _, m := range all {
		name := strings.TrimPrefix(m.ID, "models/") // Gemini's names have this prefix
		if name != "" && name == plaintext.Line(name, 200) && !slices.ContainsFunc(others, func(word string) bool { return strings.Contains(name, word) }) {
			models = append(models, Listed{name, m.DisplayName, cmp.Or(m.Length, m.Window, m.MaxLength, m.Loaded)})
		}
	}
	if !p.wire.newestFirst {
		slices.SortFunc(models, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	}
	return models[:min(len(models), maxModels)]
}
