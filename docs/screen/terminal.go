package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// A scene is a step of a session: keys, or text, and then a text on the screen.
type scene struct {
	key, text string
	until     string
	hold      time.Duration // of the frame in a moving picture
}

// asking returns the scenes in which a user types a question, two words at a time, until the screen
// contains a text.
func asking(question, until string) []scene {
	scenes := []scene{{until: "ask something", hold: 1500 * time.Millisecond}}
	words := strings.SplitAfter(question, " ")
	for pair := range slices.Chunk(words, 2) {
		scenes = append(scenes, scene{text: strings.Join(pair, ""), until: strings.TrimSpace(pair[len(pair)-1]), hold: 350 * time.Millisecond})
	}
	scenes[len(scenes)-1].hold = time.Second
	return append(scenes, scene{key: "Enter", until: until, hold: 6 * time.Second})
}

// film plays scenes in junction chat, as fast as the picture shows them, and returns the screen after
// each of them.
func film(ctx context.Context, home string, scenes []scene, flags ...string) (frames []frame, err error) {
	t := terminal{home}
	if err := t.open(ctx, append([]string{"junction", "chat", "--config", configuration, "--theme", "dark"}, flags...)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	for _, s := range scenes {
		if s.text != "" {
			err = t.press(ctx, "-l", s.text)
		} else if s.key != "" {
			err = t.press(ctx, s.key)
		}
		if err = errors.Join(err, t.wait(ctx, s.until)); err != nil {
			return nil, err
		}
		captured, err := t.capture(ctx, "-e")
		if err != nil {
			return nil, err
		}
		captured = bytes.ReplaceAll(captured, []byte(t.home), []byte(shownHome)) // makes the picture the same for everyone
		frames = append(frames, frame{parse(captured, columns), s.hold})
		select {
		case <-time.After(s.hold): // a card takes no key soon after the last one
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return frames, nil
}

// title is that of the window in the pictures.
const title = "junction chat"

// writePicture writes a frame.
func writePicture(into string, f frame) error {
	d := drawing{cells: f.cells, columns: columns, title: title}
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
