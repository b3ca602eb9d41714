package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

func TestStandardErrorIsKeptWithinBounds(t *testing.T) {
	t.Parallel()
	var tail cli.StderrTail
	c := tail.Attach(&command.Command{Name: "x", Stderr: func(string) {}}, false).(*command.Command)
	for i := range 10_000 {
		c.Stderr(fmt.Sprintf("line %d %s", i, strings.Repeat("x", 3_000)))
	}
	kept := tail.Lines()
	size := 0
	for _, line := range kept {
		size += len(line)
	}
	if size > cli.MaxStderrKept || size < cli.MaxStderrKept/2 || !strings.HasPrefix(kept[len(kept)-1], "line 9999 ") {
		t.Errorf("%d lines of %d bytes are kept", len(kept), size)
	}
	if same := mcp.Transport(fakeTransport{}); tail.Attach(same, false) != same {
		t.Error("a transport without a program is another one")
	}
}

type fakeTransport struct{ mcp.Transport }
