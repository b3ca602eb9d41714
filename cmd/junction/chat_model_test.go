package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAKeyThatIsRefusedIsNamedNotShown(t *testing.T) {
	noState(t)
	t.Setenv("SECRET_OF_MINE", "sk-0123456789abcdef0123")
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
			if got.code != exitProtocol || !strings.Contains(got.stderr, test.want) || strings.Contains(got.stderr, "sk-0123") {
				t.Errorf("exit code %d, stderr %s\nwant %q", got.code, got.stderr, test.want)
			}
		})
	}
}
