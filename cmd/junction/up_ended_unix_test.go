//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
)

// A server that was killed in the middle of a call, which had it start again, has a line though it is connected when
// the board looks.
func TestAServerThatIsKilledDuringACallHasALine(t *testing.T) {
	clitest.Alone(t)
	file := filepath.Join(t.TempDir(), "pid")
	g := gateway.New(gateway.Options{Name: "g"})
	defer g.Close()
	argv := self(t, "serve", "everything")
	if err := g.Add("a", gateway.Upstream{Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
		return mcp.Dial(ctx, command.New("/bin/sh", "-c", "echo $$ > '"+file+"'; exec '"+argv[0]+"' serve everything"))
	}}); err != nil {
		t.Fatal(err)
	}
	connected := func() bool { return g.Status()[0].State == gateway.Connected }
	waitFor(t, "it is connected", connected)
	var out bytes.Buffer
	b := up.NewBoard(terminal.NewScreen(&out), false, false, "")
	b.Start(g)
	data, err := os.ReadFile(clitest.In(t, file))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "it ended and is connected again", func() bool { return g.Status()[0].Ends == 1 && connected() })
	b.Changed()
	if !strings.Contains(out.String(), "  a  ended: ") || strings.Count(out.String(), "  a  ended: ") != 1 {
		t.Errorf("the board shows\n%s", out.String())
	}
}
