package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
)

// hostFiles are those of some hosts in a home of their own.
func hostFiles(t *testing.T) (home string) {
	t.Helper()
	clitest.Alone(t)
	home, err := clitest.PlaceOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		".cursor/mcp.json": "\ufeff{ // mine\r\n  \"mcpServers\": {\r\n    \"github\": {\"command\": \"npx\", \"args\": [\"-y\", \"gh\", \"--api-key\", \"cursor-key\"], \"env\": {\"GITHUB_TOKEN\": \"ghp_aaaaaaaaaaaa\", \"LOG\": \"${env:LOG}\"}, \"autoApprove\": [\"t\"]},\r\n" +
			"    \"web\": {\"url\": \"https://web.example/mcp?key=s3cretvalue\", \"headers\": {\"Authorization\": \"Bearer abcdefgh\"}},\r\n    \"gateway\": {\"command\": \"junction\", \"args\": [\"up\", \"--stdio\"]},\r\n  },\r\n}\r\n",
		".codex/config.toml":                  "[mcp_servers.web]\nurl = 'https://web.example/mcp?key=s3cretvalue'\nhttp_headers = { Authorization = 'Bearer abcdefgh' }\n[mcp_servers.github]\ncommand = 'gh-mcp'\nenabled = false\n",
		".claude.json":                        `{"mcpServers": {"watched": {"command": "junction", "args": ["proxy", "--name", "watched", "--", "x"]}}, "projects": {"/elsewhere": {"mcpServers": {"far": {"command": "y"}}}}}`,
		".codeium/windsurf/mcp_config.json":   `{"mcpServers": {"bad": {"command": "z", "env": {"A=B": "1"}}}}`,
		"Code/User/mcp.json":                  `{"servers": {"asks": {"command": "a", "env": {"K": "${input:k}"}}, "py": {"command": "${command:python}"}}}`,
		".config/goose/config.yaml":           "extensions:\n  developer:\n    type: builtin\n",
		".continue/config.yaml":               "mcpServers: [\n",
		"goose/config.yaml":                   "extensions:\n  developer:\n    type: builtin\n",
		"zed/settings.json":                   "// nothing here\n{}\n",
		".junie/mcp/mcp.json":                 "",
		"Claude/claude_desktop_config.json":   `{"mcpServers": {}}`,
		".gemini/settings.json":               `{"theme": "x"}`,
		".lmstudio/mcp.json":                  `{"mcpServers": {"junction": {"url": "http://127.0.0.1:1/mcp"}}}`,
		"Library/Application Support/Claude/": "",
	} {
		if !strings.HasSuffix(name, "/") {
			writeTap(t, filepath.Join(home, filepath.FromSlash(name)), content)
		}
	}
	return home
}

func TestTheServersOfAllHostsComeIntoOneFile(t *testing.T) {
	home := hostFiles(t)
	own := filepath.Join(home, "junction", "mcp.json")
	const want = `{
  "mcpServers": {
    "github": {
      "command": "npx",
      "args": ["-y", "gh", "--api-key", "${secret:github-args-3}"],
      "env": {
        "GITHUB_TOKEN": "${secret:github-GITHUB_TOKEN}",
        "LOG": "${env:LOG}"
      }
    },
    "web": {
      "url": "https://web.example/mcp?key=${secret:web-url}",
      "headers": {
        "Authorization": "Bearer ${secret:web-Authorization}"
      }
    },
    "asks": {
      "command": "a",
      "env": {
        "K": "${secret:k}"
      }
    },
    "github-codex": {
      "command": "gh-mcp",
      "disabled": true
    },
    "junction": {
      "url": "http://127.0.0.1:1/mcp"
    }
  }
}
`
	dry := runs(t, "", "import", "--all", "--dry-run")
	dry.expect(t, cli.ExitConnection, "github (stdio): npx -y gh --api-key ***", "some files of the hosts could not be read")
	if _, err := os.Stat(own); err == nil {
		t.Error("a dry run wrote a file")
	}
	runs(t, "", "import", "--all").expect(t, cli.ExitConnection, "secrets in clear text", "not a terminal: --yes confirms")
	if _, err := os.Stat(own); err == nil {
		t.Error("a file is written although nobody agreed")
	}
	got := runs(t, "", "import", "--all", "--yes")
	got.expect(t, cli.ExitConnection, "Added to ~/junction/mcp.json: 5 servers\nIts server needs this before it can start: junction secret set k\n", "some files of the hosts could not be read")
	for _, said := range []string{
		"Cursor, ~/.cursor/mcp.json\n",
		"    not carried over: autoApprove\n",
		"  gateway: not copied: it is junction itself\n",
		"  watched: not copied: it is tapped; first run: junction host tap --undo\n",
		"  far: not copied: it is only for /elsewhere; run junction host import there\n",
		"  bad: not copied: junction cannot use it: ",
		"  py: not copied: command: only the host itself can replace ${command:python}\n",
		"  web: exists already\n",
		"  github-codex (stdio): gh-mcp\n    called github-codex: a different server is called github already\n    it is disabled\n",
		"  developer: not copied: the server is built into the host: it has neither cmd nor uri\n",
		".continue/config.yaml: not YAML: ",
	} {
		if !strings.Contains(got.stdout, said) || !strings.Contains(dry.stdout, said) {
			t.Errorf("%q is missing in\n%s", said, got.stdout)
		}
	}
	for _, secret := range []string{"cursor-key", "ghp_aaaa", "s3cretvalue", "abcdefgh"} {
		if strings.Contains(got.stdout+got.stderr+dry.stdout, secret) {
			t.Errorf("the secret %s is printed", secret)
		}
	}
	if now := readTap(t, own); now != want {
		t.Errorf("it is\n%s", now)
	}
	runs(t, "", "secret", "list").expect(t, cli.ExitOK, "github-GITHUB_TOKEN\ngithub-args-3\nweb-Authorization\nweb-url\n", "")
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t)})
	if value, err := a.Launch.Secret(t.Context(), "github-args-3"); err != nil || value != "cursor-key" {
		t.Errorf("the secret is %q, %v", value, err)
	}
	a.Launch.Close()

	runs(t, "", "import", "--all", "--yes").expect(t, cli.ExitConnection, "~/junction/mcp.json has all of these servers already.\n", "")
	if now := readTap(t, own); now != want {
		t.Errorf("the second time it is\n%s", now)
	}
}

func TestImportKeepsExistingEntries(t *testing.T) {
	home := hostFiles(t)
	own := filepath.Join(home, "mine.json")
	writeTap(t, own, "{\n\t// mine\n\t\"mcpServers\": {\n\t\t\"web\": {\"command\": \"other\"}, // first\n\t},\n\t\"junction\": {}\n}\n")
	runs(t, "", "import", "codex", "--yes", "--keep-secrets", "--config", own).expect(t, cli.ExitOK, "called web-codex: a different server is called web already", "")
	if now := readTap(t, own); now != "{\n\t// mine\n\t\"mcpServers\": {\n\t\t\"web\": {\"command\": \"other\"}, // first\n\t\t\"web-codex\": {\n\t\t\t\"url\": \"https://web.example/mcp?key=s3cretvalue\",\n\t\t\t\"headers\": {\n\t\t\t\t\"Authorization\": \"Bearer abcdefgh\"\n\t\t\t}\n\t\t},\n\t\t\"github\": {\n\t\t\t\"command\": \"gh-mcp\",\n\t\t\t\"disabled\": true\n\t\t},\n\t},\n\t\"junction\": {}\n}\n" {
		t.Errorf("it is\n%s", now)
	}
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"import"}, "HOST is missing"},
		{[]string{"import", "cursr"}, `did you mean "cursor"?`},
		{[]string{"import", "cursor", "--all"}, "--all and"},
		{[]string{"import", "--all", "--file", "x"}, "--file needs the one HOST"},
		{[]string{"import", "cursor", "--config", "a", "--config", "b"}, "expected one file to write to"},
	} {
		runs(t, "", test.args...).expect(t, cli.ExitUsage, "", test.want)
	}
	runs(t, "", "import", "cherry-studio").expect(t, cli.ExitOK, "Cherry Studio keeps its servers in its own database", "")
}

// Whoever wrote a repository must not get their servers into a person's own file unseen.
func TestConsentToServersOfAProjectIsStored(t *testing.T) {
	clitest.Alone(t)
	home, _ := clitest.PlaceOf(t).Getwd()
	project := filepath.Join(home, "p")
	path := filepath.Join(project, ".cursor", "mcp.json")
	writeTap(t, filepath.Join(project, ".git", "HEAD"), "")
	writeTap(t, path, `{"mcpServers": {"team": {"command": "./serve", "args": ["${workspaceFolder}/data"]}}}`)
	clitest.Chdir(t, project)
	own := filepath.Join(home, "junction", "mcp.json")
	runs(t, "", "import", "--all", "--yes").expect(t, cli.ExitOK, "team: not copied: it comes from a project's file, which others may have written", "")
	if _, err := os.Stat(own); err == nil {
		t.Fatalf("it is %s", readTap(t, own))
	}
	if err, said := asked(t, "no\n", "cursor"); err == nil || !strings.Contains(said, "team (stdio): "+filepath.Join(project, "serve")) {
		t.Errorf("got %v, %s", err, said)
	}
	runs(t, "", "import", "cursor", "--yes", "--file", path).expect(t, cli.ExitOK, "Added", "")
	want := "{\n  \"mcpServers\": {\n    \"team\": {\n      \"command\": " + quoteJSON(filepath.Join(project, "serve")) + ",\n      \"args\": [" + quoteJSON(project+"/data") + "],\n      \"cwd\": " + quoteJSON(project) + "\n    }\n  }\n}\n"
	if now := readTap(t, own); now != want {
		t.Errorf("it is\n%s\nwant\n%s", now, want)
	}
}

// asked runs an import at which a person types.
//
//lint:ignore ST1008 what is looked at first comes first
func asked(t *testing.T, typed string, all ...string) (code error, said string) {
	t.Helper()
	var out, screen clitest.SafeBuffer
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Out: terminal.NewScreen(&out), Screen: terminal.NewScreen(&screen), Stdout: io.Discard, Stderr: io.Discard}})
	a.Person = terminal.NewPerson(strings.NewReader(typed), a.Screen)
	root := root(a, nil)
	root.SetArgs(slices.Concat([]string{"import"}, all))
	code = root.ExecuteContext(context.Background())
	if err := a.Launch.Close(); err != nil {
		t.Error(err)
	}
	return code, out.String() + screen.String()
}

func TestUsersDecideOnWrites(t *testing.T) {
	home := hostFiles(t)
	own := filepath.Join(home, "junction", "mcp.json")
	if err, said := asked(t, "y\nno\n", "cursor"); err == nil || err.Error() != "nothing was changed" || !strings.Contains(said, "Write this to ~/junction/mcp.json?") {
		t.Errorf("got %v, %s", err, said)
	}
	runs(t, "", "secret", "list").expect(t, cli.ExitOK, "", "there are no secrets")
	if err, said := asked(t, "n\ny\n", "cursor"); err != nil {
		t.Errorf("got %v, %s", err, said)
	}
	if now := readTap(t, own); !strings.Contains(now, "ghp_aaaaaaaaaaaa") {
		t.Errorf("it is\n%s", now)
	}
	if err, said := asked(t, "\nthe-key\n", "vscode"); err != nil {
		t.Errorf("got %v, %s", err, said)
	}
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t)})
	if value, err := a.Launch.Secret(t.Context(), "k"); err != nil || value != "the-key" {
		t.Errorf("the secret is %q, %v", value, err)
	}
	a.Launch.Close()
}

func TestImportKeepsAClientSecretInPlain(t *testing.T) {
	home := hostFiles(t)
	writeTap(t, filepath.Join(home, ".gemini", "settings.json"), `{"mcpServers": {"h": {"httpUrl": "https://example.com/mcp", "oauth": {"clientId": "c", "clientSecret": "made-up-4711"}}}}`)
	own := filepath.Join(home, "own.json")
	runs(t, "", "import", "gemini", "--yes", "--keep-secrets", "--config", own).expect(t, cli.ExitOK, "h: not copied: junction cannot use it: oauth: clientSecret", "")
	runs(t, "", "import", "gemini", "--yes", "--config", own).expect(t, cli.ExitOK, "oauth.clientSecret of h: h-clientSecret", "")
	text, err := os.ReadFile(own)
	if err != nil || !strings.Contains(string(text), `"clientSecret": "${secret:h-clientSecret}"`) || strings.Contains(string(text), "4711") {
		t.Errorf("got %s, %v", text, err)
	}
	runs(t, "", "secret", "list").expect(t, cli.ExitOK, "h-clientSecret", "")
}
