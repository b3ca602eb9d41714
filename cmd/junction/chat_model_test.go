package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

func TestAKeyThatIsRefusedIsNamedNotShown(t *testing.T) {
	clitest.NoState(t)
	clitest.Setenv(t, "SECRET_OF_MINE", "sk-0123456789abcdef0123")
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"no such key: `+strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")+r.Header.Get("X-Api-Key")+`"}}`)
	}))
	defer endpoint.Close()
	for _, test := range []struct {
		name  string
		flags []string
		want  string
	}{
		{"of chat completions", []string{"--model", "m", "--base-url", endpoint.URL + "/v1", "--key-env", "SECRET_OF_MINE"}, "the key was refused (the one in SECRET_OF_MINE)"},
		{"of Anthropic", []string{"--model", "anthropic:m", "--base-url", endpoint.URL, "--key-env", "SECRET_OF_MINE"}, "the key was refused (the one in SECRET_OF_MINE)"},
		{"that was not sent", []string{"--model", "m", "--base-url", endpoint.URL + "/v1"}, "the key was refused (none was sent: name its variable with --key-env)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := runs(t, "", append([]string{"chat", "everything", "-p", "hello"}, test.flags...)...)
			if got.code != cli.ExitProtocol || !strings.Contains(got.stderr, test.want) || strings.Contains(got.stderr, "sk-0123") {
				t.Errorf("exit code %d, stderr %s\nwant %q", got.code, got.stderr, test.want)
			}
		})
	}
}

func TestAModelThatIsUnknownHasOneExitCode(t *testing.T) {
	clitest.NoState(t)
	clitest.Setenv(t, "KEY", "none")
	const complaint = `{"type":"error","code":"model_not_found","message":"The model m does not exist","error":{"type":"model_not_found","code":"model_not_found","message":"The model m does not exist"}}`
	for _, status := range []int{http.StatusNotFound, http.StatusBadRequest, http.StatusOK} {
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if status == http.StatusOK { // in the middle of a stream
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, "event: error\ndata: "+complaint+"\n\n")
				return
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, complaint)
		}))
		for _, name := range []string{"m", "openai:m", "responses:m", "anthropic:m", "ollama:m"} {
			got := runs(t, "", "chat", "everything", "-p", "hello", "--model", name, "--base-url", endpoint.URL, "--key-env", "KEY", "--no-save")
			if got.code != cli.ExitProtocol || !strings.Contains(got.stderr, "the provider does not have this model") {
				t.Errorf("%s with status %d: exit code %d, %s", name, status, got.code, got.stderr)
			}
		}
		endpoint.Close()
	}
	runs(t, "", "chat", "-p", "hello", "--model", "offline:m").expect(t, cli.ExitUsage, "", "offline takes no name of a model")
}

func TestTracedChatsEndWithoutAnError(t *testing.T) {
	clitest.NoState(t)
	got := runs(t, "", "chat", "everything", "-p", "add 2 and 40", "--trace")
	if got.code != cli.ExitOK || !strings.Contains(got.stderr, "subscriptions/listen") || strings.Contains(got.stderr, "canceled") {
		t.Errorf("exit code %d, %s", got.code, got.stderr)
	}
}
