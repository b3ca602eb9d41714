package integration

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// initializeTime is how long the impatient client waits for the response to initialize, and
// listTime for that to its first tools/list.
const (
	initializeTime = 300 * time.Millisecond
	listTime       = time.Second
)

// A client that starts junction and gives up when initialize is not answered within 300 ms
// gets every tool of twelve real servers in its first tools/list, from what was remembered
// of them; nothing is started for that.
func TestAnImpatientClientGetsEveryTool(t *testing.T) {
	binary := junction(t)
	servers := realServers(t)
	config, env := upConfig(t, servers), isolated(t)
	var names []string
	for _, s := range servers {
		names = append(names, s.name)
	}
	var want []string
	t.Run("learn", func(t *testing.T) {
		address := freeAddress(t)
		serving(t, env, address, binary, "up", "--tools", "all", "--config", config, "--http", address)
		known(t, env, names...)
		want = toolsAt(t, address)
	})
	if len(want) == 0 {
		t.Fatal("nothing was learned")
	}
	for _, revision := range []string{legacyNewest, modern} {
		for n := range 5 {
			t.Run(fmt.Sprintf("%s, start %d", revision, n+1), func(t *testing.T) {
				tools, err := impatient(t, env, revision, binary, "up", "--stdio", "--tools", "all", "--config", config)
				if errors.Is(err, errImpatient) {
					t.Logf("once more: %v", err) // the machine may have been busy for a moment
					tools, err = impatient(t, env, revision, binary, "up", "--stdio", "--tools", "all", "--config", config)
				}
				if err != nil {
					t.Fatal(err)
				}
				verifyEvery(t, tools, want, names)
			})
		}
	}
}

// verifyEvery verifies that every server's tools are there. What the servers offer to a
// client that can be asked nothing is not more than what they offered to the first.
func verifyEvery(t *testing.T, tools, want, names []string) {
	t.Helper()
	missing := slices.DeleteFunc(slices.Clone(want), func(name string) bool { return slices.Contains(tools, name) })
	missing = slices.DeleteFunc(missing, func(name string) bool { return strings.HasPrefix(name, "everything__trigger-") })
	if len(missing) > 0 {
		t.Errorf("%d of %d tools are missing: %q", len(missing), len(want), missing)
	}
	for _, name := range names {
		if !slices.ContainsFunc(tools, func(tool string) bool { return strings.HasPrefix(tool, name+"__") }) {
			t.Errorf("no tool of %s", name)
		}
	}
}

// toolsAt lists the tools at an endpoint.
func toolsAt(t *testing.T, address string) []string {
	t.Helper()
	return clientNamed(t, "gosdk").run(t, []string{"--http", "http://" + address + "/mcp"}, legacyNewest, []step{{"op": "list"}}, willing)[1].Tools
}

// errImpatient is why the client gave up.
var errImpatient = errors.New("the client gave up")

// impatient starts a program, lists its tools as soon as it can, and ends it. A response
// that does not come in time makes it give up.
func impatient(t *testing.T, env []string, revision string, argv ...string) (tools []string, err error) {
	t.Helper()
	command := exec.Command(argv[0], argv[1:]...)
	command.Env = env
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		_ = command.Wait() // it ends with its input
	}()
	responses := make(chan string, 10)
	go func() {
		defer close(responses)
		scanner := bufio.NewScanner(out)
		for scanner.Buffer(nil, 16<<20); scanner.Scan(); {
			if strings.Contains(scanner.Text(), `"id":`) && !strings.Contains(scanner.Text(), `"method":`) {
				responses <- scanner.Text()
			}
		}
	}()
	ask := func(within time.Duration, message string) (response string, err error) {
		fmt.Fprintln(in, message)
		select {
		case response, ok := <-responses:
			if !ok {
				return "", errors.New("junction ended")
			}
			return response, nil
		case <-time.After(within):
			return "", fmt.Errorf("%w: no response to %.60s within %v", errImpatient, message, within)
		}
	}
	first, list := handshake(revision)
	if _, err = ask(initializeTime, first); err != nil {
		return nil, err
	}
	initialized := time.Since(began)
	if revision != modern {
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	response, err := ask(listTime, list)
	if err != nil {
		return nil, err
	}
	listed := time.Since(began)
	tools = toolNames(t, response)
	t.Logf("from the start of the process: the first response after %v, %d tools after %v, %d processes started",
		initialized.Round(time.Millisecond), len(tools), listed.Round(time.Millisecond), len(childrenOf(t, command.Process.Pid)))
	if children := childrenOf(t, command.Process.Pid); len(children) > 0 {
		return nil, fmt.Errorf("it started %d processes for that", len(children))
	}
	return tools, nil
}

// handshake is the first request of a client that can be asked nothing, and tools/list.
func handshake(revision string) (first, list string) {
	if revision != modern {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"impatient","version":"1"}}}`, revision),
			`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	}
	meta := fmt.Sprintf(`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientInfo":{"name":"impatient","version":"1"},`+
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`, revision)
	return `{"jsonrpc":"2.0","id":1,"method":"server/discover",` + meta, `{"jsonrpc":"2.0","id":2,"method":"tools/list",` + meta
}

func toolNames(t *testing.T, response string) (names []string) {
	t.Helper()
	var list struct {
		Result struct {
			Tools      []struct{ Name string }
			NextCursor string
		}
	}
	if err := json.Unmarshal([]byte(response), &list); err != nil {
		t.Fatalf("%.300s: %v", response, err)
	}
	if list.Result.NextCursor != "" {
		t.Errorf("the list has a second page")
	}
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}
