package integration

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A client that is asked and never comes back keeps others from the server for a moment
// at most, and when the proxy ends nothing is left of it: not the call, not the server
// that waits for the response. The requests of a legacy server on standard input and
// output name no call, so the calls of clients that nothing tells apart run one after
// the other: one that is not come back for is given up where another waits. That a call
// is given up by itself after a while is tested in ../mcp, where the clock can be moved.
func TestBridgeClientNeverComesBack(t *testing.T) {
	t.Parallel()
	for _, server := range []struct {
		name  string
		calls int // each but the first waits 20 s where requests of the server name no call
	}{{"ts-v1", fewer(1, 3)}, {"ts-v2", 20}, {"gosdk", 20}} {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			behind := serverNamed(t, server.name).target(t, "stdio", map[string]string{"ts-v2": "modern"}[server.name])[1:]
			proxy, url := startProxy(t, behind)
			children := childrenOf(t, proxy.Process.Pid)
			if len(children) != 1 {
				t.Fatalf("the proxy has the children %v, want the server", children)
			}
			for range server.calls {
				if body := modernCall(t, url, "ask_one", "{}"); !strings.Contains(body, `"input_required"`) {
					t.Fatalf("ask_one: %s", body)
				}
			}
			if body := modernCall(t, url, "echo", `{"text":"still here"}`); !strings.Contains(body, "still here") {
				t.Errorf("echo: %s", body)
			}
			endsInOrder(t, proxy, children[0])
		})
	}
}

// startProxy puts `junction proxy` over HTTP in front of a command.
func startProxy(t *testing.T, behind []string) (proxy *exec.Cmd, url string) {
	t.Helper()
	proxy = exec.Command(junction(t), append([]string{"proxy", "--http", "127.0.0.1:0", "--"}, behind...)...)
	proxy.Env = isolated(t)
	stderr, err := proxy.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Process.Kill() }) // it may have ended
	lines := bufio.NewReader(stderr)
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("the proxy does not say where it serves: %v", err)
		}
		if _, url, found := strings.Cut(strings.TrimSpace(text), "Serving at "); found {
			return proxy, url
		}
	}
}

// modernCall makes one round of a call and returns the body of the response.
func modernCall(t *testing.T, url, tool, arguments string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{`+
		`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"gone","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`, tool, arguments, modern)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": modern, "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		request.Header.Set(name, value)
	}
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// childrenOf lists the processes that a process started.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		t.Skipf("skip: this system does not tell the children of a process: %v", err)
	}
	for _, task := range tasks {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			t.Skipf("skip: this system does not tell the children of a process: %v", err)
		}
		for field := range strings.FieldsSeq(string(raw)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			children = append(children, child)
		}
	}
	return children
}

// endsInOrder asks the proxy to end, and verifies that it does, with its server.
func endsInOrder(t *testing.T, proxy *exec.Cmd, server int) {
	t.Helper()
	if err := proxy.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- proxy.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the proxy ended with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the proxy does not end 20 s after it was asked to")
	}
	if err := syscall.Kill(server, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the server %d outlived the proxy: %v", server, err)
	}
}
