package streamable

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestOneClientKeepsPeersFewRequestsBusy sends batches of responses to nothing, each of which is
// passed on to a peer that is slow.
func TestOneClientKeepsPeersFewRequestsBusy(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		time.Sleep(time.Second)
		mu.Lock()
		now--
		mu.Unlock()
		w.WriteHeader(http.StatusBadRequest)
	}))
	t.Cleanup(slow.Close)
	f := newFixture(t)
	o := sharedOptions(oneKey)
	o.Peers = func() []string { return []string{slow.URL} }
	here := newSite(t, f.Server, o)
	session := []string{"Mcp-Session-Id", here.handshake("2025-03-26")}
	batch := make([]string, 500)
	for i := range batch {
		batch[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":"x%d","result":{}}`, i)
	}
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() { here.read(here.do("POST", "["+strings.Join(batch, ",")+"]", session...)) })
	}
	running.Wait()
	mu.Lock()
	defer mu.Unlock()
	if limit := maxPassed / 4; most > limit {
		t.Errorf("a peer had %d requests of one client at the same time, want at most %d", most, limit)
	}
}
