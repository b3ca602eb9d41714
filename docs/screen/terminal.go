package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A terminal is a screen of tmux with its own tmux server.
type terminal struct {
	home string
}

// shownHome replaces the path of the temporary folder in pictures.
const shownHome = "/home/ada"

// photograph sends a question to junction chat, waits until the screen contains a text, and writes
// the screen as a picture.
func photograph(ctx context.Context, home, into, question, until string, flags ...string) (err error) {
	t := terminal{home}
	if err := t.open(ctx, append([]string{"junction", "chat", "--config", configuration, "--theme", "dark"}, flags...)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.wait(ctx, "ask something"); err != nil {
		return err
	}
	if err := t.press(ctx, "-l", question); err != nil {
		return err
	}
	if err := t.press(ctx, "Enter"); err != nil {
		return err
	}
	if err := t.wait(ctx, until); err != nil {
		return err
	}
	captured, err := t.capture(ctx, "-e")
	if err != nil {
		return err
	}
	captured = bytes.ReplaceAll(captured, []byte(t.home), []byte(shownHome)) // makes the picture the same for everyone
	d := drawing{cells: parse(captured, columns), columns: columns, title: "junction chat"}
	return os.WriteFile(into, d.bytes(), 0o644)
}

// tmux runs one command of tmux and returns its output.
func (t terminal) tmux(ctx context.Context, arguments ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, "tmux", append([]string{"-S", filepath.Join(t.home, "tmux"), "-f", "/dev/null"}, arguments...)...)
	command.Dir, command.Env = t.home, append(environment(t.home), "TERM=xterm-256color")
	var problem bytes.Buffer
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("tmux %s: %w: %s", arguments[0], err, bytes.TrimSpace(problem.Bytes()))
	}
	return out, nil
}

func (t terminal) open(ctx context.Context, command []string) error {
	start := []string{"new-session", "-d", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(rows), "--"}
	_, err := t.tmux(ctx, append(start, command...)...)
	return err
}

func (t terminal) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err := t.tmux(ctx, "kill-server")
	return err
}

func (t terminal) press(ctx context.Context, keys ...string) error {
	_, err := t.tmux(ctx, append([]string{"send-keys"}, keys...)...)
	return err
}

func (t terminal) capture(ctx context.Context, how ...string) ([]byte, error) {
	return t.tmux(ctx, append([]string{"capture-pane", "-p"}, how...)...)
}

// wait waits until the screen contains a text and is complete.
func (t terminal) wait(ctx context.Context, text string) error {
	seen := false
	for {
		now, err := t.capture(ctx)
		if err != nil {
			return err
		}
		if seen {
			return nil
		}
		seen = strings.Contains(string(now), text)
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("%q did not appear on the screen, which is\n%s", text, now)
		}
	}
}
