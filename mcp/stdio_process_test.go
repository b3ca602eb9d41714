package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
)

// asServer makes the test binary a server on standard input and output.
const asServer = "JUNCTION_TEST_STDIO_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		serveProcess()
		return
	}
	os.Exit(m.Run())
}

func serveProcess() {
	s := mcp.NewServer("process", "1")
	mcp.AddTool(s, "drain", func(ctx context.Context, _ none) (string, error) {
		log.Print("a word on standard error")
		select {
		case <-time.After(200 * time.Millisecond):
			return "drained", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	if err := stdio.Serve(context.Background(), s); err != nil {
		log.Fatal(err)
	}
}

// A server process writes only messages on standard output. When its input ends, it responds to the
// received requests and then exits with success (basic/transports/stdio, shutdown).
func TestAProcessDrainsAndExitsWhenItsInputEnds(t *testing.T) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	server := exec.CommandContext(ctx, executable)
	server.Env = append(os.Environ(), asServer+"=1")
	var stderr strings.Builder
	server.Stderr = &stderr
	in, err := server.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(in, expand(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{@bare}}`, nil))
	lines := bufio.NewScanner(out)
	vars := map[string]any{}
	wanted := []string{
		`{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2026-07-28"],"$more":1}}`,
		`{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"drained"}],"$more":1}}`,
	}
	for i, want := range wanted {
		if !lines.Scan() {
			t.Fatalf("the output ended before %s; standard error: %s", want, stderr.String())
		}
		if err := matchText(want, lines.Text(), vars); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		if i == 0 {
			fmt.Fprintln(in, expand(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"drain",@bare}}`, nil))
			in.Close()
		}
	}
	if rest, err := io.ReadAll(out); lines.Scan() || len(rest) > 0 {
		t.Errorf("more output: %q %q, %v", lines.Text(), rest, err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("exit: %v; standard error: %s", err, stderr.String())
	}
	if !strings.Contains(stderr.String(), "a word") {
		t.Errorf("standard error: %q", stderr.String())
	}
}
