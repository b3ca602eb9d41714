package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
)

// rules are the rules of junction up in the pictures of the console.
const rules = `{
  "rules": [
    {"effect": "deny", "tool": "delete_*", "reason": "what is known is kept"},
    {"effect": "ask", "server": "files", "when": "!annotations.readOnly", "reason": "a person agrees first"}
  ],
  "default": "allow"
}`

var printedLink = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\S+\?token=\S+`)

// photographConsole makes the pictures of the console that console.mjs lists. The servers and their
// content are real; the conversation is the one in conversation.go.
func photographConsole(ctx context.Context, home, model, into string) (err error) {
	cache := os.Getenv("JUNCTION_INTEGRATION_DIR")
	if cache == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		cache = filepath.Join(user, ".cache", "junction-integration")
	}
	if _, err := os.Stat(filepath.Join(cache, "npm", "page")); err != nil {
		return fmt.Errorf("the pictures of the console need playwright-core; run integration/setup.sh: %w", err)
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		return err
	}
	script, err := filepath.Abs(filepath.Join("docs", "screen", "console.mjs"))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(home, "policy.json"), []byte(rules), 0o600); err != nil {
		return err
	}
	writing := map[string]program{"notes": {"junction", []string{"serve", "filesystem", "--root", "trips", "--write"}}} // for the picture of an approval
	if err := configureConsole(home, "chat.json", map[string]any{"mcpServers": writing}); err != nil {
		return err
	}
	err = run(ctx, home, "junction", "chat", "--config", "chat.json", "--approve", "notes", "--allow", "notes/*", "--model", "recorded", "--base-url", model, "-p", question)
	if err != nil {
		return err
	}
	if err := configureConsole(home, configuration, several); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().String()
	listener.Close()
	_, end, err := inBackground(ctx, home, nil, "up", "--config", configuration, "--http", address, "--review", "all", "--policy", "policy.json", "--audit=audit")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	link, end2, err := inBackground(ctx, home, printedLink, "console", "--no-browser", "--config", configuration)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end2()) }()
	command := exec.CommandContext(ctx, "node", script, filepath.Join(cache, "npm", "page"), chromium, link, into, home, "http://"+address+"/mcp", filepath.Join(home, "bin", "junction"))
	command.Dir, command.Env, command.Stdout, command.Stderr = home, environment(home), os.Stdout, os.Stderr
	return command.Run()
}

// A program is the entry of a server in a configuration.
type program struct {
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// several is the configuration for the console's pictures. One of its servers fails.
var several = map[string]any{
	"mcpServers": map[string]program{
		"files":   {"junction", []string{"serve", "filesystem", "--root", "trips"}},
		"memory":  {"junction", []string{"serve", "memory", "--file", "memory.jsonl"}},
		"time":    {"junction", []string{"serve", "time"}},
		"weather": {"weather-mcp", []string{"--stdio"}},
	},
	"junction": map[string]any{"profiles": map[string]any{"reading": map[string]any{"servers": []string{"files", "time"}, "tools": "all"}}},
}

func configureConsole(home, file string, what map[string]any) error {
	text, err := json.Marshal(what)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(home, file), text, 0o600)
}

// inBackground runs junction until end is called. It returns the first match of pattern in the
// output; pattern may be nil.
func inBackground(ctx context.Context, home string, pattern *regexp.Regexp, arguments ...string) (found string, end func() error, err error) {
	command := exec.CommandContext(ctx, filepath.Join(home, "bin", "junction"), arguments...)
	command.Dir, command.Env = home, environment(home)
	stdout, err := command.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := command.Start(); err != nil {
		return "", nil, err
	}
	end = func() error {
		_ = command.Process.Signal(syscall.SIGTERM) // fails if it has already ended
		err := command.Wait()
		if _, exited := errors.AsType[*exec.ExitError](err); exited {
			return nil // it exits in this way after the signal
		}
		return err
	}
	if pattern == nil {
		return "", end, nil
	}
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if found = pattern.FindString(lines.Text()); found != "" {
			return found, end, nil
		}
	}
	return "", nil, errors.Join(fmt.Errorf("junction %v prints nothing like %v", arguments, pattern), end())
}
