package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/host/tui"
	"github.com/junction-mcp/junction/internal/nearest"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/providers"
)

// listModelsTime is the time limit for providers to list their models.
const listModelsTime = 10 * time.Second

// A ModelSwitch is a [model.Model] that forwards to another model, which the user can replace. It
// implements [tui.Models] and is safe for concurrent use.
type ModelSwitch struct {
	place   place.Place
	limited bool // whether runs have a limit in dollars, so that the price must be known

	mu      sync.Mutex
	flags   ModelFlags
	model   model.Model
	windows map[string]int // context windows of listed models, by provider and name; 0 if unknown
}

// NewModelSwitch returns a ModelSwitch that begins with m. f are the flags that selected m.
func NewModelSwitch(p place.Place, f *Flags, m model.Model) *ModelSwitch {
	return &ModelSwitch{place: p, limited: f.Limits.Money > 0, flags: f.Model, model: m, windows: map[string]int{}}
}

// Current returns the current model and its flags.
func (s *ModelSwitch) Current() (model.Model, ModelFlags) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.model, s.flags
}

// Info implements [model.Model].
func (s *ModelSwitch) Info() model.Info {
	m, _ := s.Current()
	return m.Info()
}

// Generate implements [model.Model].
func (s *ModelSwitch) Generate(ctx context.Context, req *model.Request, emit func(model.Delta)) (*model.Response, error) {
	m, _ := s.Current()
	return m.Generate(ctx, req, emit)
}

// Choose switches to another model. A name without a provider is a model of the current provider.
func (s *ModelSwitch) Choose(name string) error {
	_, f := s.Current()
	if err := s.rename(&f, name); err != nil {
		return err
	}
	return s.use(f)
}

// rename sets the name of the model. It resets flags that applied only to the previous provider or
// model.
func (s *ModelSwitch) rename(f *ModelFlags, name string) error {
	current := s.provider()
	typed, _, found := strings.Cut(name, ":")
	provider := typed
	_, known := providers.ByName(provider)
	switch {
	case name == "offline":
		provider = "offline"
	case found && (known || provider == current):
	case current == "":
		return fmt.Errorf("model %q: name its provider, too, as in ollama:%s", plaintext.Line(name, 80), plaintext.Line(name, 80))
	default:
		provider, name = current, current+":"+name
	}
	if found && !s.lists(provider, name) {
		return fmt.Errorf("model %q: %s does not list it%s; /model shows those that it does", plaintext.Line(name, 80), provider, similarProvider(typed))
	}
	if provider != current {
		f.BaseURL, f.KeyEnv, f.Injected = "", "", false
	}
	if !hasEffort(provider) {
		f.Effort = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f.Model, f.Window, f.Price = name, s.windows[name], nil
	return nil
}

// similarProvider returns a suggestion of a provider whose name is similar to word, or "".
func similarProvider(word string) string {
	if near := nearest.Name(word, ProviderNames()); near != "" && near != word {
		return " (did you mean the provider " + near + " meant?)"
	}
	return ""
}

// lists reports whether a provider lists a model. It also reports true if the provider has not
// listed its models yet.
func (s *ModelSwitch) lists(provider, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, listed := s.windows[name]; listed {
		return true
	}
	for other := range s.windows {
		if strings.HasPrefix(other, provider+":") {
			return false
		}
	}
	return true
}

// use opens the model that the flags select and switches to it.
func (s *ModelSwitch) use(f ModelFlags) error {
	f.KeyFrom = ""
	m, err := f.Open(s.place)
	if err != nil {
		return err
	}
	info := m.Info()
	if s.limited && info.Language && !info.Price.Known() {
		return fmt.Errorf("the price of %s is not known, and --max-cost needs it; start with --model %s and --price IN,OUT", plaintext.Line(info.Name, 80), plaintext.Line(f.Model, 80))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model, s.flags = m, f
	return nil
}

// provider returns the name of the current model's provider, or "" for the built-in model.
func (s *ModelSwitch) provider() string {
	info := s.Info()
	provider, _, _ := strings.Cut(info.Provider, "@")      // the server follows after the @
	if !info.Language || strings.Contains(provider, ":") { // an address with a port would look like a provider and a name
		return ""
	}
	return provider
}

// Efforts returns the levels of effort that the provider accepts, and the current one.
func (s *ModelSwitch) Efforts() (levels []string, current string) {
	_, f := s.Current()
	if provider := s.provider(); provider == "" || !hasEffort(provider) {
		return nil, ""
	}
	return efforts(), cmp.Or(f.Effort, defaultEffort)
}

// SetEffort opens the same model with another level of effort.
func (s *ModelSwitch) SetEffort(level string) error {
	_, f := s.Current()
	f.Effort = level
	return s.use(f)
}

// List returns the models of the current provider, and of the providers with a key in the
// environment. With --base-url it asks only that address.
func (s *ModelSwitch) List(ctx context.Context) ([]tui.ModelChoice, error) {
	ctx, cancel := context.WithTimeout(ctx, listModelsTime)
	defer cancel()
	sources, err := s.Sources()
	found, errs := make([][]providers.Listed, len(sources)), make([]error, len(sources))
	var asking sync.WaitGroup
	for i, from := range sources {
		asking.Go(func() { found[i], errs[i] = from.List(ctx, from.URL, from.Key) })
	}
	asking.Wait()
	current, info := s.provider(), s.Info()
	var choices []tui.ModelChoice
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, from := range sources {
		for _, m := range found[i] {
			name := from.Name + ":" + m.Name
			s.windows[name] = m.Window
			choices = append(choices, tui.ModelChoice{Name: name, About: aboutModel(m), Current: from.Name == current && m.Name == info.Name})
		}
	}
	return choices, errors.Join(append(errs, err)...)
}

// A modelSource is a provider with the address of its list of models.
type modelSource struct {
	providers.Provider
	URL, Key string
}

// Sources returns the current provider, and the providers with a key in the environment. With
// --base-url it returns only the current one, so that no other service learns of the chat. The
// error is the reason why the current one is missing.
func (s *ModelSwitch) Sources() (all []modelSource, err error) {
	_, f := s.Current()
	current := s.provider()
	if current != "" {
		var from modelSource
		p, _ := providers.ByName(current)
		if from, err = f.source(s.place, p); err == nil {
			all = append(all, from)
		}
	}
	if f.BaseURL != "" && s.Info().Language {
		return all, err
	}
	for _, p := range providers.All() {
		if p.Name == current || p.KeyEnv == "" || s.place.Getenv(p.KeyEnv) == "" {
			continue
		}
		if from, err := new(ModelFlags).source(s.place, p); err == nil {
			all = append(all, from)
		}
	}
	return all, err
}

// source returns a provider with the address of its list of models and its key.
func (f ModelFlags) source(at place.Place, p providers.Provider) (modelSource, error) {
	base, key, err := f.reach(at, p)
	if err != nil {
		return modelSource{}, err
	}
	list, err := p.ListURL(base)
	return modelSource{p, list, key}, err
}

// aboutModel returns a description of a model from its provider's list.
func aboutModel(m providers.Listed) string {
	var parts []string
	if m.Title != "" && m.Title != m.Name {
		parts = append(parts, plaintext.Line(m.Title, 60))
	}
	if m.Window > 0 {
		parts = append(parts, fmt.Sprintf("%dk-token context", m.Window/1_000))
	}
	return strings.Join(parts, ", ")
}
