//go:build unix

package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// variables returns a lookup function for an environment.
func variables(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := values[name]
		return value, ok
	}
}

// sample parses a file of testdata as if it were in /home/ada/app or /home/ada.
func sample(t *testing.T, name string, o Options) *File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	folder, rest, _ := strings.Cut(name, "/")
	folder = map[string]string{"project": "/home/ada/app", "home": "/home/ada"}[folder]
	return parse(t, folder+"/"+rest, string(data), o)
}

func parse(t *testing.T, path, data string, o Options) *File {
	t.Helper()
	if o.WorkDir == "" {
		o.WorkDir = "/home/ada/app"
	}
	if o.HomeDir == "" {
		o.HomeDir = "/home/ada"
	}
	if o.Getenv == nil {
		o.Getenv = variables(nil)
	}
	f, err := Parse(path, []byte(data), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func unresolved(t *testing.T, f *File, name string) error {
	t.Helper()
	d, ok := f.Server(name)
	if !ok {
		t.Fatalf("no server %q; problems: %v", name, f.Problems)
	}
	if _, err := d.Resolve(t.Context()); err != nil {
		return err
	}
	t.Fatalf("server %q was resolved; want an error", name)
	return nil
}

func names(f *File) []string {
	var list []string
	for _, d := range f.Servers {
		list = append(list, d.Name)
	}
	return list
}

func texts(list []*Problem) []string {
	var all []string
	for _, p := range list {
		all = append(all, p.Error())
	}
	return all
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %#v\nwant %#v", what, got, want)
	}
}

func TestEachFormatIsKnownAndListedInFileOrder(t *testing.T) {
	for _, c := range []struct {
		file    string
		format  Format
		project bool
		servers []string
	}{
		{"home/.config/Claude/claude_desktop_config.json", ClaudeDesktop, false, []string{"filesystem", "github", "remote"}},
		{"project/.mcp.json", ClaudeCode, true, []string{"github", "linear", "old"}},
		{"home/.claude.json", ClaudeCode, false, []string{"tracker", "notes"}},
		{"project/.cursor/mcp.json", Cursor, true, []string{"python", "hosted"}},
		{"project/.vscode/mcp.json", VSCode, true, []string{"perplexity", "github", "picker", "unnamed"}},
		{"home/.codeium/windsurf/mcp_config.json", Windsurf, false, []string{"remote", "local"}},
		{"home/.config/zed/settings.json", Zed, false, []string{"postgres", "time"}},
		{"home/.config/junction/mcp.json", Junction, false, []string{"weather", "news"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			f := sample(t, c.file, Options{})
			same(t, "format", f.Format, c.format)
			same(t, "project", f.Project, c.project)
			same(t, "servers", names(f), c.servers)
			same(t, "problems", texts(f.Problems), nil)
		})
	}
}

func TestPathsTellTheFormat(t *testing.T) {
	for path, want := range map[string]Format{
		"/home/ada/.cursor/mcp.json":                                              Cursor,
		"/home/ada/.config/Code/User/mcp.json":                                    VSCode,
		"/home/ada/.config/Code - Insiders/User/mcp.json":                         VSCode,
		"/home/ada/.config/Code/User/profiles/1f/mcp.json":                        VSCode,
		"/home/ada/Library/Application Support/Claude/claude_desktop_config.json": ClaudeDesktop,
		"/srv/app/junction.json":                                                  Junction,
		"/srv/app/servers.json":                                                   Junction,
	} {
		f := parse(t, path, `{"mcpServers":{}}`, Options{})
		same(t, path, f.Format, want)
		same(t, path+" is a project's", f.Project, path == "/srv/app/junction.json")
	}
}

func TestMembersTellTheFormatOfOtherFiles(t *testing.T) {
	for data, want := range map[string]Format{
		`{"servers":{}}`:                     VSCode,
		`{"inputs":[],"servers":{}}`:         VSCode,
		`{"inputs":[],"mcpServers":{}}`:      Junction,
		`{"context_servers":{}}`:             Zed,
		`{"mcp":{"servers":{}}}`:             Junction,
		"\xef\xbb\xbf" + `{"mcpServers":{}}`: Junction,
	} {
		same(t, data, parse(t, "/etc/some.json", data, Options{}).Format, want)
	}
}

func TestClaudeDesktopHasNoVariables(t *testing.T) {
	f := sample(t, "home/.config/Claude/claude_desktop_config.json", Options{Getenv: variables(map[string]string{"TOKEN": "t"})})
	same(t, "remote", *resolve(t, f, "remote"), Server{
		Name: "remote", Kind: Stdio, Command: "npx", Source: f.Path, Env: map[string]string{},
		Args: []string{"mcp-remote", "https://mcp.example.com/sse", "--header", "Authorization: Bearer ${TOKEN}"},
	})
	same(t, "warnings", texts(f.Warnings), []string{
		f.Path + `: server "remote": args[3]: the variable TOKEN is not replaced: a Claude Desktop file has no variables`,
	})
}

func TestClaudeCodeExpandsNamesAndDefaults(t *testing.T) {
	f := sample(t, "project/.mcp.json", Options{Getenv: variables(map[string]string{
		"PROJECT_ROOT": "/srv/${LEVEL}", "GITHUB_TOKEN": "ghp_x", "LEVEL": "", "LINEAR_TOKEN": "lin",
	})})
	same(t, "github", *resolve(t, f, "github"), Server{
		Name: "github", Kind: Stdio, Source: f.Path, Dir: "/home/ada/app", Timeout: 10 * time.Minute,
		Command: "/home/ada/app/bin/github-mcp",
		Args:    []string{"--root", "/srv/${LEVEL}", "shell ${var%suffix} and $HOME"},
		Env:     map[string]string{"GITHUB_TOKEN": "ghp_x", "LEVEL": ""},
	})
	same(t, "linear", *resolve(t, f, "linear"), Server{
		Name: "linear", Kind: HTTP, Source: f.Path, URL: "https://mcp.linear.app/mcp",
		Headers: map[string]string{"Authorization": "Bearer lin"},
	})
	same(t, "old", resolve(t, f, "old").Kind, SSE)
}

func TestClaudeCodeServersOfTheProjectHideGeneralOnes(t *testing.T) {
	f := sample(t, "home/.claude.json", Options{})
	tracker := resolve(t, f, "tracker")
	same(t, "url", tracker.URL, "https://local.example.com/mcp")
	f = sample(t, "home/.claude.json", Options{WorkDir: "/home/ada"})
	same(t, "elsewhere", names(f), []string{"notes", "tracker"})
	same(t, "url elsewhere", resolve(t, f, "tracker").URL, "https://general.example.com/mcp")
}

func TestCursorExpandsItsOwnVariablesOnly(t *testing.T) {
	workspace, err := filepath.Abs("testdata/project")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(workspace, ".cursor/mcp.json")
	f, err := Load(path, Options{HomeDir: "/home/ada", Getenv: variables(map[string]string{"API_KEY": "k"})})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "python", *resolve(t, f, "python"), Server{
		Name: "python", Kind: Stdio, Source: path, Dir: workspace, Command: "python",
		Args: []string{filepath.Join(workspace, "server.py"), "--home=/home/ada", "--name", "project"},
		Env: map[string]string{
			"API_KEY": "k", "SHELL_STYLE": "${API_KEY}", "COLOR": "blue", "EMPTY": "",
			"DATABASE_URL": "postgres://ada:s3cret@db/app",
		},
	})
	same(t, "hosted", *resolve(t, f, "hosted"), Server{
		Name: "hosted", Kind: Auto, Source: path, URL: "https://api.example.com/mcp",
		Headers: map[string]string{"X-API-Key": "k"},
	})
	same(t, "warnings", texts(f.Warnings), []string{
		path + `: server "python": env.SHELL_STYLE: the variable API_KEY is not replaced: a Cursor file writes ${env:NAME}`,
		path + `: server "hosted": auth: is ignored: Junction has no such member`,
	})
}

func TestVSCodeAsksForEachInputOnce(t *testing.T) {
	var asked []Input
	f := sample(t, "project/.vscode/mcp.json", Options{Input: func(_ context.Context, in Input) (string, error) {
		asked = append(asked, in)
		return map[string]string{"region": "us", "perplexity-key": "pplx"}[in.ID], nil
	}})
	same(t, "asked while reading", len(asked), 0)
	same(t, "perplexity", *resolve(t, f, "perplexity"), Server{
		Name: "perplexity", Kind: Stdio, Source: f.Path, Dir: "/home/ada/app/tools", Command: "docker",
		Args:  []string{"run", "-i", "--rm", "-e", "REGION=us", "mcp/perplexity-ask"},
		Env:   map[string]string{"PERPLEXITY_API_KEY": "pplx", "RETRIES": "3"},
		Unset: []string{"DEBUG"},
	})
	github := resolve(t, f, "github")
	same(t, "kind of VS Code's http", github.Kind, Auto)
	same(t, "header", github.Headers["Authorization"], "Bearer pplx")
	same(t, "asked", asked, []Input{
		{ID: "region", Type: "pickString", Description: "Region", Default: "eu", Options: []Option{{"eu", "eu"}, {"us", "us"}}, Source: f.Path, Server: "perplexity"},
		{ID: "perplexity-key", Type: "promptString", Description: "Perplexity API key", Password: true, Source: f.Path, Server: "perplexity"},
	})
}

func TestInputsThatCannotBeHad(t *testing.T) {
	refuse := func(context.Context, Input) (string, error) { return "", errors.New("the user declined") }
	invent := func(context.Context, Input) (string, error) { return "s3cret", nil }
	for _, c := range []struct {
		server, want string
		input        func(context.Context, Input) (string, error)
	}{
		{"perplexity", `args[4]: input "region" must be asked for, and there is no terminal for questions; run in a terminal, or replace ${input:region} by a value`, nil},
		{"github", `headers.Authorization: input "perplexity-key" must be asked for, and there is no terminal for questions; run in a terminal, or replace ${input:perplexity-key} by a value`, nil},
		{"perplexity", `args[4]: input "region" was not given: the user declined`, refuse},
		{"perplexity", `args[4]: the answer to input "region" is not one of its options`, invent},
		{"picker", `args[0]: input "picked" is a command of VS Code, which cannot run here; replace ${input:picked} by a value`, invent},
		{"unnamed", `args[0]: input "nowhere" is not among the file's inputs; add it there`, invent},
	} {
		f := sample(t, "project/.vscode/mcp.json", Options{Input: c.input})
		err := unresolved(t, f, c.server)
		same(t, c.server, err.Error(), f.Path+": server \""+c.server+"\": "+c.want)
		same(t, "is ErrInput", errors.Is(err, ErrInput), true)
	}
}

func TestAQuestionEndsWithItsContext(t *testing.T) {
	f := sample(t, "project/.vscode/mcp.json", Options{Input: func(ctx context.Context, _ Input) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"perplexity", "github"} {
		d, _ := f.Server(name)
		if _, err := d.Resolve(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
	}
}

func TestWindsurfReadsServerURL(t *testing.T) {
	f := sample(t, "home/.codeium/windsurf/mcp_config.json", Options{Getenv: variables(map[string]string{"AUTH_TOKEN": "t"})})
	same(t, "remote", *resolve(t, f, "remote"), Server{
		Name: "remote", Kind: Auto, Source: f.Path, URL: "https://mcp.example.com/mcp", Headers: map[string]string{"API_KEY": "Bearer t"},
	})
	local, _ := f.Server("local")
	same(t, "disabled", local.Disabled, true)
	same(t, "error", unresolved(t, f, "local").Error(),
		f.Path+`: server "local": env.KEY: file "/run/secrets/key" cannot be read: no such file or directory; put the secret there, or change the path`)
}

func TestZedCommandsMayBeObjects(t *testing.T) {
	f := sample(t, "home/.config/zed/settings.json", Options{})
	same(t, "postgres", *resolve(t, f, "postgres"), Server{
		Name: "postgres", Kind: Stdio, Source: f.Path, Command: "postgres-context-server",
		Args: []string{"--read-only"}, Env: map[string]string{"DATABASE_URL": "postgres://ada:s3cret@db/app"},
	})
	d, _ := f.Server("time")
	same(t, "enabled: false", d.Disabled, true)
}

func TestJunctionKnowsAllVariables(t *testing.T) {
	f := sample(t, "home/.config/junction/mcp.json", Options{
		Getenv: variables(map[string]string{"UNITS": "imperial"}),
		Input:  func(context.Context, Input) (string, error) { return "n3ws", nil },
	})
	same(t, "weather", *resolve(t, f, "weather"), Server{
		Name: "weather", Kind: Stdio, Source: f.Path, Command: "weather-mcp", Timeout: 90 * time.Second, Env: map[string]string{},
		Args: []string{"--near", "Oslo", "--units", "imperial", "/home/ada/notes"},
	})
	same(t, "news", *resolve(t, f, "news"), Server{
		Name: "news", Kind: Auto, Source: f.Path, URL: "https://news.example.com/mcp", Timeout: 2500 * time.Millisecond,
		Headers: map[string]string{"Authorization": "Bearer n3ws"},
	})
}

func TestTypesHaveSeveralSpellings(t *testing.T) {
	for spelling, want := range map[string]Kind{
		"stdio": Stdio, "local": Stdio, "http": HTTP, "HTTP": HTTP, "streamable-http": HTTP, "streamable_http": HTTP,
		"streamableHttp": HTTP, "sse": SSE, "remote": Auto,
	} {
		f := parse(t, "servers.json", `{"mcpServers":{"a":{"type":"`+spelling+`","command":"x","url":"https://a.example"}}}`, Options{})
		if d, ok := f.Server("a"); !ok || d.Kind != want {
			t.Errorf("type %q: %v, want %v", spelling, d, want)
		}
	}
}

func TestRelativePathsBelongToTheFolderOfTheFile(t *testing.T) {
	const data = `{"mcpServers":{"a":{"command":"./run","cwd":"sub"},"b":{"command":"bin/run"},"c":{"command":"run"},"d":{"command":"/opt/run","cwd":"/srv"}}}`
	for path, want := range map[string][]string{
		"/srv/app/.mcp.json":         {"/srv/app/run in /srv/app/sub", "/srv/app/bin/run in /srv/app", "run in /srv/app", "/opt/run in /srv"},
		"/srv/app/.vscode/mcp.json":  {"/srv/app/run in /srv/app/sub", "/srv/app/bin/run in /srv/app", "run in /srv/app", "/opt/run in /srv"},
		"/home/ada/.cursor/mcp.json": {"/home/ada/.cursor/run in /home/ada/.cursor/sub", "/home/ada/.cursor/bin/run in ", "run in ", "/opt/run in /srv"},
		"servers.json":               {"/home/ada/app/run in /home/ada/app/sub", "/home/ada/app/bin/run in ", "run in ", "/opt/run in /srv"},
	} {
		f := parse(t, path, data, Options{})
		var got []string
		for _, d := range f.Servers {
			s := resolve(t, f, d.Name)
			got = append(got, s.Command+" in "+s.Dir)
		}
		same(t, path, got, want)
	}
}

func TestFormatsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for f := Junction; f <= Zed; f++ {
		seen[f.String()] = true
	}
	same(t, "names", slices.Sorted(maps.Keys(seen)), []string{"Claude Code", "Claude Desktop", "Cursor", "Junction", "VS Code", "Windsurf", "Zed"})
	same(t, "beyond", (Zed + 1).String(), "unknown format")
}

func TestLookupsOfDefinitions(t *testing.T) {
	for file, want := range map[string]string{
		"project/.mcp.json":                              "[CACHE PROJECT_ROOT GITHUB_TOKEN LEVEL] [LINEAR_URL LINEAR_TOKEN] []",
		"project/.cursor/mcp.json":                       "[API_KEY] [API_KEY]",
		"project/.vscode/mcp.json":                       "[input:region input:perplexity-key] [input:perplexity-key] [input:picked] [input:nowhere]",
		"home/.config/junction/mcp.json":                 "[CITY UNITS] [input:token]",
		"home/.config/Claude/claude_desktop_config.json": "[] [] []",
	} {
		var got []string
		for _, d := range sample(t, file, Options{}).Servers {
			got = append(got, fmt.Sprint(d.Variables()))
		}
		same(t, file, strings.Join(got, " "), want)
	}
}
