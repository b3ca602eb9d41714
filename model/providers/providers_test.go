package providers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

func TestProvidersAreComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/host.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range All() {
		if p.Name == "" || seen[p.Name] || p.BaseURL == "" || p.wire == nil || (p.KeyEnv == "") != p.Local {
			t.Errorf("%q: its row is not complete, or there twice", p.Name)
		}
		seen[p.Name] = true
		if _, known := ByName(p.Service); p.Service != "" && !known {
			t.Errorf("%s: no provider %s has its service", p.Name, p.Service)
		}
		for _, word := range []string{p.Name, p.KeyEnv} {
			if word != "" && !strings.Contains(string(page), "`"+word+"`") {
				t.Errorf("docs/host.md does not have %s", word)
			}
		}
		m, err := p.New(Options{Model: "m", Key: "k"})
		if err != nil || m.Info().Provider != p.Name || m.Info().Name != "m" {
			t.Errorf("%s: %v", p.Name, err)
		}
		if m, err := p.New(Options{Key: "k"}); err == nil || m != nil {
			t.Errorf("%s: a model without a name: %v", p.Name, m)
		}
	}
	if p, known := ByName("gateway.example"); known || p.Name != "gateway.example" || p.KeyEnv != "OPENAI_API_KEY" || p.Local {
		t.Errorf("an unknown provider is %+v, %v", p, known)
	}
}

// server serves each path with its text in answers. asked returns the requests.
func server(t *testing.T, answers map[string]string) (base string, asked func() string) {
	t.Helper()
	var sent []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = append(sent, r.URL.String()+" "+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+r.Header.Get("Anthropic-Version")+" "+string(body))
		answer, found := answers[r.URL.Path]
		if !found {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() string { return strings.Join(sent, "\n") }
}

func TestModelsAreListed(t *testing.T) {
	const list = `{"data":[{"id":"models/b","context_window":9},{"id":"text-embedding-3"},{"id":"bad\u001b[2J"},{"id":""},{"id":"a","display_name":"The A","max_model_len":7}]}`
	a, b := Listed{"a", "The A", 7}, Listed{"b", "", 9}
	for _, test := range []struct {
		provider, below, asked string
		want                   []Listed
	}{
		{"anthropic", "", "/v1/models?limit=1000 k2023-06-01 ", []Listed{b, a}},
		{"responses", "/v1", "/v1/models Bearer k ", []Listed{a, b}},
		{"ollama", "/v1/", "/v1/models Bearer k ", []Listed{a, b}},
		{"gateway.example", "/v1?x=1", "/v1/models?x=1 Bearer k ", []Listed{a, b}},
	} {
		p, _ := ByName(test.provider)
		base, asked := server(t, map[string]string{"/v1/models": list})
		at, err := p.ListURL(base + test.below)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.List(t.Context(), at, "k")
		if err != nil || !slices.Equal(got, test.want) || asked() != test.asked {
			t.Errorf("%s: %+v, %v, asked %s", test.provider, got, err, asked())
		}
	}
}

func TestListsThatFail(t *testing.T) {
	p, _ := ByName("ollama")
	base, _ := server(t, map[string]string{"/text": "models"})
	for at, want := range map[string]string{
		base + "/none":         "the models of ollama: status 404",
		base + "/text":         "the models of ollama: the list is not the expected JSON",
		"http://secret@%/none": "the models of ollama: the base URL is not valid",
	} {
		if _, err := p.List(t.Context(), at, ""); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", at, err, want)
		}
	}
	if _, err := p.List(t.Context(), "http://127.0.0.1:1/secret", ""); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error %v has the address", err)
	}
	if _, err := p.ListURL("http://secret@%/"); err == nil {
		t.Error("a URL that is none has a list")
	}
}

func TestEffortIsRequestedInTheFormOfTheProvider(t *testing.T) {
	for name, want := range map[string]string{"anthropic": `"budget_tokens":8192`, "responses": `"reasoning":{"effort":"medium"}`, "groq": `"reasoning_effort":"medium"`} {
		p, _ := ByName(name)
		for _, effort := range append(Efforts(), "") {
			base, asked := server(t, nil)
			m, err := p.New(Options{Model: "m", BaseURL: base, Key: "k", Effort: effort})
			if err != nil {
				t.Fatal(err)
			}
			_, _ = m.Generate(t.Context(), &model.Request{Messages: []model.Message{model.UserText("hi")}}, nil)
			if got := strings.Contains(asked(), want); got != (effort == "medium") {
				t.Errorf("%s, effort %q: asked %s", name, effort, asked())
			}
		}
	}
}
