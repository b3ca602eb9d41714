// Screen makes the pictures of the documentation: docs/chat.svg, the screen of
// junction chat in the middle of a conversation, docs/review.svg, that of a server
// which changed since it was approved, docs/trace.svg, the diagram of a run, and
// docs/console-*.png, pages of junction console. It needs tmux, and for the last Node,
// Chromium and what integration/setup.sh installs:
//
//	go run ./docs/screen
//	go run ./docs/screen console # only the last
//
// Everything in them is real but the model's words in the first, which are those of
// conversation.go. They come over the wire of chat completions.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/junction-mcp/junction/internal/replay"
)

const (
	columns, rows = 80, 44 // what stays empty below is cut off
	question      = "Which three trips were the dearest? Save them as CSV."
	// within is how long anything may take.
	within = 2 * time.Minute
)

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

// makePictures writes the pictures into a folder.
func makePictures(ctx context.Context, into string) (err error) {
	into, err = filepath.Abs(into)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "ada-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := run(ctx, "", "go", "build", "-o", filepath.Join(dir, "bin", "junction"), "./cmd/junction"); err != nil {
		return err
	}
	if err := furnish(dir); err != nil {
		return err
	}
	model, end, err := serveModel()
	if err != nil {
		return err
	}
	defer end()
	console := func() error {
		recorded, end, err := serveModel() // a conversation of its own
		if err != nil {
			return err
		}
		defer end()
		return photographConsole(ctx, dir, recorded, into)
	}
	if len(os.Args) > 1 && os.Args[1] == "console" {
		return console()
	}
	return errors.Join(
		diagram(ctx, dir, filepath.Join(into, "trace.svg")),
		conversing(ctx, dir, model, filepath.Join(into, "chat.svg")),
		reviewing(ctx, dir, filepath.Join(into, "review.svg")),
		console(),
	)
}

// diagram draws a run.
func diagram(ctx context.Context, home, into string) error {
	err := run(ctx, home, "junction", "chat", "everything", "-p", "add 2 and 40", "--no-save", "--trace-file", into)
	return errors.Join(err, os.Chmod(into, 0o644))
}

// conversing is a conversation up to the card that asks whether a file may be written.
func conversing(ctx context.Context, home, model, into string) error {
	if err := configure(home, "--write"); err != nil {
		return err
	}
	return photograph(ctx, home, into, question, "y yes, once", "--trust", "files", "--model", "recorded", "--base-url", model)
}

// reviewing is the card that shows what of a server changed: one that was approved
// when it could only read.
func reviewing(ctx context.Context, home, into string) error {
	if err := configure(home); err != nil {
		return err
	}
	if err := run(ctx, home, "junction", "chat", "--config", configuration, "--approve", "files", "--allow", "files/*", "-p", "list-folder", "--no-save"); err != nil {
		return err
	}
	if err := configure(home, "--write"); err != nil {
		return err
	}
	return photograph(ctx, home, into, question, "y approve")
}

// configuration is the file that says which servers there are.
const configuration = "junction.json"

// furnish makes what the conversation is about.
func furnish(home string) error {
	if err := os.MkdirAll(filepath.Join(home, "trips"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "trips", "expenses.csv"), expenses, 0o600)
}

// configure makes the server, started with more arguments.
func configure(home string, more ...string) error {
	type server struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	files := server{"junction", append([]string{"serve", "filesystem", "--root", "trips"}, more...)}
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]server{"files": files}})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, configuration), text, 0o600)
}

// serveModel serves the recorded model on loopback.
func serveModel() (url string, end func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: replay.Handler(conversation()...), ReadHeaderTimeout: within}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	return "http://" + listener.Addr().String() + "/v1", func() { _ = server.Close(); <-done }, nil
}

// run runs a program to its end.
func run(ctx context.Context, home, name string, arguments ...string) error {
	command := exec.CommandContext(ctx, name, arguments...)
	if home != "" {
		command = exec.CommandContext(ctx, filepath.Join(home, "bin", name), arguments...)
		command.Dir, command.Env = home, environment(home)
	}
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// environment is one in which nobody's files are touched.
func environment(home string) []string {
	return []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "PATH=" + filepath.Join(home, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "LANG=C.UTF-8"}
}
