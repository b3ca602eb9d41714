package hostconfig

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestTheNameOfAVariableMayHave256BytesInEveryForm(t *testing.T) {
	longest := strings.Repeat("n", maxVariableName)
	for body, want := range map[string]bool{
		longest: true, "env:" + longest: true, longest + ":-x": true, "env:" + longest + ":-x": true,
		longest + "n": false, "env:n" + longest: false, "env:n" + longest + ":-x": false,
	} {
		ref, ok := Junction().Variables().Find(body)
		if ok != want || ok && ref.Name != longest {
			t.Errorf("%.8s… of %d bytes: %v, a name of %d bytes", body, len(body), ok, len(ref.Name))
		}
	}
}

func TestHostsWriteTheirVariables(t *testing.T) {
	for id, want := range map[string]string{
		"claude-desktop": "has no variables", "zed": "has no variables", "claude-code": "writes ${NAME} or ${NAME:-default}",
		"cursor": "writes ${env:NAME}", "vscode": "writes ${env:NAME} or ${input:id}", "windsurf": "writes ${env:NAME} or ${file:PATH}",
	} {
		if h, _, _ := LookupHost(id); h.Variables().String() != want {
			t.Errorf("%s %s, want: %s", id, h.Variables(), want)
		}
	}
}

func TestPathsIdentifyTheHost(t *testing.T) {
	for path, want := range map[string]string{
		"/srv/app/.mcp.json":                               "claude-code of /srv/app",
		"/srv/app/.cursor/mcp.json":                        "cursor of /srv/app",
		"/home/ada/.cursor/mcp.json":                       "cursor of ",
		"/srv/app/.vscode/mcp.json":                        "vscode of /srv/app",
		"/home/ada/.vscode/mcp.json":                       "vscode of /home/ada",
		"/srv/app/junction.json":                           " of /srv/app",
		"/home/ada/.config/junction/mcp.json":              " of ",
		"/elsewhere/.claude.json":                          "claude-code of ",
		"/elsewhere/claude_desktop_config.json":            "claude-desktop of ",
		"/elsewhere/mcp_config.json":                       "windsurf of ",
		"/home/ada/.config/Code - Insiders/User/mcp.json":  "vscode of ",
		"/home/ada/.config/Code/User/profiles/1f/mcp.json": "vscode of ",
		"/home/ada/.config/VSCodium/User/mcp.json":         "unknown",
		"/home/ada/.config/zed/settings.json":              "unknown",
		"/srv/app/.zed/settings.json":                      "unknown",
		"/srv/app/mcp.json":                                "unknown",
		"/mcp.json":                                        "unknown",
	} {
		h, project, ok := Recognize(filepath.FromSlash(path), Options{HomeDir: filepath.FromSlash("/home/ada"), WorkDir: filepath.FromSlash("/srv")})
		got := h.ID + " of " + filepath.ToSlash(project)
		if !ok {
			got = "unknown"
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestTypesAreReadInTheWordsOfTheHost(t *testing.T) {
	for _, test := range []struct{ host, written, want string }{
		{"", "HTTP", "http"}, {"", "Streamable-HTTP", "http"}, {"", "streamable_http", "http"}, {"", "sse", "sse"}, {"", "local", "stdio"}, {"", "remote", "auto"}, {"", "ws", ""},
		{"vscode", "http", "auto"}, {"vscode", "HTTP", "auto"}, {"vscode", "streamable-http", "http"}, {"vscode", "sse", "sse"},
	} {
		h, _, _ := LookupHost(test.host)
		if got, ok := h.Transport(test.written); got != test.want || ok != (got != "") {
			t.Errorf("%s of %q: %q, %v", test.written, test.host, got, ok)
		}
	}
}
