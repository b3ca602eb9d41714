package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

type packagedServer struct {
	name   string
	runner string // npx or uvx
	args   []string
}

// packaged are servers as their users configure them: package runners install them
// when they first start.
var packaged = []packagedServer{
	{"everything", "npx", []string{"-y", "@modelcontextprotocol/server-everything@2026.8.31"}},
	{"memory", "npx", []string{"-y", "@modelcontextprotocol/server-memory@2026.8.31"}},
	{"filesystem", "npx", []string{"-y", "@modelcontextprotocol/server-filesystem@2026.8.31", os.TempDir()}},
	{"thinking", "npx", []string{"-y", "@modelcontextprotocol/server-sequential-thinking@2026.8.31"}},
	{"hello", "npx", []string{"-y", "mcp-hello-world@1.1.2"}},
	{"clock", "npx", []string{"-y", "time-mcp@1.0.6"}},
	{"runner", "npx", []string{"-y", "mcp-server-code-runner@0.1.8"}},
	{"pages", "npx", []string{"-y", "mcp-fetch-server@1.1.2"}},
	{"time", "uvx", []string{"mcp-server-time@2026.10.19"}},
	{"fetch", "uvx", []string{"mcp-server-fetch@2026.10.24"}},
	{"git", "uvx", []string{"mcp-server-git@2026.10.19"}},
	{"sqlite", "uvx", []string{"--with", "mcp<2", "mcp-server-sqlite@2025.4.25"}}, // it asks for any mcp, and needs an old one
}

// twoCores puts a command on two processors, where there are more.
func twoCores(argv []string) []string {
	if taskset, err := exec.LookPath("taskset"); err == nil && runtime.NumCPU() > 2 {
		return append([]string{taskset, "-c", "0,1"}, argv...)
	}
	return argv
}

// packagedConfig is a configuration of all packaged servers, and an environment in
// which nothing of them is installed.
func packagedConfig(t *testing.T) (config string, env []string) {
	t.Helper()
	runners := map[string]string{"npx": program(t, "npx"), "uvx": python(t, "uvx")}
	dir := t.TempDir()
	entries := map[string]any{}
	for _, p := range packaged {
		entries[p.name] = map[string]any{"command": runners[p.runner], "args": p.args, "cwd": dir}
	}
	config = filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(config, []byte(encode(t, map[string]any{"mcpServers": entries})), 0o600); err != nil {
		t.Fatal(err)
	}
	return config, append(os.Environ(), "XDG_CACHE_HOME="+dir, "npm_config_cache="+filepath.Join(dir, "npm"),
		"UV_CACHE_DIR="+filepath.Join(dir, "uv"), "UV_LINK_MODE=copy")
}

// standing is what junction status says of the servers of the one that runs.
func standing(t *testing.T, env []string) (states map[string]string, errors map[string]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, junction(t), "status", "--json")
	command.Env = env
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Instances []struct {
			Servers []struct{ Name, State, Error string }
		}
	}
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	states, errors = map[string]string{}, map[string]string{}
	for _, i := range all.Instances {
		for _, s := range i.Servers {
			states[s.Name] = s.State
			if s.Error != "" {
				errors[s.Name] = s.Error
			}
		}
	}
	return states, errors
}

// A conversation is with a junction up on standard input and output.
type conversation struct {
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Scanner
	began   time.Time
}

func converse(t *testing.T, env []string, argv ...string) *conversation {
	t.Helper()
	c := &conversation{t: t, command: exec.Command(argv[0], argv[1:]...)}
	c.command.Env = env
	var err error
	if c.in, err = c.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, 16<<20)
	c.began = time.Now()
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.in.Close()
		_ = c.command.Wait()
	})
	return c
}

// ask makes a request; it returns the response, and how long after the start of the
// process it came.
func (c *conversation) ask(id int, method, params string) (response string, after time.Duration) {
	c.t.Helper()
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
	for c.out.Scan() {
		if strings.Contains(c.out.Text(), fmt.Sprintf(`"id":%d,`, id)) {
			return c.out.Text(), time.Since(c.began)
		}
	}
	c.t.Fatalf("%s is not answered", method)
	return "", 0
}

// Twelve servers that package runners install start for the first time, on two
// processors: all come, none fails. The second time all they offer is there within a
// second, and nothing is started but what is called.
func TestTwelvePackagedServers(t *testing.T) {
	binary := junction(t)
	config, env := packagedConfig(t)
	t.Run("the first start", func(t *testing.T) {
		address := freeAddress(t)
		began := time.Now()
		serving(t, env, address, twoCores([]string{binary, "up", "--tools", "all", "--config", config, "--http", address})...)
		for {
			states, errors := standing(t, env)
			if len(errors) > 0 {
				t.Fatalf("after %v: %v", time.Since(began), errors)
			}
			connected := 0
			for _, state := range states {
				if state == "connected" {
					connected++
				}
			}
			if connected == len(packaged) {
				break
			}
			if time.Since(began) > 12*time.Minute {
				t.Fatalf("after %v: %v", time.Since(began), states)
			}
			time.Sleep(time.Second)
		}
		t.Logf("all %d are connected after %v", len(packaged), time.Since(began).Round(time.Second))
	})
	t.Run("the second start", func(t *testing.T) {
		c := converse(t, env, twoCores([]string{binary, "up", "--stdio", "--tools", "all", "--config", config})...)
		_, initialized := c.ask(1, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
		list, listed := c.ask(2, "tools/list", `{}`)
		t.Logf("initialize is answered after %v, tools/list after %v", initialized, listed)
		if initialized > 300*time.Millisecond || listed > time.Second {
			t.Errorf("initialize is answered after %v, tools/list after %v", initialized, listed)
		}
		for _, p := range packaged {
			if !strings.Contains(list, `"name":"`+p.name+`__`) {
				t.Errorf("no tool of %s is in the list", p.name)
			}
		}
		if children := childrenOf(t, c.command.Process.Pid); len(children) > 0 {
			t.Errorf("it started %v", children)
		}
		answer, _ := c.ask(3, "tools/call", `{"name":"everything__echo","arguments":{"message":"of one of twelve"}}`)
		if !strings.Contains(answer, "of one of twelve") {
			t.Errorf("the call: %s", answer)
		}
		states, _ := standing(t, env)
		used := slices.DeleteFunc(slices.Clone(packaged), func(p packagedServer) bool { return states[p.name] == "idle" })
		if children := childrenOf(t, c.command.Process.Pid); len(children) != 1 || len(used) != 1 || used[0].name != "everything" {
			t.Errorf("after one call %d processes run, and %v are not idle", len(children), used)
		}
	})
}
