package integration

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// addEnv is an environment in which nothing is added yet.
func addEnv(t *testing.T) (env []string, configuration string) {
	dir := t.TempDir()
	return append(os.Environ(), "JUNCTION_STATE="+filepath.Join(dir, "state"), "JUNCTION_KEYRING=off", "XDG_CACHE_HOME="+filepath.Join(dir, "cache")), filepath.Join(dir, "mcp.json")
}

// addWithin runs a command that may have much to download.
func addWithin(t *testing.T, limit time.Duration, env, words []string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	command := exec.CommandContext(ctx, words[0], words[1:]...)
	inGroup(command)
	command.Env = env
	return command.CombinedOutput()
}

// Whoever is killed while it adds a server leaves the configuration and the lock of before, or those of after.
func TestAddThatIsKilledLeavesTheOldOrTheNewState(t *testing.T) {
	t.Parallel()
	path := junction(t)
	address := freeAddress(t)
	serving(t, nil, address, path, "serve", "everything", "--http", address)
	const old = "{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"url\": \"http://127.0.0.1:1/mcp\"}\n  }\n}\n"
	add := func(env []string, configuration string) *exec.Cmd {
		command := exec.Command(path, "add", "http://"+address+"/mcp", "--name", "everything", "--config", configuration, "--yes")
		command.Env = env
		command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return command
	}
	write := func(configuration string) {
		if err := os.WriteFile(configuration, []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env, configuration := addEnv(t)
	write(configuration)
	began := time.Now()
	if out, err := add(env, configuration).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	whole := time.Since(began)
	now, err := os.ReadFile(configuration)
	if err != nil {
		t.Fatal(err)
	}
	const kills = 30
	before, after := 0, 0
	// The pause grows until the new state is there, and shrinks then: most kills are near where one becomes the other, however
	// busy the machine is meanwhile.
	pause := time.Duration(0)
	for i := range kills {
		env, configuration := addEnv(t)
		write(configuration)
		command := add(env, configuration)
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(pause, func() { _ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) })
		_ = command.Wait() // it was killed, or was faster
		timer.Stop()
		got, err := os.ReadFile(configuration)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case bytes.Equal(got, []byte(old)):
			before++
			pause += pause/4 + whole/20
			if out := run(t, env, path, "install", "--config", configuration); !strings.Contains(out, "No server here has a locked package") {
				t.Errorf("after the kill %d: %s", i, out)
			}
			run(t, env, path, "add", "http://"+address+"/mcp", "--name", "everything", "--config", configuration, "--yes")
			if got, err := os.ReadFile(configuration); err != nil || !bytes.Equal(got, now) {
				t.Errorf("added again after the kill %d: %v, %s", i, err, got)
			}
		case bytes.Equal(got, now):
			after++
			pause -= pause / 4
		default:
			t.Errorf("the kill %d left %s", i, got)
		}
		if out := run(t, env, path, "call", "everything", "add", "a=40", "b=2", "--config", configuration); !strings.Contains(out, "42") {
			t.Errorf("after the kill %d: %s", i, out)
		}
	}
	if before == 0 || after == 0 {
		t.Errorf("of %d kills %d left the old state and %d the new one: none was near", kills, before, after)
	}
	t.Logf("of %d kills, the last after %v, %d left the old state and %d the new one", kills, pause, before, after)
}
