package chat_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/chat"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/launch"
)

// TestServersGetNoSecretsOfJunction starts servers of an environment in which each variable has its own name as its value.
func TestServersGetNoSecretsOfJunction(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mcp.json")
	const text = `{"mcpServers": {"x": {"command": "x"}}, "junction": {
		"authorization": {"provider": {"issuer": "https://login.example", "clientId": "x", "secretEnv": "IDP_SECRET", "domains": ["example.com"]},
			"issuers": {"https://as.example": {"clientId": "x", "secretEnv": "ISSUER_SECRET"}}},
		"registries": [{"url": "https://registry.example", "token": "${env:REGISTRY_TOKEN}"}]}}`
	if err := os.WriteFile(clitest.In(t, path), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	secrets := []string{
		"JUNCTION_ADMIN_TOKEN", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
		"IDP_SECRET", "ISSUER_SECRET", "REGISTRY_TOKEN", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MY_MODEL_KEY", "EMBEDDINGS_KEY",
		"JUNCTION_HEADER_1",
	}
	usual := []string{"PATH", "HOME", "LANG", "LC_ALL", "XDG_RUNTIME_DIR", "https_proxy", "JUNCTION_STATE", "JUNCTION_CHAIN"}
	others := []string{"GITHUB_TOKEN", "EDITOR"}
	var all []string
	for _, name := range slices.Concat(secrets, usual, others) {
		all = append(all, name+"="+name)
	}
	for _, test := range []struct {
		name         string
		severalUsers bool
		unset, words []string
		want         []string
	}{
		{"alone", false, nil, nil, slices.Concat(usual, others)},
		{"with users", true, nil, nil, usual},
		{"taken out", false, []string{"EDITOR", "HOME"}, []string{"$EDITOR"}, []string{"PATH", "LANG", "LC_ALL", "XDG_RUNTIME_DIR", "https_proxy", "JUNCTION_STATE", "JUNCTION_CHAIN", "GITHUB_TOKEN"}},
		{"named in the command line", true, nil, []string{"run", "-e", "GITHUB_TOKEN", "--auth-env=bearer=IDP_SECRET", "${EDITOR}"}, slices.Concat([]string{"IDP_SECRET"}, usual, []string{"GITHUB_TOKEN", "EDITOR"})},
		{"a part of a name", true, nil, []string{"MY_GITHUB_TOKEN", "GITHUB_TOKENS"}, usual},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &cli.App{Place: clitest.PlaceOf(t), Launch: launch.Launcher{SeveralUsers: test.severalUsers}}
			set, err := config.LoadAll([]string{path}, config.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a.Launch.Own.AddSettings(set)
			cmd := chat.Command(a)
			if err := cmd.ParseFlags([]string{"--key-env", "MY_MODEL_KEY", "--embeddings-key-env", "EMBEDDINGS_KEY"}); err != nil {
				t.Fatal(err)
			}
			reach.WithholdVariables(a, cmd.Flags())
			var got []string
			for _, pair := range a.Launch.Environ(all, test.unset, test.words...) {
				name, _, _ := strings.Cut(pair, "=")
				got = append(got, name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
