package anthropic

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

const (
	// Provider is the name under which this adapter stores its own data in messages.
	Provider = "anthropic"

	// APIVersion is the version of the messages API.
	APIVersion = "2023-06-01"

	defaultBaseURL = "https://api.anthropic.com/"
	// defaultMaxTokens limits an answer. The provider requires a limit.
	defaultMaxTokens = 16_384
)

// Options configures a Model and its service.
type Options struct {
	// Model is the model's name. It is required.
	Model string
	// BaseURL is the URL below which v1/messages is found; empty means Anthropic's own.
	BaseURL string
	// Key is sent as x-api-key; if it is empty, no key is sent.
	Key string
	// Window and Price are returned by Info. Zero values are replaced by those of the model's
	// family, if it is known.
	Window int
	Price  model.Price
	// MaxTokens limits answers to requests without a limit; 0 means 16,384, or less if the model
	// accepts less.
	MaxTokens int
	// Thinking is the number of tokens that the model may think before it answers, at least 1,024.
	// They are added to the limit of the answer. With 0 the model does not think, unless Body
	// requests it.
	Thinking int
	// Body holds additional members for the request, such as output_config.
	Body map[string]any
	// HTTPClient sends the requests; nil means http.DefaultClient. It is not changed, and redirects
	// are not followed, so that the key goes to no other server. Use its transport to add headers,
	// or a different key for each request.
	HTTPClient *http.Client
}

// A Model is a language model behind the messages API. It is safe for concurrent use.
type Model struct {
	options Options
	service wire.Service
}

var _ model.Model = (*Model)(nil)

// New returns the model named in the options. It sends nothing. It returns an error if the model's
// name is missing or the URL is malformed.
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

// Generate requests the next message; see [model.Model]. If the provider refuses a tool, it repeats
// the request without the tool and adds a Note.
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

// A family holds the known properties of models whose names have a common prefix.
type family struct {
	prefix string
	window int
	price  model.Price
}

// families has the prices of December 2025; the first match counts. Other models have no price,
// because an unknown price is better than a wrong one.
var families = []family{
	{"claude-opus-4-5", 200_000, model.Price{Input: 5, Output: 25, CacheRead: 0.5, CacheWrite: 6.25}},
	{"claude-opus-4-1", 200_000, model.Price{Input: 15, Output: 75, CacheRead: 1.5, CacheWrite: 18.75}},
	{"claude-opus-4-0", 200_000, model.Price{Input: 15, Output: 75, CacheRead: 1.5, CacheWrite: 18.75}},
	{"claude-opus-4-2", 200_000, model.Price{Input: 15, Output: 75, CacheRead: 1.5, CacheWrite: 18.75}},
	{"claude-sonnet-4-5", 200_000, model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	{"claude-sonnet-4-0", 200_000, model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	{"claude-sonnet-4-2", 200_000, model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}},
	{"claude-haiku-4-5", 200_000, model.Price{Input: 1, Output: 5, CacheRead: 0.1, CacheWrite: 1.25}},
	{"claude-3-5-haiku", 200_000, model.Price{Input: 0.8, Output: 4, CacheRead: 0.08, CacheWrite: 1}},
	{"claude-", 200_000, model.Price{}},
}

func familyOf(name string) family {
	for _, f := range families {
		if strings.HasPrefix(name, f.prefix) {
			return f
		}
	}
	return family{}
}

// params is the body of a request to the messages API.
type params struct {
	Model         string      `json:"model"`
	MaxTokens     int         `json:"max_tokens"`
	System        []block     `json:"system,omitzero"`
	Messages      []turn      `json:"messages"`
	Tools         []toolParam `json:"tools,omitzero"`
	ToolChoice    *kind       `json:"tool_choice,omitzero"`
	Thinking      *thinking   `json:"thinking,omitzero"`
	Temperature   *float64    `json:"temperature,omitzero"`
	StopSequences []string    `json:"stop_sequences,omitempty"`
	Stream        bool        `json:"stream"`
}

// A kind is an object whose only member is type.
type kind struct {
	Type string `json:"type"`
}

type thinking struct {
	Type   string `json:"type"`
	Budget int    `json:"budget_tokens"`
}

type toolParam struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Cache       *kind           `json:"cache_control,omitzero"`
}

type turn struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// ephemeral returns the cache mark for the end of a prefix.
func ephemeral() *kind { return &kind{"ephemeral"} }

// request returns the body of a request.
func (m *Model) request(req *model.Request, tools []model.Tool) ([]byte, error) {
	p := &params{
		Model:         m.options.Model,
		MaxTokens:     m.limit(req.MaxTokens),
		Messages:      mergeTurns(req.Messages),
		Tools:         toolParams(tools, cachedOf(req, tools)),
		StopSequences: slices.DeleteFunc(slices.Clone(req.Stop), func(s string) bool { return strings.TrimSpace(s) == "" }),
		Stream:        true,
	}
	if strings.TrimSpace(req.System) != "" {
		p.System = []block{{Type: "text", Text: req.System, Cache: ephemeral()}}
	}
	if m.options.Thinking > 0 {
		p.Thinking = &thinking{"enabled", m.options.Thinking}
	} else {
		p.Temperature = req.Temperature // with thinking, the provider accepts only its default temperature
	}
	m.choose(p, req)
	return wire.Marshal(p, m.options.Body)
}

// choose sets the tool choice. The provider refuses a conversation that has calls but no tools, so
// choose then lists the called tools.
func (m *Model) choose(p *params, req *model.Request) {
	choice := req.Choice
	if len(p.Tools) == 0 {
		var tools []model.Tool
		for i := range req.Messages {
			for _, c := range req.Messages[i].Calls() {
				if !slices.ContainsFunc(tools, func(t model.Tool) bool { return t.Name == c.Name }) {
					tools = append(tools, model.Tool{Name: c.Name, Schema: json.RawMessage(`{"type":"object"}`)})
				}
			}
		}
		p.Tools = toolParams(tools, 0)
		choice = model.ChoiceNone
	}
	switch {
	case len(p.Tools) == 0:
	case choice == model.ChoiceNone:
		p.ToolChoice = &kind{"none"}
	case choice == model.ChoiceRequired && m.options.Thinking == 0:
		// With thinking, calls cannot be forced.
		p.ToolChoice = &kind{"any"}
	}
}

// limit returns the limit for the answer together with the thinking before it.
func (m *Model) limit(tokens int) int {
	tokens = cmp.Or(max(tokens, 0), max(m.options.MaxTokens, 0), defaultMaxTokens) + m.options.Thinking
	if most := m.service.Learned.MostTokens(); most > 0 {
		tokens = min(tokens, most)
	}
	return tokens
}

// cachedOf returns the number of sent tools that belong to the cached prefix.
func cachedOf(req *model.Request, tools []model.Tool) int {
	cached := req.Tools[:min(max(0, req.CachedTools), len(req.Tools))]
	n := 0
	for n < len(tools) && slices.ContainsFunc(cached, func(t model.Tool) bool { return t.Name == tools[n].Name }) {
		n++
	}
	return n
}

func toolParams(tools []model.Tool, cached int) []toolParam {
	var list []toolParam
	for i := range tools {
		t := toolParam{Name: tools[i].Name, Description: tools[i].Description, Schema: tools[i].Schema}
		if i+1 == cached {
			t.Cache = ephemeral()
		}
		list = append(list, t)
	}
	return list
}

// A block is a block of content of the messages API.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitzero"`
	Source    *source         `json:"source,omitzero"`
	ID        string          `json:"id,omitzero"`
	Name      string          `json:"name,omitzero"`
	Input     json.RawMessage `json:"input,omitzero"`
	ToolUseID string          `json:"tool_use_id,omitzero"`
	IsError   bool            `json:"is_error,omitzero"`
	Content   []block         `json:"content,omitempty"`
	Cache     *kind           `json:"cache_control,omitzero"`

	verbatim json.RawMessage // if set, the encoded block; the other fields are ignored
	extra    map[string]json.RawMessage
}

// A source holds the data of an image or a document.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// MarshalJSON encodes the block together with its extra members.
func (b block) MarshalJSON() ([]byte, error) {
	if b.verbatim != nil {
		return b.verbatim, nil
	}
	type plain block
	return wire.Marshal(plain(b), b.extra)
}

func textBlock(text string) block { return block{Type: "text", Text: text} }

// mergeTurns converts a conversation to turns of the user and the assistant. It joins consecutive
// messages of the same role, and puts results first in their turn.
func mergeTurns(conversation []model.Message) []turn {
	var all []turn
	for i := range conversation {
		role := "user"
		if conversation[i].Role == model.RoleAssistant {
			role = "assistant"
		}
		content := blocks(&conversation[i])
		switch n := len(all); {
		case len(content) == 0:
		case n > 0 && all[n-1].Role == role:
			all[n-1].Content = append(all[n-1].Content, content...)
		default:
			all = append(all, turn{role, content})
		}
	}
	for i := range all {
		slices.SortStableFunc(all[i].Content, func(a, b block) int { return rank(&a) - rank(&b) })
	}
	markLast(all)
	return all
}

// rank is the sort key that puts results before all other blocks.
func rank(b *block) int {
	if b.Type == "tool_result" {
		return 0
	}
	return 1
}

// markLast marks the end of the last turn of the user for the cache.
func markLast(all []turn) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == "user" {
			last := len(all[i].Content) - 1
			all[i].Content[last].Cache = ephemeral()
			return
		}
	}
}

func blocks(m *model.Message) []block {
	var content []block
	for i := range m.Parts {
		p := &m.Parts[i]
		switch {
		case p.Text != "":
			if strings.TrimSpace(p.Text) != "" {
				content = append(content, textBlock(p.Text))
			}
		case p.Media != nil:
			content = append(content, mediaBlock(p.Media))
		case p.Reasoning != nil:
			if p.Reasoning.Provider == Provider && len(p.Reasoning.Raw) > 0 {
				content = append(content, block{verbatim: p.Reasoning.Raw})
			}
		case p.Opaque != nil:
			if p.Opaque.Provider == Provider {
				content = append(content, block{verbatim: p.Opaque.Raw})
			}
		case p.Call != nil:
			input := p.Call.Arguments
			if len(input) == 0 {
				input = json.RawMessage("{}")
			}
			content = append(content, block{Type: "tool_use", ID: portableID(p.Call.ID), Name: p.Call.Name, Input: input, extra: p.Call.Extra[Provider]})
		case p.Result != nil:
			content = append(content, resultBlock(p.Result))
		}
	}
	return content
}

func resultBlock(r *model.Result) block {
	b := block{Type: "tool_result", ToolUseID: portableID(r.CallID), IsError: r.IsError}
	for i := range r.Parts {
		p := &r.Parts[i]
		switch {
		case p.Media != nil:
			b.Content = append(b.Content, mediaBlock(p.Media))
		case strings.TrimSpace(p.Text) != "":
			b.Content = append(b.Content, textBlock(p.Text))
		}
	}
	return b
}

// mediaBlock returns an image or a document, or a text in place of media that cannot be sent.
func mediaBlock(m *model.Media) block {
	kind, _, _ := strings.Cut(strings.ToLower(m.Type), ";")
	switch kind = strings.TrimSpace(kind); kind {
	case "image/jpg":
		kind = "image/jpeg"
		fallthrough
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		return block{Type: "image", Source: &source{"base64", kind, base64.StdEncoding.EncodeToString(m.Data)}}
	case "application/pdf":
		return block{Type: "document", Source: &source{"base64", kind, base64.StdEncoding.EncodeToString(m.Data)}}
	}
	if strings.HasPrefix(kind, "text/") || kind == "application/json" {
		if text := strings.ToValidUTF8(string(m.Data), "\uFFFD"); strings.TrimSpace(text) != "" {
			return textBlock(text)
		}
	}
	return textBlock(wire.NotShown(m))
}

// portable matches ids that the provider accepts.
var portable = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// portableID returns the id of a call in a form that the provider accepts. The call may come from
// another provider.
func portableID(id string) string {
	if portable.MatchString(id) {
		return id
	}
	return wire.ShortID(id, -1)
}
