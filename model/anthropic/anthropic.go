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
	// Window and Price go into Info. Zero means what is known of the model's family, which can be nothing.
	Window int
	Price  model.Price
	// MaxTokens limits answers whose request has no limit; 0 means 16,384, or less where the model takes no more.
	MaxTokens int
	// Thinking is how many tokens the model may think before it answers; 0 means no thinking, unless Body asks for it.
	// The provider wants at least 1,024. They are added to the limit of the answer.
	Thinking int
	// Body are more members of the request, such as output_config.
	Body map[string]any
	// HTTPClient makes the requests; nil means http.DefaultClient. It is not changed. Redirects are not followed, so
	// that a key goes to no other server. More headers, or a key for each request, are for its transport to set.
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

// family is what is known of models whose names begin alike.
type family struct {
	prefix string
	window int
	price  model.Price
}

// families have the prices of December 2025; the first that fits counts. What is not
// here has no price, which is better than a wrong one.
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

// params is the body of a request, as the messages API has it.
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

// kind is an object that has nothing but a type.
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

// ephemeral marks the end of what is cached.
func ephemeral() *kind { return &kind{"ephemeral"} }

// request is the body of a request.
func (m *Model) request(req *model.Request, tools []model.Tool) ([]byte, error) {
	p := &params{
		Model:         m.options.Model,
		MaxTokens:     m.limit(req.MaxTokens),
		Messages:      turns(req.Messages),
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
		p.Temperature = req.Temperature // one that thinks can have none but its own
	}
	m.choose(p, req)
	return wire.Marshal(p, m.options.Body)
}

// choose says whether tools must be called. The provider refuses a conversation
// with calls and no tools, so those that were called are named then.
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
		// One that thinks cannot be made to call.
		p.ToolChoice = &kind{"any"}
	}
}

// limit is the limit of the answer with the thinking before it.
func (m *Model) limit(tokens int) int {
	tokens = cmp.Or(max(tokens, 0), max(m.options.MaxTokens, 0), defaultMaxTokens) + m.options.Thinking
	if most := m.service.Learned.MostTokens(); most > 0 {
		tokens = min(tokens, most)
	}
	return tokens
}

// cachedOf is how many of the tools that are sent belong to the cached prefix.
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

// block is a block of content, as the messages API has it.
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

	verbatim json.RawMessage // what is sent instead of all this
	extra    map[string]json.RawMessage
}

// source is the data of an image or a document.
type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// MarshalJSON writes the block with the members that have no name here.
func (b block) MarshalJSON() ([]byte, error) {
	if b.verbatim != nil {
		return b.verbatim, nil
	}
	type plain block
	return wire.Marshal(plain(b), b.extra)
}

func textBlock(text string) block { return block{Type: "text", Text: text} }

// turns writes a conversation as turns of the user and the assistant. Those of
// one that follow each other are joined, and results come first in theirs.
func turns(conversation []model.Message) []turn {
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

// rank puts results before everything else.
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

// mediaBlock is an image, a document, or a text that says what cannot be shown.
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

// portable matches the ids that are taken here.
var portable = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// portableID is the id of a call of any provider in the form that is taken here.
func portableID(id string) string {
	if portable.MatchString(id) {
		return id
	}
	return wire.ShortID(id, -1)
}
