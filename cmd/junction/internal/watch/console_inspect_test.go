package watch_test

import (
	"os"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/console/inspect"
)

// The terminal of the console takes Enter for another link, which must not be taken for an agreement.
func TestTheInspectorRequiresConsentForServersOfAProject(t *testing.T) {
	clitest.Alone(t)
	clitest.Write(t, map[string]string{".mcp.json": `{"mcpServers":{"theirs":{"command":"touch","args":["pwned"]}}}`})
	p := clitest.InspectorWith(t, "")
	path := p.Begin(inspect.Server{Name: "theirs"})
	refused := p.Until(path, "state", "state", "failed")
	if got := clitest.Member(refused, "fault.link") + ": " + clitest.Member(refused, "fault.remedy"); !strings.HasPrefix(got, "consent: junction list tools theirs in a terminal asks you about it; or start the console with --config ") {
		t.Errorf("the fault: %s", refused)
	}
	if _, err := os.Stat(clitest.In(t, "pwned")); err == nil {
		t.Error("it was started")
	}
}
