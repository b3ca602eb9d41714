package openai

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

func TestOptionsThatSayTooLittle(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no model":              {},
		"an unknown provider":   {Model: "m", Provider: "nobody"},
		"a URL without scheme":  {Model: "m", BaseURL: "localhost:8000"},
		"a URL of another kind": {Model: "m", BaseURL: "ftp://host/v1"},
		"a URL without host":    {Model: "m", BaseURL: "http:///v1"},
		"a URL with a password": {Model: "m", BaseURL: "me:s3cret@host/v1?key=s3cret"},
	} {
		m, err := New(o)
		if err == nil || m != nil {
			t.Errorf("%s is taken", name)
		} else if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s is reported: %v", name, err)
		}
	}
}

func TestProvidersAreKnownByTheirURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://api.openai.com/v1":                                "openai",
		"https://dashscope.aliyuncs.com/compatible-mode/v1":        "qwen",
		"https://generativelanguage.googleapis.com/v1beta/openai/": "gemini",
		"http://127.0.0.1:11434/v1":                                "ollama",
		"http://localhost:1234/v1":                                 "lmstudio",
		"http://10.0.0.5:11434/v1":                                 "10.0.0.5",
		"https://models.example.com/v1":                            "models.example.com",
		"https://api.openai.com.evil.example/v1":                   "api.openai.com.evil.example",
		"https://api.example.ai/v1":                                "api.example.ai",
	} {
		m, err := New(Options{Model: "m", BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Info().Provider; got != want {
			t.Errorf("%s is %s, not %s", base, got, want)
		}
	}
}

func TestPresetsAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range Presets() {
		base, err := url.Parse(p.BaseURL)
		if err != nil || base.Host == "" || seen[p.Name] {
			t.Errorf("%s: %s", p.Name, p.BaseURL)
		}
		seen[p.Name] = true
		if _, ok := model.DialectNamed(p.Dialect); !ok {
			t.Errorf("%s: no dialect %q", p.Name, p.Dialect)
		}
		if p.Local != (p.KeyEnv == "") || p.Local != (base.Scheme == "http") {
			t.Errorf("%s: local, or with a key?", p.Name)
		}
		if got := byURL(base); got != p {
			t.Errorf("%s is taken for %s", p.BaseURL, got.Name)
		}
		if m, err := New(Options{Model: "m", Provider: p.Name}); err != nil || m.Info().Provider != p.Name {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

func TestInfoFollowsTheOptions(t *testing.T) {
	t.Parallel()
	price := model.Price{Input: 1, Output: 2}
	m, err := New(Options{Model: "m", Provider: "mine", BaseURL: "http://h/v1", Window: 9, Price: price})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Info(), (model.Info{Provider: "mine", Name: "m", Window: 9, MaxTools: 128, Price: price, Language: true}); got != want {
		t.Errorf("%+v", got)
	}
}

func TestRequestsFollowTheOptions(t *testing.T) {
	t.Parallel()
	s, m := at(t, Options{
		BaseURL: "http://localhost:11434/v1/", MaxTokens: 77, Key: "k",
		Body: map[string]any{"reasoning_effort": "low", "options": map[string]any{"num_ctx": 8192}, "a.b": 1},
	})
	req := withTools("a")
	req.Choice = model.ChoiceNone
	generate(t, m, req)
	for name, want := range map[string]string{
		"reasoning_effort": `"low"`, "options": `{"num_ctx":8192}`, "a.b": "1", "max_tokens": "77", "stream": "true", "tool_choice": `"none"`,
	} {
		if got := s.member(t, 0, name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	if s.url != "http://localhost:11434/v1/chat/completions" || s.header.Get("Authorization") != "Bearer k" {
		t.Errorf("%s %v", s.url, s.header)
	}
}

// OpenAI's libraries read OPENAI_API_KEY and similar variables, and send that key to any base URL.
func TestNothingIsTakenFromTheEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"} {
		t.Setenv(name, "sk-of-openai")
	}
	t.Setenv("OPENAI_BASE_URL", "https://elsewhere.example/v1")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Secret: sk-of-openai")
	s, m := at(t, Options{BaseURL: "http://localhost:1234/v1"})
	generate(t, m, hello())
	if !strings.HasPrefix(s.url, "http://localhost:1234/") {
		t.Errorf("asked %s", s.url)
	}
	for name, values := range s.header {
		if strings.Contains(strings.Join(values, " "), "sk-of-openai") {
			t.Errorf("%s: %v", name, values)
		}
	}
}

func TestMediaOfTheUserIsShown(t *testing.T) {
	t.Parallel()
	s, m := at(t, Options{})
	req := hello()
	req.Messages[0].Parts = []model.Part{
		{Text: "look"}, {Media: &model.Media{Type: "image/jpeg", Data: []byte("JPG")}}, {Media: &model.Media{Type: "audio/wav", Data: []byte("WAV")}},
		{Media: &model.Media{Type: "application/pdf", Data: []byte("PDF")}}, {Media: &model.Media{Type: "font/woff", Data: []byte("x")}},
	}
	generate(t, m, req)
	want := `[{"content":[{"text":"look","type":"text"},{"image_url":{"url":"data:image/jpeg;base64,SlBH"},"type":"image_url"},` +
		`{"input_audio":{"data":"V0FW","format":"wav"},"type":"input_audio"},` +
		`{"file":{"file_data":"data:application/pdf;base64,UERG","filename":"document.pdf"},"type":"file"},` +
		`{"text":"[font/woff of 1 bytes, which cannot be shown to this model]","type":"text"}],"role":"user"}]`
	if got := s.member(t, 0, "messages"); got != want {
		t.Errorf("%s", got)
	}
}

func TestIDsFitTheProvider(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60)
	for provider, want := range map[string]int{"openai": 29, "mistral": 9} {
		s, m := at(t, Options{Provider: provider})
		req := hello()
		req.Messages = append(req.Messages,
			model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Call: &model.Call{ID: long, Name: "a", Arguments: json.RawMessage("{}")}}}},
			model.Message{Role: model.RoleTool, Parts: []model.Part{{Result: &model.Result{CallID: long, Name: "a", Parts: []model.Part{{Text: "x"}}}}}})
		generate(t, m, req)
		var messages []struct {
			Calls []struct{ ID string } `json:"tool_calls"`
			ID    string                `json:"tool_call_id"`
		}
		if err := json.Unmarshal([]byte(s.member(t, 0, "messages")), &messages); err != nil {
			t.Fatal(err)
		}
		if id := messages[1].Calls[0].ID; id != messages[2].ID || len(id) != want {
			t.Errorf("%s: %q and %q", provider, id, messages[2].ID)
		}
	}
}

func TestTapGetsEveryExchange(t *testing.T) {
	t.Parallel()
	s, m := at(t, Options{Key: "sk-secret"}, refused("stream_options is not supported"))
	var reported []model.Exchange
	req := hello()
	req.Tap = func(x model.Exchange) { reported = append(reported, x) }
	generate(t, m, req)
	if len(reported) != 2 || reported[0].Status != http.StatusBadRequest || reported[1].Status != http.StatusOK || string(reported[1].ResponseBody) != fine {
		t.Fatalf("%+v", reported)
	}
	for i, x := range reported {
		if string(x.RequestBody) != s.sent[i] || x.Method != "POST" || x.URL != "https://api.openai.com/v1/chat/completions" {
			t.Errorf("%d: %+v", i, x)
		}
	}
}

func TestToolSchemasKeepTheOrderOfTheirProperties(t *testing.T) {
	t.Parallel()
	s, m := at(t, Options{})
	req := hello()
	req.Tools = []model.Tool{{Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}`)}}
	generate(t, m, req)
	if got := s.member(t, 0, "tools"); !strings.Contains(got, `"properties":{"z":{"type":"string"},"a":{"type":"string"}}`) {
		t.Errorf("%s", got)
	}
}
