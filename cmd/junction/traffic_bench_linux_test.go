package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A measured process is one whose calls are counted.
type measured struct {
	name, url, tool string
	pid             int
	cpu             []float64 // µs of its processor for a call, by round
	wait            []float64 // of its caller
}

var addressed = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// startMeasured starts the test binary as what env makes of it, on the first processor only, so that no work moves from one to
// another, and waits until it says where it is.
func startMeasured(b *testing.B, home, name, tool, env string, args ...string) *measured {
	b.Helper()
	if err := os.MkdirAll(home, 0o700); err != nil {
		b.Fatal(err)
	}
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		b.Skip("skip: taskset (util-linux) is missing: ", err)
	}
	cmd := exec.Command(taskset, append([]string{"-c", "0", os.Args[0]}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "JUNCTION_KEYRING=off", env}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	m := &measured{name: name, tool: tool, pid: cmd.Process.Pid}
	lines := bufio.NewScanner(out)
	for m.url == "" && lines.Scan() {
		if m.url = addressed.FindString(lines.Text()); strings.HasPrefix(lines.Text(), "Watching 1 ") {
			m.url = "none"
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if m.url == "" {
		b.Fatalf("%s does not say where it is", name)
	}
	return m
}

// used is the processor's time of a process so far.
func (m *measured) used(b *testing.B) (all time.Duration) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", m.pid))
	if err != nil || len(threads) == 0 {
		b.Fatal("no threads", err)
	}
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it ended
		}
		ns, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(ns, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		all += time.Duration(n)
	}
	return all
}

// call calls the tool n times, one call after the other.
func (m *measured) call(b *testing.B, n int) {
	const message = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":{"text":"the text to echo, sixty-four bytes long, as those of people are"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`
	for id := range n {
		req, err := http.NewRequest(http.MethodPost, m.url, strings.NewReader(fmt.Sprintf(message, id, m.tool)))
		if err != nil {
			b.Fatal(err)
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {m.tool}}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), "sixty-four") {
			b.Fatal(resp.Status, err, string(body))
		}
	}
}

// BenchmarkWatchedCall is what it costs a call of junction up that somebody watches: in the console of the same command, and by
// junction traffic. Each is a process; measured is the time of the gateway's processor, one call after the other from a client on
// the second processor. bare is a server with one tool and nothing around it. The goal of what is watched is 0.3 of it. The figures
// are medians of all rounds; ratios are made within a round, so that it does not matter how fast the machine is in it.
func BenchmarkWatchedCall(b *testing.B) {
	const calls = 500
	pin(b, os.Getpid(), 1)
	dir := b.TempDir()
	home := func(name string) string { return filepath.Join(dir, name) }
	bare := startMeasured(b, home("bare"), "bare", "echo", asBare+"=1")
	file := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(file, []byte(`{"mcpServers":{"up":{"url":"`+bare.url+`"}},"junction":{"limits":{"rate":"9999999/m"}}}`), 0o600); err != nil {
		b.Fatal(err)
	}
	up := func(name string, more ...string) *measured {
		return startMeasured(b, home(name), name, "up__echo", asProgram+"=1", append([]string{"up", "--config", file, "--http", "127.0.0.1:0"}, more...)...)
	}
	unwatched, console, traffic := up("unwatched"), up("console", "--console"), up("traffic")
	startMeasured(b, home("traffic"), "watcher", "", asProgram+"=1", "traffic", "--json")
	all := []*measured{bare, unwatched, console, traffic}
	for _, m := range all {
		m.call(b, calls/2)
	}
	for round := 0; b.Loop(); round++ {
		for i := range all {
			m := all[(i+round)%len(all)] // another one begins each time
			before, began := m.used(b), time.Now()
			m.call(b, calls)
			waited := time.Since(began)
			time.Sleep(50 * time.Millisecond) // until what waits was shown
			m.wait = append(m.wait, float64(waited.Nanoseconds())/calls/1000)
			m.cpu = append(m.cpu, float64((m.used(b)-before).Nanoseconds())/calls/1000)
		}
	}
	b.ReportMetric(0, "ns/op") // of no meaning
	for _, m := range all {
		b.ReportMetric(median(m.cpu), m.name+"-µs")
		b.ReportMetric(median(m.wait), m.name+"-wait-µs")
	}
	for _, m := range all[2:] {
		b.ReportMetric(median(ofBare(m.cpu, unwatched.cpu, bare.cpu)), m.name+"-of-bare")
		b.ReportMetric(median(ofBare(m.wait, unwatched.wait, bare.wait)), m.name+"-wait-of-bare")
	}
}

// ofBare is what a watched call costs more than another one, as a part of a call of bare, in each round.
func ofBare(watched, unwatched, bare []float64) (all []float64) {
	for i := range watched {
		all = append(all, (watched[i]-unwatched[i])/bare[i])
	}
	return all
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2]
}
