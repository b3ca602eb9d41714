package chat_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/model"
)

// opened is a switch with the model of these flags.
func opened(t *testing.T, f *chat.Flags) *chat.ModelSwitch {
	t.Helper()
	m, err := f.Model.Open(clitest.PlaceOf(t))
	if err != nil {
		t.Fatal(err)
	}
	return chat.NewModelSwitch(clitest.PlaceOf(t), f, m)
}

func ask(t *testing.T, m model.Model) {
	t.Helper()
	if _, err := m.Generate(t.Context(), &model.Request{Messages: []model.Message{model.UserText("hi")}}, nil); err != nil {
		t.Fatal(err)
	}
}

func TestTheModelsOfTheProviderAreListedAndOneIsChosen(t *testing.T) {
	clitest.WithoutKeys(t)
	clitest.Setenv(t, "MINE", "key-of-mine")
	var sent []string
	server := clitest.Provider(t, &sent)
	s := opened(t, &chat.Flags{Model: chat.ModelFlags{Model: "ollama:a", BaseURL: server.URL + "/v1", KeyEnv: "MINE", Window: 9_000}})
	list, err := s.List(t.Context())
	if err != nil || len(list) != 3 || list[0].Name != "ollama:a" || !list[0].Current || list[0].About != "The A" || list[1].Name != "ollama:b" || list[2].Name != "ollama:qwen3:8b" || list[2].About != "128k-token context" {
		t.Fatalf("listed %+v, %v", list, err)
	}
	if !strings.Contains(sent[0], "Bearer key-of-mine") {
		t.Errorf("asked %q", sent[0])
	}
	if levels, now := s.Efforts(); len(levels) != 4 || now != "default" {
		t.Errorf("efforts %q, %q", levels, now)
	}
	for _, name := range []string{"ollama:qwen3:8b", "qwen3:8b"} {
		if err := s.Choose(name); err != nil {
			t.Fatal(err)
		}
		if info := s.Info(); info.Provider != "ollama" || info.Name != "qwen3:8b" || info.Window != 128_000 {
			t.Errorf("%s: %+v", name, info)
		}
	}
	if err := s.SetEffort("high"); err != nil {
		t.Fatal(err)
	}
	ask(t, s)
	if last := sent[len(sent)-1]; !strings.Contains(last, `"model":"qwen3:8b"`) || !strings.Contains(last, `"reasoning_effort":"high"`) || !strings.Contains(last, "key-of-mine") {
		t.Errorf("asked %s", last)
	}
}

// Whoever names an endpoint wants no other one to hear of the chat, whatever keys there are.
func TestOnlyTheEndpointOfBaseURLIsAskedForItsModels(t *testing.T) {
	clitest.WithoutKeys(t)
	clitest.Setenv(t, "OPENAI_API_KEY", "key-of-openai")
	for name, want := range map[string][]string{"ollama:a": {"ollama:a", "ollama:b", "ollama:qwen3:8b"}, "a": {"127.0.0.1:a", "127.0.0.1:b", "127.0.0.1:qwen3:8b"}} {
		var sent []string
		server := clitest.Provider(t, &sent)
		s := opened(t, &chat.Flags{Model: chat.ModelFlags{Model: name, BaseURL: server.URL + "/v1"}})
		if from, err := s.Sources(); err != nil || len(from) != 1 || from[0].URL != server.URL+"/v1/models" || from[0].Key != "" {
			t.Fatalf("%s: asks %+v, %v", name, from, err)
		}
		list, err := s.List(t.Context())
		var names []string
		for _, m := range list {
			names = append(names, m.Name)
		}
		if err != nil || !slices.Equal(names, want) || !list[0].Current {
			t.Fatalf("%s: listed %+v, %v", name, list, err)
		}
	}
}

func TestTheEffortOfAnthropicIsThinking(t *testing.T) {
	clitest.WithoutKeys(t)
	clitest.Setenv(t, "MINE", "key-of-mine")
	var sent []string
	server := clitest.Provider(t, &sent)
	s := opened(t, &chat.Flags{Model: chat.ModelFlags{Model: "anthropic:claude-sonnet-4-5", BaseURL: server.URL, KeyEnv: "MINE", Effort: "low"}})
	if list, err := s.List(t.Context()); err != nil || len(list) != 3 || !strings.Contains(sent[0], "key-of-mine") {
		t.Fatalf("listed %+v, %v", list, err)
	}
	ask(t, s)
	if last := sent[len(sent)-1]; !strings.Contains(last, `"budget_tokens":2048`) {
		t.Errorf("asked %s", last)
	}
}

func TestTheModelsOfResponsesAreListedAndAskedWithTheirEffort(t *testing.T) {
	clitest.WithoutKeys(t)
	clitest.Setenv(t, "MINE", "key-of-mine")
	var sent []string
	server := clitest.Provider(t, &sent)
	s := opened(t, &chat.Flags{Model: chat.ModelFlags{Model: "responses:a", BaseURL: server.URL + "/v1", KeyEnv: "MINE", Effort: "low"}})
	list, err := s.List(t.Context())
	if err != nil || len(list) != 3 || list[0].Name != "responses:a" || !list[0].Current || !strings.Contains(sent[0], "/v1/models Bearer key-of-mine") {
		t.Fatalf("listed %+v, %v, asked %q", list, err, sent)
	}
	if levels, now := s.Efforts(); len(levels) != 4 || now != "low" {
		t.Errorf("efforts %q, %q", levels, now)
	}
	for _, name := range []string{"responses:b", "b"} {
		if err := s.Choose(name); err != nil {
			t.Fatal(err)
		}
		ask(t, s)
		if last := sent[len(sent)-1]; !strings.HasPrefix(last, "/v1/responses Bearer key-of-mine ") || !strings.Contains(last, `"model":"b"`) || !strings.Contains(last, `"reasoning":{"effort":"low"}`) {
			t.Errorf("%s: asked %s", name, last)
		}
	}
	clitest.Setenv(t, "OPENAI_API_KEY", "key-of-openai")
	other := opened(t, &chat.Flags{Model: chat.ModelFlags{Model: "ollama:a", BaseURL: server.URL + "/v1"}})
	if err := other.Choose("responses:b"); err != nil || other.Info().Provider != "responses" || other.Info().Name != "b" {
		t.Errorf("chosen %+v, %v", other.Info(), err)
	}
}

// A key, an address and a price are of the provider and the model that they were given for.
func TestAnotherProviderGetsNothingOfTheFirst(t *testing.T) {
	clitest.WithoutKeys(t)
	clitest.Setenv(t, "MINE", "key-of-mine")
	clitest.Setenv(t, "GROQ_API_KEY", "key-of-groq")
	var sent []string
	server := clitest.Provider(t, &sent)
	f := &chat.Flags{Model: chat.ModelFlags{Model: "m", BaseURL: server.URL + "/v1", KeyEnv: "MINE", Price: []float64{1, 2}, Effort: "low"}}
	s := opened(t, f)
	if err := s.Choose("groq:llama"); err != nil {
		t.Fatal(err)
	}
	if _, now := s.Current(); now.BaseURL != "" || now.KeyEnv != "" || now.Price != nil || now.KeyFrom != "" && now.KeyFrom != "GROQ_API_KEY" || now.Effort != "low" {
		t.Errorf("%+v", now)
	}
	if err := s.Choose("mistral:x"); err == nil || !strings.Contains(err.Error(), "set MISTRAL_API_KEY") || s.Info().Name != "llama" {
		t.Errorf("without a key: %v, %+v", err, s.Info())
	}
	if err := s.Choose("offline"); err != nil || s.Info().Language {
		t.Errorf("%v, %+v", err, s.Info())
	}
	if levels, _ := s.Efforts(); levels != nil {
		t.Errorf("the built-in model thinks: %q", levels)
	}
	if err := s.Choose("llama"); err == nil || !strings.Contains(err.Error(), "name its provider") {
		t.Errorf("a name alone: %v", err)
	}
	f.Limits.Money = 1
	if err := chat.NewModelSwitch(clitest.PlaceOf(t), f, s).Choose("groq:llama"); err == nil || !strings.Contains(err.Error(), "--max-cost needs it") {
		t.Errorf("without a price: %v", err)
	}
}

func TestAModelThatTheProviderDoesNotListIsNotAskedForAtItsAddress(t *testing.T) {
	clitest.WithoutKeys(t)
	var sent []string
	server := clitest.Provider(t, &sent)
	s := opened(t, &chat.Flags{Model: chat.ModelFlags{Model: "ollama:a", BaseURL: server.URL + "/v1"}})
	if err := s.Choose("new:one"); err != nil {
		t.Errorf("before the list was read: %v", err)
	}
	if _, err := s.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"antropic:claude": "did you mean the provider anthropic meant?", "nonsense:foo": "ollama does not list it; /model shows"} {
		if err := s.Choose(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.Choose("latest"); err != nil { // a name alone may be an alias
		t.Error(err)
	}
}
