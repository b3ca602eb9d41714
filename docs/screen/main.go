// Screen makes the pictures of the documentation: docs/chat.svg, the screen of
// junction chat in the middle of a conversation, and docs/trace.svg, the diagram
// of a run. It needs tmux:
//
//	go run ./docs/screen
//
// Everything in them is real but the model's words, which are those of
// conversation.json. They come over the wire of chat completions.
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/junction-mcp/junction/model/replay"
)

const (
	columns, rows = 80, 44 // what stays empty below is cut off
	question      = "Which three trips were the dearest? Save them as CSV."
	// within is how long anything may take.
	within = 2 * time.Minute
)

//go:embed conversation.json
var conversation []byte

//go:embed expenses.csv
var expenses []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := makePictures(ctx, "docs"); err != nil {
		fmt.Fprintf(os.Stderr, "screen: %v\n", err)
		os.Exit(1)
	}
}

// makePictures writes both pictures into a folder.
func makePictures(ctx context.Context, into string) (err error) {
	into, err = filepath.Abs(into)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "junction-screen-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary := filepath.Join(dir, "bin", "junction")
	if err := run(ctx, "", "go", "build", "-o", binary, "./cmd/junction"); err != nil {
		return err
	}
	home, err := furnish(dir)
	if err != nil {
		return err
	}
	if err := run(ctx, home, binary, "chat", "everything", "-p", "add 2 and 40", "--no-save", "--trace-file", filepath.Join(into, "trace.svg")); err != nil {
		return err
	}
	model, end, err := serveModel()
	if err != nil {
		return err
	}
	defer end()
	captured, err := photograph(ctx, home, []string{binary, "chat", "--config", "junction.json", "--trust", "files", "--theme", "dark", "--model", "recorded", "--base-url", model})
	if err != nil {
		return err
	}
	svg := drawing{cells: parse(captured, columns), columns: columns, title: "junction chat"}
	return errors.Join(os.WriteFile(filepath.Join(into, "chat.svg"), svg.bytes(), 0o644), os.Chmod(filepath.Join(into, "trace.svg"), 0o644))
}

// furnish makes a home with what the conversation is about, and a server for it.
func furnish(dir string) (home string, err error) {
	home = filepath.Join(dir, "home")
	if err := os.MkdirAll(filepath.Join(home, "trips"), 0o755); err != nil {
		return "", err
	}
	const servers = `{"mcpServers": {"files": {"command": "../bin/junction", "args": ["serve", "filesystem", "--root", "trips", "--write"]}}}`
	return home, errors.Join(
		os.WriteFile(filepath.Join(home, "trips", "expenses.csv"), expenses, 0o600),
		os.WriteFile(filepath.Join(home, "junction.json"), []byte(servers), 0o600),
	)
}

// serveModel serves the recorded model on loopback.
func serveModel() (url string, end func(), err error) {
	recording, err := replay.Parse(conversation)
	if err != nil {
		return "", nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: replay.Handler(recording), ReadHeaderTimeout: within}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/v1", func() { _ = server.Close(); <-done }, nil
}

// run runs a program to its end.
func run(ctx context.Context, home, name string, arguments ...string) error {
	command := exec.CommandContext(ctx, name, arguments...)
	command.Stderr = os.Stderr
	if home != "" {
		command.Dir, command.Env = home, environment(home)
	}
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return nil
}

// environment is one in which nobody's files are touched.
func environment(home string) []string {
	return []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
}
