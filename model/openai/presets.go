package openai

import (
	"net/url"
	"slices"
	"strings"
)

// A Preset holds the properties of a provider.
type Preset struct {
	// Name is the provider's name, for Options.Provider and as the key of Extra.
	Name string
	// BaseURL is the URL below which chat/completions is found.
	BaseURL string
	// KeyEnv is the usual environment variable for the key, or "" if no key is needed.
	KeyEnv string
	// Local reports whether the service runs on the user's machine.
	Local bool
	// Dialect names the supported subset of JSON Schema; see model.DialectNamed.
	Dialect string
	// NoEffort reports that thinking has no levels of effort.
	NoEffort bool

	reasoning returned
	// maxTokens is the name of the request's member for the limit of the answer.
	maxTokens string
	// shortIDs requires ids of calls that have nine letters and digits.
	shortIDs bool
}

// returned decides when the text of reasoning is sent back to the provider.
type returned int

const (
	inTurns  returned = iota // in turns that called tools
	always                   // in turns that called tools, even if the text is empty
	never                    // the provider refuses it
	detailed                 // as reasoning_details, in every message
)

// Presets returns the presets in display order. The slice belongs to the caller.
func Presets() []Preset {
	return []Preset{
		{Name: "openai", BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY", Dialect: "openai", reasoning: never, maxTokens: "max_completion_tokens"},
		{Name: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", KeyEnv: "GEMINI_API_KEY", Dialect: "gemini", reasoning: never},
		{Name: "deepseek", BaseURL: "https://api.deepseek.com/v1", KeyEnv: "DEEPSEEK_API_KEY", Dialect: "openai", NoEffort: true, reasoning: always},
		{Name: "qwen", BaseURL: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", KeyEnv: "DASHSCOPE_API_KEY", Dialect: "openai", NoEffort: true},
		{Name: "mistral", BaseURL: "https://api.mistral.ai/v1", KeyEnv: "MISTRAL_API_KEY", Dialect: "openai", NoEffort: true, reasoning: never, shortIDs: true},
		{Name: "groq", BaseURL: "https://api.groq.com/openai/v1", KeyEnv: "GROQ_API_KEY", Dialect: "openai", reasoning: never},
		{Name: "xai", BaseURL: "https://api.x.ai/v1", KeyEnv: "XAI_API_KEY", Dialect: "openai"},
		{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", KeyEnv: "OPENROUTER_API_KEY", Dialect: "openai", reasoning: detailed},
		{Name: "ollama", BaseURL: "http://localhost:11434/v1", Local: true, Dialect: "plain"},
		{Name: "lmstudio", BaseURL: "http://localhost:1234/v1", Local: true, Dialect: "plain"},
		{Name: "llamacpp", BaseURL: "http://localhost:8080/v1", Local: true, Dialect: "grammar", NoEffort: true},
		{Name: "vllm", BaseURL: "http://localhost:8000/v1", Local: true, Dialect: "plain"},
	}
}

// ByName returns the preset with a name.
func ByName(name string) (Preset, bool) {
	presets := Presets()
	if i := slices.IndexFunc(presets, func(p Preset) bool { return p.Name == name }); i >= 0 {
		return presets[i], true
	}
	return Preset{}, false
}

// byURL returns the preset for a base URL. Local services are recognized by their port. Unknown
// services get the name of the host.
func byURL(base *url.URL) Preset {
	for _, p := range Presets() {
		known, err := url.Parse(p.BaseURL)
		if err != nil {
			continue
		}
		if base.Host == known.Host || !p.Local && sameService(base.Hostname(), known.Hostname()) || p.Local && isLoopback(base.Hostname()) && base.Port() == known.Port() {
			return p
		}
	}
	return Preset{Name: base.Hostname(), Dialect: "openai"}
}

// sameService reports whether two hosts are regions of one service, such as dashscope.aliyuncs.com
// and dashscope-intl.aliyuncs.com.
func sameService(a, b string) bool {
	first, domain, ok := strings.Cut(a, ".")
	otherFirst, otherDomain, _ := strings.Cut(b, ".")
	first, _, _ = strings.Cut(first, "-")
	otherFirst, _, _ = strings.Cut(otherFirst, "-")
	return ok && strings.Contains(domain, ".") && first == otherFirst && domain == otherDomain
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}
