package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestUpServesAtASocketOfThisUserOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("skip: files have no mode there")
	}
	clitest.Alone(t)
	const path = "up.sock" // below the limit of a socket's name
	full := clitest.In(t, path)
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: full, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close() // what a process leaves that was killed
	ctx, interrupt := context.WithCancelCause(t.Context())
	stderr, code, up := new(clitest.SafeBuffer), make(chan int, 1), make(chan struct{}, 100)
	printed := &watchedBuffer{word: "junction serves at http+unix:" + full, seen: func() { up <- struct{}{} }}
	go func() {
		code <- run(ctx, clitest.PlaceOf(t), []string{"up", "--tools", "all", "--http", "unix:" + path, "everything"}, strings.NewReader(""), io.Discard, io.MultiWriter(stderr, printed))
	}()
	<-up
	info, err := os.Stat(full)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	dial := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", full)
	}}}
	c, err := mcp.DialWith(t.Context(), streamable.ClientWith("http://localhost/mcp", streamable.ClientOptions{HTTP: dial}), mcp.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if result, err := c.CallTool(t.Context(), "everything__echo", map[string]string{"message": "hi"}); err != nil || result.Text() != "hi" {
		t.Errorf("%v %v", result, err)
	}
	c.Close()
	runs(t, "", "call", "http+unix:"+path, "everything__echo", "message=hi").expect(t, cli.ExitOK, "hi\n", "")
	runs(t, "", "tools", "http+unix://"+full, "--header", "X-Some: thing").expect(t, cli.ExitOK, "everything__add", "")
	runs(t, "", "tools", "http+unix:no.sock").expect(t, cli.ExitConnection, "", "http+unix:no.sock")
	runs(t, "", "tools", "http+unix:").expect(t, cli.ExitUsage, "", "expected a file")
	runs(t, "", "tools", "http+unix:"+path, "--env", "A=b").expect(t, cli.ExitUsage, "", "--env is for servers that are started")
	runs(t, "", "status").expect(t, cli.ExitOK, "http+unix:"+full+" (process ", "")
	runs(t, "", "chat", "--up", "--approve", "junction", "-p", "echo message=hi").expect(t, cli.ExitOK, "hi\n", "")
	runs(t, "", "up", "--http", "unix:"+path, "everything").expect(t, cli.ExitConnection, "", "is in use")
	interrupt(cli.ErrInterrupted)
	if got := <-code; got != cli.ExitOK {
		t.Errorf("exit code %d: %s", got, stderr)
	}
	if _, err := os.Lstat(clitest.In(t, path)); err == nil {
		t.Error("the socket is still there")
	}
	if err := os.WriteFile(clitest.In(t, path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runs(t, "", "up", "--http", "unix:"+path, "everything").expect(t, cli.ExitConnection, "", "and is not a socket")
	runs(t, "", "up", "--http", "unix:", "everything").expect(t, cli.ExitUsage, "", "expected HOST:PORT")
}
