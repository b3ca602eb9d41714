package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

const mark = "s3cr3t-value-0123456789"

// TestSecretsAreHiddenBehindASpace covers a bug: a space before a message revealed all its secrets.
func TestSecretsAreHiddenBehindASpace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		n := watchIn(t, &l)
		message(&l, ` {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{"password":"`+mark+`"}}}`)
		shown()
		if len(n.all) != 1 || strings.Contains(string(n.all[0].Message), mark) {
			t.Errorf("shown: %s", n.all[0].Message)
		}
	})
}

// TestSecretsOfURIsAreHidden covers headers, which repeat the hidden parts of the message.
func TestSecretsOfURIsAreHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		n := watchIn(t, &l)
		uri := "https://me:" + mark + "@h/p?token=" + mark
		l.Server("far").Passes(context.Background(), mcp.WireMessage{ToServer: true,
			Message: []byte(`{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"` + uri + `"}}`)})
		shown()
		line, _ := json.Marshal(n.all[0])
		if strings.Contains(string(line), mark) {
			t.Errorf("shown: %s", line)
		}
	})
}

// TestSecretsInMethodsIdsAndNamesAreHidden covers a peer's name, method and ids, which were shown
// unchanged.
func TestSecretsInMethodsIdsAndNamesAreHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		n := watchIn(t, &l)
		message(&l, `{"jsonrpc":"2.0","id":"sk-`+mark+`","method":"sk-`+mark+`","params":{"clientInfo":{"name":"sk-`+mark+`","version":"1"}}}`)
		shown()
		line, _ := json.Marshal(n.all[0])
		if strings.Contains(string(line), mark) {
			t.Errorf("shown: %s", line)
		}
	})
}

// TestAnEventHasALimit covers the limit of 32 MiB for a watcher's queue, which counted only
// messages.
func TestAnEventHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		n := watchIn(t, &l)
		message(&l, `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 3<<20)+`"}`)
		shown()
		line, _ := json.Marshal(n.all[0])
		if len(line) > 2<<20 {
			t.Errorf("junction traffic reads lines of up to %d bytes, this one has %d", 2<<20, len(line))
		}
	})
}

// TestSecretsAreHiddenBehindALineFeedOfAClient uses a real endpoint: the body begins with a line
// feed.
func TestSecretsAreHiddenBehindALineFeedOfAClient(t *testing.T) {
	var l Log
	n := watch(t, &l)
	h := streamable.HandlerWith(mcp.NewServer("s", "1"), streamable.Options{ServeOptions: mcp.ServeOptions{Wire: l.Clients()}})
	defer h.Close()
	s := httptest.NewServer(h)
	defer s.Close()
	req, _ := http.NewRequest(http.MethodPost, s.URL, strings.NewReader("\n"+`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1","password":"`+mark+`"}}}`))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	response, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	n.mu.Lock()
	for len(n.all) == 0 {
		n.more.Wait()
	}
	defer n.mu.Unlock()
	if strings.Contains(string(n.all[0].Message), mark) {
		t.Errorf("status %d, shown: %s", response.StatusCode, n.all[0].Message)
	}
}

// TestConfiguredHeadersAreNotShown covers headers that a transport adds to a message, such as a
// configured Authorization.
func TestConfiguredHeadersAreNotShown(t *testing.T) {
	h := streamable.HandlerWith(server(t), streamable.Options{})
	defer h.Close()
	s := httptest.NewServer(h)
	defer s.Close()
	var l Log
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var shown []string
	var watching sync.WaitGroup
	watching.Go(func() {
		_ = l.Watch(ctx, func(e *Event) error {
			line, _ := json.Marshal(e) // like junction up
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(string(line), "c0nfigured") {
				shown = append(shown, string(line))
			}
			return nil
		})
	})
	for !l.Clients().Watching() {
	}
	c, err := mcp.DialWith(ctx, streamable.ClientWith(s.URL, streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer c0nfigured-secret"}}}), mcp.ClientOptions{Wire: l.Server("far")})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var calls sync.WaitGroup
	for range 8 {
		calls.Go(func() {
			for range 100 {
				_, _ = c.Do(ctx, "tools/list", nil)
			}
		})
	}
	calls.Wait()
	cancel()
	watching.Wait()
	if len(shown) > 0 {
		t.Errorf("%d messages are shown with the secret, such as %.700s", len(shown), shown[0])
	}
}

// TestPendingMessagesAreBoundedInBytes checks that all queued events count, including errors.
func TestPendingMessagesAreBoundedInBytes(t *testing.T) {
	var l Log
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	held := make(chan struct{})
	defer close(held)
	go l.Watch(ctx, func(*Event) error { <-held; return nil })
	for !l.Clients().Watching() {
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	w := l.Server("far")
	for i := range 1000 {
		w.Passes(ctx, mcp.WireMessage{Err: errors.New(fmt.Sprint(i) + strings.Repeat("x", 256<<10))})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if held := int64(after.HeapAlloc) - int64(before.HeapAlloc); held > maxWaitingBytes {
		t.Errorf("%d MiB wait, the limit is %d MiB", held>>20, maxWaitingBytes>>20)
	}
	cancel()
}
