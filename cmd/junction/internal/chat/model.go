package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/injected"
	"github.com/junction-mcp/junction/model/offline"
	"github.com/junction-mcp/junction/model/providers"
	"github.com/spf13/pflag"
)

// ModelEnv is the environment variable that names the model if no flag does.
const ModelEnv = "JUNCTION_MODEL"

// ModelFlags holds the flags that select a model. They are stored with each conversation; see
// [chatStart].
type ModelFlags struct {
	Model     string    `json:"model,omitempty"`
	BaseURL   string    `json:"baseURL,omitempty"`
	KeyEnv    string    `json:"keyEnv,omitempty"`
	Injected  bool      `json:"injected,omitempty"`
	Window    int       `json:"window,omitempty"`
	MaxAnswer int       `json:"maxAnswer,omitempty"`
	Price     []float64 `json:"price,omitempty"`
	Effort    string    `json:"effort,omitempty"`

	KeyFrom  string `json:"-"` // variable of the key that is sent; set by Open
	withheld string // advice about an existing key that is not sent
}

// define defines the flags in a flag set.
func (f *ModelFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.Model, "model", "", "ask `PROVIDER:NAME`, such as openai:gpt-5.2, responses:gpt-5.2, anthropic:claude-sonnet-4-5, ollama:qwen3; or offline (default $"+ModelEnv+", or offline)")
	flags.StringVar(&f.BaseURL, "base-url", "", "reach the model at `URL`, of a server with the API of chat completions, OpenAI's responses or Anthropic's messages")
	flags.StringVar(&f.KeyEnv, "key-env", "", "take the model's key from the environment variable `NAME` (default: the provider's usual one)")
	flags.BoolVar(&f.Injected, "injected", false, "describe the tools in the prompt, for a model without function calling")
	flags.IntVar(&f.Window, "window", 0, "size of the model's context in `TOKENS`, if junction does not know it")
	flags.IntVar(&f.MaxAnswer, "max-answer", 0, "limit each answer of the model to `TOKENS`")
	flags.Float64SliceVar(&f.Price, "price", nil, "the model costs `IN,OUT` dollars for a million tokens")
	flags.StringVar(&f.Effort, "effort", "", "ask the model for this `LEVEL` of effort in thinking: low, medium or high (default: its own)")
}

// Open returns the model that the flags and the environment select. By default it is the offline
// model.
func (f *ModelFlags) Open(at place.Place) (model.Model, error) {
	name := cmp.Or(f.Model, at.Getenv(ModelEnv))
	if name == "" && f.BaseURL == "" || name == "offline" {
		return offline.New(), nil
	}
	provider, of, found := strings.Cut(name, ":")
	if !found {
		provider, of = "", name
	}
	if err := errors.Join(f.complete(provider, of), f.checkEffort(provider)); err != nil {
		return nil, err
	}
	m, err := f.ask(at, provider, of)
	if err != nil {
		return nil, err
	}
	if f.Injected {
		m = injected.New(m)
	}
	return keyed{model.Retrying(m), f.KeyFrom, f.withheld}, nil
}

// ask returns a model of a provider.
func (f *ModelFlags) ask(at place.Place, provider, name string) (m model.Model, err error) {
	price, err := f.prices()
	if err != nil {
		return nil, err
	}
	p, known := providers.ByName(provider)
	if provider != "" && !known && f.BaseURL == "" {
		return nil, cli.Usagef("--model: no provider is called %q; known are %s; reach any other with --base-url", provider, strings.Join(ProviderNames(), ", "))
	}
	_, key, err := f.reach(at, p)
	if err != nil {
		return nil, err
	}
	o := providers.Options{Model: name, BaseURL: f.BaseURL, Key: key, Window: f.Window, MaxTokens: f.MaxAnswer, Price: price}
	if f.Effort != defaultEffort {
		o.Effort = f.Effort
	}
	if m, err = p.New(o); err != nil {
		return nil, &cli.UsageError{Err: fmt.Errorf("--model: %w", err)}
	}
	return m, nil
}

// A keyed is a model whose authorization errors name the key that was sent.
type keyed struct {
	model.Model
	from     string // variable of the key; empty if no key was sent
	withheld string // advice if no key was sent
}

// Generate implements [model.Model].
func (k keyed) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	response, err := k.Model.Generate(ctx, req, emit)
	switch {
	case !errors.Is(err, model.ErrUnauthorized):
		return response, err
	case k.from == "":
		return response, fmt.Errorf("%w (none was sent: %s)", err, k.withheld)
	}
	return response, fmt.Errorf("%w (the one in %s)", err, k.from)
}

// complete returns a usage error if the name of the model is incomplete.
func (f *ModelFlags) complete(provider, name string) error {
	_, known := providers.ByName(name)
	switch {
	case provider == "" && f.BaseURL == "" && known:
		return cli.Usagef("--model: %s is a provider: expected %s:NAME, with the name of a model", name, name)
	case provider == "" && f.BaseURL == "" && strings.HasPrefix(name, "claude"):
		return cli.Usagef("--model: %s is a model of Anthropic: expected anthropic:%s", name, name)
	case provider == "offline" && f.BaseURL == "":
		return cli.Usagef("--model: offline takes no name of a model: expected offline")
	case name == "":
		return cli.Usagef("--model: the name of the model is missing: expected PROVIDER:NAME, such as ollama:qwen3")
	}
	return nil
}

// prices returns the value of --price.
func (f *ModelFlags) prices() (model.Price, error) {
	switch len(f.Price) {
	case 0:
		return model.Price{}, nil
	case 2:
		return model.Price{Input: f.Price[0], Output: f.Price[1], Free: f.Price[0] == 0 && f.Price[1] == 0}, nil
	}
	return model.Price{}, cli.Usagef("--price: expected IN,OUT, such as 3,15")
}

// ProviderNames returns the names of the known providers.
func ProviderNames() (names []string) {
	for _, p := range providers.All() {
		names = append(names, p.Name)
	}
	return names
}

// reach returns the address of a provider and its key.
func (f *ModelFlags) reach(at place.Place, p providers.Provider) (base, key string, err error) {
	f.withheld = f.KeyHint(p, at.Getenv)
	key, err = f.key(at, p.KeyEnv, f.BaseURL == "" && !p.Local)
	return cmp.Or(f.BaseURL, p.BaseURL), key, err
}

// KeyHint describes how to send a key to an address that is not the service's own.
func (*ModelFlags) KeyHint(p providers.Provider, getenv func(string) string) string {
	home, err := url.Parse(p.BaseURL)
	if err != nil || p.KeyEnv == "" || getenv(p.KeyEnv) == "" {
		return "name its variable with --key-env"
	}
	return fmt.Sprintf("%s is set, but its key is sent only to %s; --key-env %s sends it here", p.KeyEnv, home.Host, p.KeyEnv)
}

// key returns the model's key from the environment. It returns the key of a known service only for
// the service's own address, unless --key-env names it.
func (f *ModelFlags) key(at place.Place, usual string, needed bool) (string, error) {
	from := usual
	if f.KeyEnv != "" {
		from = f.KeyEnv
	} else if !needed {
		return "", nil
	}
	key := at.Getenv(from)
	if key == "" {
		return "", errors.New("the model's key is missing: set " + from + ", or name another variable with --key-env; name a model of another service as PROVIDER:NAME, and give --base-url for your own server")
	}
	f.KeyFrom = from
	return key, nil
}

// defaultEffort is the level that leaves the choice of the effort to the model.
const defaultEffort = "default"

// efforts returns the levels of --effort.
func efforts() []string { return append([]string{defaultEffort}, providers.Efforts()...) }

// hasEffort reports whether a provider accepts levels of effort.
func hasEffort(provider string) bool {
	p, _ := providers.ByName(provider)
	return provider != "offline" && !p.NoEffort
}

// checkEffort returns a usage error if --effort is invalid for the provider.
func (f *ModelFlags) checkEffort(provider string) error {
	switch {
	case f.Effort == "":
	case !slices.Contains(efforts(), f.Effort):
		return cli.Usagef("--effort: expected one of %s, got %q", strings.Join(efforts(), ", "), f.Effort)
	case !hasEffort(provider):
		return cli.Usagef("--effort: %s takes none", provider)
	}
	return nil
}
