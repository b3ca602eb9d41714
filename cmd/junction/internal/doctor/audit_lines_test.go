package doctor_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/doctor"
	"github.com/junction-mcp/junction/mcp"
)

// doctor calls a tool to see whether calls work, and none that gives what should not be read for that.
func TestHarmlessToolsTellNoSecrets(t *testing.T) {
	var harmless []string
	for name, about := range map[string]string{
		"get-env": "", "get_env": "", "getEnv": "", "printEnvironment": "", "list_secrets": "", "show": "Returns all environment variables.",
		"status": "Shows the API key in use.", "whoami": "Prints the access token.", "now": "What time it is.", "envelope": "Reads the envelope.",
	} {
		if doctor.IsHarmless(&mcp.Tool{Name: name, Description: about, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}}) {
			harmless = append(harmless, name)
		}
	}
	if slices.Sort(harmless); strings.Join(harmless, " ") != "envelope now" {
		t.Errorf("harmless are %q", harmless)
	}
}
