package clitest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/junction-mcp/junction/model/providers"
)

// Provider starts a fake model provider for chat completions and for Anthropic's messages. It
// appends each request to sent.
func Provider(t *testing.T, sent *[]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		*sent = append(*sent, r.URL.Path+" "+r.Header.Get("Authorization")+r.Header.Get("X-Api-Key")+" "+string(body))
		switch r.URL.Path {
		case "/v1/models":
			_, _ = io.WriteString(w, `{"data":[{"id":"qwen3:8b","context_length":128000},{"id":"models/b"},{"id":"text-embedding-3"},{"id":"bad\u001b[2J"},{"id":"a","display_name":"The A"}]}`)
		case "/v1/messages":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn","usage":{}}`)
		case "/v1/responses":
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"id":"1","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"hello"}]}]}`)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func WithoutKeys(t *testing.T) {
	t.Helper()
	for _, p := range providers.All() {
		if p.KeyEnv != "" {
			Setenv(t, p.KeyEnv, "")
		}
	}
}
