// Screen makes the pictures of the documentation. docs/chat.svg is the screen of junction chat
// during a conversation, docs/chat-moving.svg the whole conversation, docs/review.svg the review of a server that changed after its approval,
// and docs/trace.svg the diagram of a run. docs/console-*.png are pages of junction console. The
// command needs tmux, and for docs/console-*.png also Node, Chromium and the programs that
// integration/setup.sh installs:
//
//	go run ./docs/screen
//	go run ./docs/screen chat # only these; or trace, review, console
//
// Everything in the pictures is real except the text of the model in docs/chat.svg. conversation.go
// has that text, and it is sent over the protocol of chat completions.
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
	columns, rows = 80, 44 // empty rows at the bottom are cut off
	question      = "Which three trips were the dearest? Save them as CSV."
	// within is the time limit for the whole command and for each wait.
	within = 5 * time.Minute
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

// makePictures writes all pictures to a folder.
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
		recorded, end, err := serveModel() // a separate conversation
		if err != nil {
			return err
		}
		defer end()
		return photographConsole(ctx, dir, recorded, into)
	}
	var problems []error
	for _, picture := range []struct {
		name string
		make func() error
	}{
		{"trace", func() error { return diagram(ctx, dir, filepath.Join(into, "trace.svg")) }},
		{"chat", func() error { return conversing(ctx, dir, model, into) }},
		{"review", func() error { return reviewing(ctx, dir, filepath.Join(into, "review.svg")) }},
		{"console", console},
	} {
		if len(os.Args) < 2 || os.Args[1] == picture.name {
			problems = append(problems, picture.make())
		}
	}
	return errors.Join(problems...)
}

// diagram makes the diagram of a run.
func diagram(ctx context.Context, home, into string) error {
	err := run(ctx, home, "junction", "chat", "everything", "-p", "add 2 and 40", "--no-save", "--trace-file", into)
	return errors.Join(err, os.Chmod(into, 0o644))
}

// conversing makes the picture of a conversation up to the card that asks whether to write a file,
// and a moving picture of the whole.
func conversing(ctx context.Context, home, model, into string) error {
	if err := configure(home, "--write"); err != nil {
		return err
	}
	scenes := append(asking(question, "y yes, once"), scene{key: "y", until: "has the three dearest", hold: 5 * time.Second})
	frames, err := film(ctx, home, scenes, "--trust", "files", "--model", "recorded", "--base-url", model)
	if err != nil {
		return err
	}
	card := len(frames) - 2
	m := moving{frames: frames, still: card, columns: columns, title: title}
	return errors.Join(
		writePicture(filepath.Join(into, "chat.svg"), frames[card]),
		os.WriteFile(filepath.Join(into, "chat-moving.svg"), m.bytes(), 0o644),
		os.Remove(filepath.Join(home, "trips", "top3.csv")), // not in the other pictures
	)
}

// reviewing makes the picture of the card that shows how a server changed. The server was approved
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
	frames, err := film(ctx, home, asking(question, "y approve"))
	if err != nil {
		return err
	}
	return writePicture(into, frames[len(frames)-1])
}

// configuration is the name of the file that lists the servers.
const configuration = "junction.json"

// furnish writes the files that the conversation is about.
func furnish(home string) error {
	if err := os.MkdirAll(filepath.Join(home, "trips"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, "trips", "expenses.csv"), expenses, 0o600)
}

// configure writes the configuration of the server, with more as further arguments.
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

// serveModel serves the recorded model at a loopback address.
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

// run runs a program and waits until it ends.
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

// environment returns an environment that makes programs use only files in home.
func environment(home string) []string {
	return []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "PATH=" + filepath.Join(home, "bin") + string(os.PathListSeparator) + os.Getenv("PATH"), "LANG=C.UTF-8"}
}
