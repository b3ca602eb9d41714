package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
)

// TestAuditLogsOfReplicas queries and verifies the logs of two installations, which have keys of their own.
func TestAuditLogsOfReplicas(t *testing.T) {
	t.Parallel()
	server := replicatedServer(t)
	worlds := []*world{newWorld(t), newWorld(t)}
	var urls, keys, folders []string
	for _, w := range worlds {
		w.write("mcp.json", `{"junction":{"names":"none"},"mcpServers":{"s":{"url":"`+server+`"}}}`)
		folders = append(folders, filepath.Join(w.dir, "log"))
		up := w.start("up", "--config", "mcp.json", "--http", "127.0.0.1:0", "--audit=log")
		urls = append(urls, strings.Fields(up.find(`junction serves at http\S+`))[3])
		keys = append(keys, strings.TrimSpace(w.run("audit", "key")))
	}
	for i, text := range []string{"one", "two", "three"} {
		worlds[0].run("call", urls[i%2], "echo", "text="+text)
	}
	w := worlds[0]
	query := w.run(append([]string{"audit", "query", "--kind", "call", "--tool", "echo", "--json"}, folders...)...)
	got := regexp.MustCompile(`"text":"(\w+)"[^\n]*"log":"([^"]+)"`).FindAllStringSubmatch(query, -1)
	if len(got) != 3 || got[0][1] != "one" || got[1][1] != "two" || got[2][1] != "three" || got[0][2] != folders[0] || got[1][2] != folders[1] {
		t.Errorf("the lines are %s", query)
	}
	if text := w.run(append([]string{"audit", "query", "--tool", "echo", "--limit", "1"}, folders...)...); !strings.Contains(text, "three") || !strings.Contains(text, "in "+folders[0]) || strings.Count(text, "\n") != 1 {
		t.Errorf("the newest line is %s", text)
	}
	all := w.run(append([]string{"audit", "verify", "--key", keys[0], "--key", keys[1]}, folders...)...)
	if strings.Count(all, "it is unchanged") != 2 {
		t.Errorf("verify prints %s", all)
	}
	first, err := os.ReadFile(filepath.Join(folders[0], "0000000000000001.jsonl"))
	if err == nil {
		err = os.WriteFile(filepath.Join(folders[0], "0000000000000001.jsonl"), bytes.Replace(first, []byte(`"one"`), []byte(`"1ne"`), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	command := w.command(append([]string{"audit", "verify", "--key", keys[0], "--key", keys[1]}, folders...)...)
	out, err := command.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != cli.ExitToolFailed || strings.Count(string(out), "IT WAS CHANGED") != 1 || strings.Count(string(out), "it is unchanged") != 1 {
		t.Errorf("after a change: %v, %s", err, out)
	}
}

// TestProcessesOfOneUserHaveALogEach runs two processes with the same settings, as two windows of a
// desktop host do.
func TestProcessesOfOneUserHaveALogEach(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("mcp.json", `{"junction":{"names":"none","audit":{}},"mcpServers":{"s":{"url":"`+replicatedServer(t)+`"}}}`)
	var urls []string
	for range 2 {
		up := w.start("up", "--config", "mcp.json", "--http", "127.0.0.1:0")
		urls = append(urls, strings.Fields(up.find(`junction serves at http\S+`))[3])
	}
	w.run("call", urls[0], "echo", "text=one")
	w.run("call", urls[1], "echo", "text=two")
	query := w.run("audit", "query", "--kind", "call", "--tool", "echo", "--json")
	if got := regexp.MustCompile(`"text":"(\w+)"[^\n]*"log":"[^"]+audit(-2)?"`).FindAllStringSubmatch(query, -1); len(got) != 2 || got[0][1] != "one" || got[0][2] != "" || got[1][1] != "two" || got[1][2] != "-2" {
		t.Errorf("the lines are %s", query)
	}
	if text := w.run("audit", "verify"); strings.Count(text, "it is unchanged") != 2 {
		t.Error(text)
	}
	if text := w.run("policy", "test", "--config", "mcp.json", "--json"); strings.Count(text, `"calls":2`) != 1 {
		t.Error(text)
	}
	tail := w.start("audit", "tail", "--kind", "call", "--json")
	for i, url := range urls {
		text := fmt.Sprint("later ", i)
		for end := time.Now().Add(guardTime); !strings.Contains(tail.objects.String(), text) && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			w.run("call", url, "echo", "text="+text)
		}
		if !strings.Contains(tail.objects.String(), text) {
			t.Errorf("%s is not printed: %s%s", text, tail.objects, tail.printed)
		}
	}
}
