//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// TestSIGTERMEndsAGatewayInSteps has a call that runs too long, one that ends in time, a stream, and one that begins in the delay.
func TestSIGTERMEndsAGatewayInSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begun := make(chan struct{}, 2)
	s := mcp.NewServer("slow", "1")
	mcp.AddTool(s, "work", func(ctx context.Context, in struct {
		Milliseconds int `json:"milliseconds"`
	}) (string, error) {
		begun <- struct{}{}
		select {
		case <-time.After(time.Duration(in.Milliseconds) * time.Millisecond):
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	served := httptest.NewServer(streamable.Handler(s))
	t.Cleanup(served.Close)
	w.write("mcp.json", fmt.Sprintf(`{"mcpServers": {"s": {"url": %q, "start": "eager"}}, "junction": {"tools": "all",
		"listen": {"http": "127.0.0.1:0", "admin": "127.0.0.1:0"}, "drain": {"delay": "2s", "time": "1s"}}}`, served.URL))
	cmd := w.command("up", "--config", "mcp.json")
	up := &startedCommand{world: w, objects: new(clitest.SafeBuffer), printed: new(clitest.SafeBuffer)}
	cmd.Stdout, cmd.Stderr = up.objects, up.printed
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	url := address.FindString(up.find(`junction serves at http\S+/mcp`))
	ready := strings.TrimSuffix(up.find(`http://127\.0\.0\.1:\d+/metrics`), "/metrics") + "/readyz"
	up.find(`s +connected|1 connected`)

	through := new(http.Transport)
	client := &http.Client{Transport: through}
	t.Cleanup(through.CloseIdleConnections)
	session := ""
	send := func(method, body string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
			req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		}
		return client.Do(req)
	}
	resp, err := send("POST", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	if err != nil {
		t.Fatal(err)
	}
	session = resp.Header.Get("Mcp-Session-Id")
	resp.Body.Close()
	// call returns the status and the body of the response to a call.
	call := func(milliseconds int) (text string, err error) {
		resp, err := send("POST", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"s__work","arguments":{"milliseconds":%d}}}`, milliseconds, milliseconds))
		if err != nil {
			return "", err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		return fmt.Sprint(resp.StatusCode, " ", string(body)), err
	}
	stream, err := send("GET", "")
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatalf("the stream: %v, %v", stream, err)
	}
	defer stream.Body.Close()
	type result struct {
		text string
		err  error
	}
	results := map[int]chan result{2500: make(chan result, 1), 20_000: make(chan result, 1)}
	for milliseconds, to := range results {
		go func() {
			text, err := call(milliseconds)
			to <- result{text, err}
		}()
	}
	for range results {
		<-begun
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	up.find("junction up ends in 2s")
	resp, err = client.Get(ready)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("in the delay /readyz is %s", resp.Status)
	}
	if text, err := call(1); err != nil || !strings.Contains(text, "done") {
		t.Errorf("a call in the delay: %s, %v", text, err)
	}
	<-begun
	if r := <-results[2500]; r.err != nil || !strings.Contains(r.text, "done") {
		t.Errorf("a call that ends in time: %+v", r)
	}
	r := <-results[20_000]
	at := strings.Index(r.text, `{"jsonrpc"`)
	var answer struct{ Error *struct{ Message string } }
	if r.err != nil || at < 0 || json.Unmarshal([]byte(strings.TrimSpace(r.text[at:])), &answer) != nil || answer.Error == nil || answer.Error.Message == "" {
		t.Errorf("a call that does not end gets no error: %+v", r)
	}
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream is cut: %v", err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ends with %v: %s", err, up.printed)
		}
	case <-time.After(guardTime):
		t.Error("it does not end")
	}
}
