package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// manyServers is a configuration of n servers, each a process of its own, and one
// that never says anything.
func manyServers(t *testing.T, n int) string {
	t.Helper()
	argv := self(t, "serve", "everything")
	servers := map[string]any{"mute": map[string]any{"command": "sh", "args": []string{"-c", "sleep 1000 & wait"}}}
	for i := range n {
		servers[fmt.Sprint("every", i)] = map[string]any{"command": argv[0], "args": argv[1:], "env": map[string]string{"NUMBER": fmt.Sprint(i)}}
	}
	return configuration(t, servers)
}

// shownStatus is what junction status --json prints.
func shownStatus(t *testing.T) []cli.Instance {
	t.Helper()
	got := runs(t, "", "status", "--json")
	var all struct{ Instances []cli.Instance }
	if err := json.Unmarshal([]byte(got.stdout), &all); err != nil {
		t.Fatalf("%v: %+v", err, got)
	}
	return all.Instances
}

// firstShown returns the first junction that status shows with servers, once one answers in time.
func firstShown(t *testing.T) (first cli.Instance) {
	t.Helper()
	waitFor(t, "a junction with servers is shown", func() bool {
		all := shownStatus(t)
		if len(all) > 0 {
			first = all[0]
		}
		return len(first.Servers) > 0
	})
	return first
}

// learn runs up until it has seen n servers.
func learn(t *testing.T, config string, n int) {
	t.Helper()
	r := serving(t, "up", "--config", config)
	for deadline := time.Now().Add(guardTime); ; time.Sleep(50 * time.Millisecond) {
		connected := 0
		for _, i := range shownStatus(t) {
			connected += strings.Count(fmt.Sprint(i.Servers), "connected, revision")
		}
		if connected == n {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d servers are connected:\n%s", connected, n, r.stderr)
		}
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// A talk is with a junction on standard input and output.
type talk struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	stderr bytes.Buffer
	began  time.Time
}

func startTalk(t *testing.T, args ...string) *talk {
	t.Helper()
	argv := self(t, args...)
	k := &talk{t: t, cmd: child(t, argv[0], argv[1:]...)}
	var err error
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	k.cmd.Stderr = &k.stderr
	k.out = bufio.NewScanner(out)
	k.out.Buffer(nil, 16<<20)
	k.began = time.Now()
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return k
}

// ask makes a request and returns the line that answers it, and how long after the
// start of the process it came.
func (k *talk) ask(id int, method, params string) (line string, after time.Duration) {
	k.t.Helper()
	fmt.Fprintf(k.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
	for k.out.Scan() {
		if strings.Contains(k.out.Text(), fmt.Sprintf(`"id":%d`, id)) {
			return k.out.Text(), time.Since(k.began)
		}
	}
	k.t.Fatalf("%s is not answered: %s", method, &k.stderr)
	return "", 0
}

// children are the processes that it started.
func (k *talk) children() []string {
	k.t.Helper()
	if runtime.GOOS != "linux" {
		return nil
	}
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", k.cmd.Process.Pid))
	if err != nil {
		k.t.Fatal(err)
	}
	var children []string
	for _, path := range all {
		data, _ := os.ReadFile(path) // a thread that ended has none
		children = append(children, strings.Fields(string(data))...)
	}
	return children
}

func (k *talk) end() {
	k.t.Helper()
	k.in.Close()
	if err := k.cmd.Wait(); err != nil {
		k.t.Errorf("it ended with %v: %s", err, &k.stderr)
	}
}

const hello = `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`

func TestUpOffersRememberedToolsAndStartsUsedServers(t *testing.T) {
	clitest.Settle(t) // not next to others, as it looks at the clock
	const n = 8
	config := manyServers(t, n)
	learn(t, config, n)
	best := time.Hour
	for attempt := 0; attempt < 5 && best > 300*time.Millisecond; attempt++ {
		k := startTalk(t, "up", "--stdio", "--tools", "all", "--config", config)
		_, first := k.ask(1, "initialize", hello)
		list, listed := k.ask(2, "tools/list", `{}`)
		t.Logf("initialize is answered %v after the process was started, tools/list %v", first, listed)
		best = min(best, first)
		if got := strings.Count(list, `__echo"`); got != n {
			t.Errorf("%d servers are in the list", got)
		}
		if listed > guardTime {
			t.Errorf("tools/list was answered after %v", listed)
		}
		if children := k.children(); len(children) > 1 { // the one that was never seen
			t.Errorf("it started %v", children)
		}
		answer, _ := k.ask(3, "tools/call", `{"name":"every3__add","arguments":{"a":1,"b":2}}`)
		if !strings.Contains(answer, `{"sum":3}`) {
			t.Errorf("the call: %s", answer)
		}
		if children := k.children(); runtime.GOOS == "linux" && len(children) != 2 {
			t.Errorf("after a call its children are %v", children)
		}
		k.end()
		if k.stderr.Len() > 0 {
			t.Errorf("it wrote to standard error: %s", &k.stderr)
		}
	}
	if best > 2*time.Second { // a list of servers that start is waited for longer
		t.Errorf("initialize was answered after %v", best)
	}
}

func TestUpServesTheServersThatAreNamed(t *testing.T) {
	clitest.Alone(t)
	config := manyServers(t, 3)
	r := serving(t, "up", "--config", config, "every1", "filesystem", "every1")
	got := runs(t, "", "tools", r.url, "--json")
	if !strings.Contains(got.stdout, "every1__add") || strings.Contains(got.stdout, "every0__") || !strings.Contains(got.stdout, "filesystem__") {
		t.Errorf("got %+v", got)
	}
	if !strings.Contains(r.stderr.String(), `"every1","filesystem"]`) || strings.Contains(r.stderr.String(), "there is one of this name already") {
		t.Errorf("the entry for clients names others:\n%s", r.stderr)
	}
	if got := runs(t, "", "up", "--http", "127.0.0.1:0", "--config", config, "every7"); got.code != cli.ExitConnection || !strings.Contains(got.stderr, `no server is called "every7"; did you mean "every`) {
		t.Errorf("got %+v", got)
	}
}

func TestStatusShowsProcesses(t *testing.T) {
	clitest.Alone(t)
	if got := runs(t, "", "status"); got.code != cli.ExitOK || got.stdout != "No junction up is running; start one with: junction up\n" {
		t.Errorf("before: %+v", got)
	}
	r := serving(t, "up")
	got := runs(t, "", "status")
	for _, want := range []string{r.url + " (process ", "everything  connected: 25 tools, 3 resources, 1 template, 4 prompts", "2 servers: 2 connected · "} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in %+v", want, got)
		}
	}
	if all := shownStatus(t); len(all) != 1 || all[0].Endpoint != r.url || all[0].PID != os.Getpid() || all[0].Servers[0].Tools != 25 || all[0].Servers[0].State != "connected" {
		t.Errorf("got %+v", all)
	}
	r.stop()
	if all := shownStatus(t); len(all) != 0 {
		t.Errorf("after its end: %+v", all)
	}
	dir, err := cli.StatusFolder(clitest.PlaceOf(t))
	if err != nil {
		t.Fatal(err)
	}
	unreachable := filepath.Join(dir, "999999"+cli.ControlSuffix)
	l, err := net.Listen("unix", unreachable)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	clitest.AwaitStarts() // a program that is being started has the listener until it runs
	if all := shownStatus(t); len(all) != 0 {
		t.Errorf("of one that crashed: %+v", all)
	}
	if _, err := os.Stat(unreachable); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its socket is still there: %v", err)
	}
}

func TestAnAddressInUseIsSaidToBe(t *testing.T) {
	clitest.Alone(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	got := runs(t, "", "up", "--http", l.Addr().String())
	if got.code != cli.ExitConnection || !strings.Contains(got.stderr, "this address is in use") || !strings.Contains(got.stderr, "--http 127.0.0.1:0") || !strings.Contains(got.stderr, "junction status") {
		t.Errorf("got %+v", got)
	}
}
