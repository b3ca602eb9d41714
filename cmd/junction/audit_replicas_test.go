package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

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
