package server_test

import (
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/server"
)

func TestTheNameOfAServerIsThatOfItsModule(t *testing.T) {
	for module, want := range map[string]string{
		"github.com/owner/weather":           "io.github.owner/weather https://github.com/owner/weather ",
		"github.com/owner/weather/v2":        "io.github.owner/weather https://github.com/owner/weather ",
		"github.com/owner/tools/cmd/weather": "io.github.owner/weather https://github.com/owner/tools cmd/weather",
		"example.com/weather":                "com.example/weather",
		"mcp.example.com/team/weather":       "com.example.mcp/weather",
		"gitlab.com/owner/weather":           " https://gitlab.com/owner/weather ",
		"weather":                            "",
		"":                                   "",
	} {
		root := strings.TrimSuffix(module, "/cmd/weather")
		got := server.ModuleServerName(module)
		if r := server.ModuleRepository(root, module); r != nil {
			got += " " + r.URL + " " + r.Subfolder
		}
		if got != want {
			t.Errorf("%s: %q, want %q", module, got, want)
		}
	}
}
