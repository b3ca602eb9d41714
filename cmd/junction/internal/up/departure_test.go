package up_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/spf13/pflag"
)

// A kept is a client with one connection.
type kept struct {
	*http.Client
	url string
}

func newKept(t *testing.T, url string) *kept {
	transport := &http.Transport{MaxConnsPerHost: 1}
	t.Cleanup(transport.CloseIdleConnections)
	return &kept{&http.Client{Transport: transport}, url}
}

// call calls a tool as a modern client, and returns the status, and whether the connection closes.
func (k *kept) call(tool string) (status int, closes bool, body string) {
	r, _ := http.NewRequest("POST", k.url, strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, tool)))
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool} {
		r.Header.Set(name, value)
	}
	resp, err := k.Do(r)
	if err != nil {
		return 0, true, err.Error()
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, true, err.Error()
	}
	return resp.StatusCode, resp.Close, string(all)
}

// TestOpenConnectionsAreServedWhileItEnds ends a gateway behind a balancer, which sends no new clients after the delay. Clients
// with open connections lose no call, and connect anew for the next one.
func TestOpenConnectionsAreServedWhileItEnds(t *testing.T) {
	clitest.Alone(t)
	printed := new(clitest.SafeBuffer)
	a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Screen: terminal.NewScreen(printed)}})
	s := mcp.NewServer("s", "1")
	began, goOn := make(chan struct{}), make(chan struct{})
	mcp.AddTool(s, "echo", func(context.Context, struct{}) (string, error) { return "here", nil })
	mcp.AddTool(s, "slow", func(context.Context, struct{}) (string, error) {
		close(began)
		<-goOn
		return "done", nil
	})
	var f up.Front
	flags := new(pflag.FlagSet)
	f.Define(flags, append(up.FrontMembers(), up.LogMembers()...)...)
	if err := flags.Parse([]string{"--http", "127.0.0.1:0", "--drain-delay", "1s", "--drain-time", "20s"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Prepare(a); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	served := make(chan error, 1)
	go func() { served <- up.Serve(ctx, a, f, s) }()
	var url string
	await(t, "it does not serve", func() bool {
		url = regexp.MustCompile(`http://\S+/mcp`).FindString(printed.String())
		return url != ""
	})
	busy, late, slow := newKept(t, url), newKept(t, url), newKept(t, url)
	for _, k := range []*kept{busy, late} {
		if status, closes, body := k.call("echo"); status != 200 || closes {
			t.Fatal(status, closes, body)
		}
	}
	type response struct {
		status int
		closes bool
		body   string
	}
	finished := make(chan response, 1)
	go func() {
		status, closes, body := slow.call("slow")
		finished <- response{status, closes, body}
	}()
	<-began
	end(cli.ErrTerminated)
	await(t, "it does not begin to end", func() bool { return strings.Contains(printed.String(), "ends in 1s") })
	if status, closes, body := busy.call("echo"); status != 200 || !closes {
		t.Errorf("in the delay: %d, closes: %t, %s", status, closes, body)
	}
	if status, closes, body := newKept(t, url).call("echo"); status != 200 || !closes {
		t.Errorf("a new client in the delay: %d, closes: %t, %s", status, closes, body)
	}
	await(t, "it takes new clients after the delay", func() bool {
		status, _, body := newKept(t, url).call("echo")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "shutting down")
	})
	if status, closes, body := late.call("echo"); status != 200 || !closes {
		t.Errorf("on an open connection after the delay: %d, closes: %t, %s", status, closes, body)
	}
	close(goOn)
	if r := <-finished; r.status != 200 || !r.closes || !strings.Contains(r.body, "done") {
		t.Errorf("the call that ran: %+v", r)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp")); err == nil {
		conn.Close()
		t.Error("the address is still open")
	}
}
