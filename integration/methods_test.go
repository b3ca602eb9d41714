package integration

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// What a modern client that sends ping or logging/setLevel all the same gets through
// Junction is what the server on the reference SDK says to it directly, over either
// transport, in front of a modern server and of a legacy one. Legacy clients have both.
func TestMethodsThatTheModernRevisionRemoved(t *testing.T) {
	t.Parallel()
	python := serverNamed(t, "python").argv(t)
	script := []step{{"op": "request", "method": "ping"}, {"op": "request", "method": "logging/setLevel", "level": "info"}}
	client := clientNamed(t, "python")
	direct := map[string][]line{}
	for _, revision := range []string{legacyNewest, modern} {
		direct[revision] = client.run(t, append([]string{"--stdio"}, python...), revision, script, willing)[1:]
		for _, l := range direct[revision] {
			t.Logf("directly, %s: %s", revision, outcomeOf(l))
		}
	}
	for behind, server := range map[string][]string{"FastMCP": python, "server-everything": everythingServer(t)} {
		targets := map[string][]string{}
		for way, to := range ways(t, server) {
			targets[way] = to.target
		}
		for _, command := range []string{"up", "proxy"} {
			address, _ := shared(t, command, server)
			targets[command+" --http"] = []string{"--http", "http://" + address + "/mcp"}
		}
		for way, target := range targets {
			for revision, want := range direct {
				t.Run(strings.Join([]string{behind, way, revision}, ", "), func(t *testing.T) {
					t.Parallel()
					for i, l := range client.run(t, target, revision, script, willing)[1:] {
						if l.OK != want[i].OK || l.Error.Code != want[i].Error.Code {
							t.Errorf("%s: %s, directly: %s", script[i]["method"], outcomeOf(l), outcomeOf(want[i]))
						}
					}
				})
			}
		}
	}
}

func outcomeOf(l line) string {
	if l.OK {
		return "ok"
	}
	return fmt.Sprintf("error %d %q %s", l.Error.Code, l.Error.Message, l.Error.Data)
}

// Over HTTP the status is the same too.
func TestStatusOfMethodsThatTheModernRevisionRemoved(t *testing.T) {
	t.Parallel()
	url := serverNamed(t, "python").target(t, "http", "")[1]
	address, _ := shared(t, "proxy", serverNamed(t, "python").argv(t))
	for method, params := range map[string]string{"ping": "", "logging/setLevel": `"level":"info",`} {
		direct := modernStatus(t, url, method, params)
		through := modernStatus(t, "http://"+address+"/mcp", method, params)
		if direct != through || !strings.HasPrefix(direct, "404 -32601") {
			t.Errorf("%s: directly %q, through Junction %q", method, direct, through)
		}
	}
}

// modernStatus sends a modern request and returns the status and the code of the error.
func modernStatus(t *testing.T, url, method, params string) string {
	t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, method, params, modern)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": modern, "Mcp-Method": method} {
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
	code := "no error"
	if strings.Contains(string(answer), `-32601`) {
		code = "-32601"
	}
	return fmt.Sprintf("%d %s", response.StatusCode, code)
}
