package registry

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestNamesThatCanBeTakenForBetterKnownOnesAreFound(t *testing.T) {
	f := newFake(t)
	for i := range 5 {
		f.publish(day(i), serverJSON("io.github.github/github-mcp-server", fmt.Sprintf("1.%d.0", i), "The official one of GitHub", `"repository":{"url":"https://github.com/x","source":"github"}`))
		f.publish(day(i), serverJSON("com.microsoft/playwright", fmt.Sprintf("1.%d.0", i), "Drives a browser", `"packages":[{"registryType":"npm","identifier":"@acme/playwright-tool"}]`))
		f.publish(day(i), serverJSON("com.acme/core", fmt.Sprintf("1.%d.0", i), "A core", `"packages":[{"registryType":"pypi","identifier":"acme.core-tool"}]`))
		f.publish(day(i), serverJSON(fmt.Sprintf("io.github.u%d/mcp-server", i), "1.0.0", "Anything", ""))
		f.publish(day(i), serverJSON(fmt.Sprintf("io.github.w%d/weather", i), fmt.Sprintf("1.%d.0", i), "Weather", ""))
	}
	for _, name := range []string{"io.github.githud/github-mcp-server", "io.github.g1thub/github-mcp-server", "io.github.evil/github-mcp-server", "net.evil/playwrigth", "com.microsoft/playwright2", "io.github.w9/weather"} {
		f.publish(day(90), serverJSON(name, "1.0.0", "New", ""))
	}
	m := newMirror(t, Source{Name: "fake", URL: f.URL})
	syncAll(t, m)
	for name, want := range map[string]string{
		"io.github.githud/github-mcp-server":        "[{io.github.github/github-mcp-server one letter differs}]",
		"io.github.g1thub/github-mcp-server":        "[{io.github.github/github-mcp-server one letter differs}]",
		"io.github.evil/github-mcp-server":          "[{io.github.github/github-mcp-server the same name, but another owner}]",
		"net.evil/playwrigth":                       "[{com.microsoft/playwright almost the same name, but another owner}]",
		"com.microsoft/playwright2":                 "[]", // the same owner
		"io.github.github/github-mcp-server":        "[]", // itself the better known one
		"io.github.w9/weather":                      "[]", // generic names
		"io.github.u0/mcp-server":                   "[]",
		"@acme/playwright-tool":                     "[]",
		"@acme/playwrlght-tool":                     "[]", // the same owner
		"@acmee/playwright-tool":                    "[{@acme/playwright-tool one letter differs}]",
		"@modelcontextprotocl/server-filesystem":    "[{@modelcontextprotocol/server-filesystem one letter differs}]",
		"@modelcontextprotocol/server-filesystem":   "[]",
		"@model-context-protocol/server-filesystem": "[{@modelcontextprotocol/server-filesystem only case, punctuation or the order of words differs}]",
		"firecrawI-mcp":                             "[{firecrawl-mcp one letter differs}]",
		"firecrawl-rncp":                            "[{firecrawl-mcp only case, punctuation or the order of words differs}]",
		"mcp-server-gcp":                            "[]",
		"something-else":                            "[]",
		"@brave/brave-search-mcp-server":            "[]",
	} {
		look := m.Similar
		if !strings.Contains(name, ".") {
			look = func(ctx context.Context, name string) ([]Likeness, error) { return m.SimilarPackage(ctx, "npm", name) }
		}
		got, err := look(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if text := fmt.Sprint(got); text != want {
			t.Errorf("%s looks like %s, want %s", name, text, want)
		}
	}
	for name, want := range map[string]string{
		"awslabs.aws-documentation-mcp-server": "[]", // the same package
		"Mcp_Server.Fetch[all]":                "[]",
		"acme.Core_tool":                       "[]",
		"acme.cors-tool":                       "[{acme-core-tool one letter differs}]",
		"awslab.aws-documentation-mcp-server":  "[{awslabs-aws-documentation-mcp-server one letter differs}]",
	} {
		if got, err := m.SimilarPackage(t.Context(), "pypi", name); err != nil || fmt.Sprint(got) != want {
			t.Errorf("of PyPI, %s looks like %v, want %s: %v", name, got, want, err)
		}
	}
	if got := fmt.Sprint(SimilarKnown("npm", "mcp-fetch-server")); got != "[{mcp-server-fetch only case, punctuation or the order of words differs}]" {
		t.Errorf("another order: %s", got)
	}
	if got := fmt.Sprint(SimilarKnown("npm", "mongodb-mpc-server")); got != "[{mongodb-mcp-server one letter differs}]" {
		t.Errorf("without a mirror: %s", got)
	}
}
