package integration

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/mcp"
	programs "github.com/junction-mcp/junction/mcp/command"
)

// installed are servers that people use, of versions that were newest when this was written, with the arguments that they need to start.
var installed = []struct {
	install.Package
	args []string
	env  []string
	tool string
}{
	{Package: install.Package{Type: install.NPM, Name: "@modelcontextprotocol/server-everything", Version: "2026.8.31"}, tool: "echo"},
	{Package: install.Package{Type: install.NPM, Name: "@modelcontextprotocol/server-filesystem", Version: "2026.8.31"}, args: []string{"/tmp"}, tool: "read_text_file"},
	{Package: install.Package{Type: install.NPM, Name: "@modelcontextprotocol/server-memory", Version: "2026.8.31"}, tool: "create_entities"},
	{Package: install.Package{Type: install.NPM, Name: "@modelcontextprotocol/server-sequential-thinking", Version: "2026.8.31"}, tool: "sequentialthinking"},
	{Package: install.Package{Type: install.NPM, Name: "@modelcontextprotocol/server-github", Version: "2025.4.8"}, tool: "create_issue"},
	{Package: install.Package{Type: install.NPM, Name: "@playwright/mcp", Version: "0.0.83"}, tool: "browser_navigate"},
	{Package: install.Package{Type: install.NPM, Name: "@wonderwhy-er/desktop-commander", Version: "0.2.52"}, args: []string{"--no-onboarding"}, tool: "read_file"},
	{Package: install.Package{Type: install.NPM, Name: "@upstash/context7-mcp", Version: "4.1.1"}, tool: "resolve-library-id"},
	{Package: install.Package{Type: install.NPM, Name: "@antv/mcp-server-chart", Version: "0.9.10"}, tool: "generate_bar_chart"},
	{Package: install.Package{Type: install.NPM, Name: "tavily-mcp", Version: "0.2.22"}, env: []string{"TAVILY_API_KEY=none"}, tool: "tavily_search"},
	{Package: install.Package{Type: install.PyPI, Name: "mcp-server-time", Version: "2026.10.19"}, tool: "convert_time"},
	{Package: install.Package{Type: install.PyPI, Name: "mcp-server-git", Version: "2026.10.19"}, tool: "git_log"},
	{Package: install.Package{Type: install.PyPI, Name: "mcp-server-fetch", Version: "2026.10.24"}, tool: "fetch"},
	{Package: install.Package{Type: install.PyPI, Name: "mcp-server-calculator", Version: "0.2.1"}, tool: "calculate"},
	{Package: install.Package{Type: install.PyPI, Name: "duckduckgo-mcp-server", Version: "0.7.0"}, tool: "search"},
}

func TestRealServersAreInstalledAndStartWithoutANetwork(t *testing.T) {
	t.Parallel()
	store, err := install.NewStore(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range installed {
		t.Run(s.Type+"/"+s.Name, func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			l, err := store.Resolve(t.Context(), s.Package)
			if err != nil {
				t.Fatal(err)
			}
			resolved := time.Since(start)
			if _, err := store.Open(l); !errors.Is(err, install.ErrNotInstalled) {
				t.Errorf("before it is installed: error %v", err)
			}
			if _, err := store.Install(t.Context(), l); err != nil {
				t.Fatal(err)
			}
			t.Logf("version %s with %s, resolved in %s, installed in %s, scripts %v, %d bytes of dependencies", l.Version, l.Integrity, resolved, time.Since(start)-resolved, l.WantScripts, len(l.Dependencies))
			program, err := store.Open(l)
			if err != nil {
				t.Fatal(err)
			}
			tools := toolsWithoutNetwork(t, program, s.args, s.env)
			if !slices.Contains(tools, s.tool) {
				t.Errorf("it has the tools %q", tools)
			}
		})
	}
}

// toolsWithoutNetwork starts a program where there is no network, not even loopback, and lists its tools.
func toolsWithoutNetwork(t *testing.T, program *install.Program, args, env []string) (names []string) {
	t.Helper()
	words := slices.Concat([]string{"--map-root-user", "--net"}, program.Argv, args)
	c := programs.New("unshare", words...)
	c.Environ = slices.Concat(env, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()})
	for name, value := range program.Env {
		c.Env = append(c.Env, name+"="+value)
	}
	start := time.Now()
	client, err := mcp.Dial(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for tool, err := range client.Tools(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	t.Logf("listed after %s: %s", time.Since(start), strings.Join(names, " "))
	return names
}
