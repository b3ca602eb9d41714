package up

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/seal"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/replicas"
)

// A passingPair is two replicas, of which the first passes requests on to the second.
type passingPair struct {
	first, second *owning
	url           string // of the second
	calls         atomic.Int64
}

func newPassingPair(t *testing.T) *passingPair {
	p := new(passingPair)
	store := state.NewMemory(0)
	t.Cleanup(func() { _ = store.Close() })
	quiet := slog.New(slog.DiscardHandler)
	start := func() *owning {
		g := replicas.New(store, quiet)
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() { g.Run(ctx) })
		o := newOwning(g, newShared(sharing{keys: [][]byte{bytes.Repeat([]byte("k"), seal.KeySize)}}), quiet)
		stop := o.run(ctx)
		gw := gateway.New(gateway.Options{Logger: quiet})
		if err := gw.Add("server", gateway.Upstream{Isolation: gateway.PerUser, Owners: o, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) {
			s := mcp.NewServer("server", "1")
			mcp.AddTool(s, "count", func(context.Context, struct{}) (string, error) { p.calls.Add(1); return "done", nil })
			return mcp.Dial(ctx, stream.Pipe(s))
		}}); err != nil {
			t.Fatal(err)
		}
		o.of(gw)
		e := o.serve(mcp.ServeOptions{Logger: quiet, StateKeysFrom: o.shared.keys})
		t.Cleanup(func() { e.Close(); _ = gw.Close(); stop(); cancel(); running.Wait() })
		return o
	}
	p.first, p.second = start(), start()
	web := httptest.NewServer(http.HandlerFunc(p.second.serveHTTP))
	t.Cleanup(web.Close)
	p.url = web.URL
	p.first.shared.peers.Set([]string{web.URL})
	for wait := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) { // for its lease
		right, err := p.second.owners.Claim(t.Context(), "key", "an instance")
		if err == nil {
			right.Release()
			return p
		}
		if time.Now().After(wait) {
			t.Fatal(err)
		}
	}
}

// call calls the tool as a user, through an elsewhere.
func (p *passingPair) call(ctx context.Context, who *mcp.Principal) error {
	e := &elsewhere{p.first, p.url, p.second.owners.ID(), "server", "key"}
	as := mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
		of := *req
		of.Principal, of.Caller = who, nil
		return e.Handle(ctx, &of)
	})
	_, err := mcp.NewClientWith(as, mcp.ClientOptions{Timeout: 10 * time.Second}).CallTool(ctx, "count", struct{}{})
	return err
}

// A user whose names do not fit into the header gets an error, and others still reach the replica.
func TestOneUserMakesNoReplicaUnreachable(t *testing.T) {
	p := newPassingPair(t)
	if err := p.call(t.Context(), &mcp.Principal{Issuer: "i", Subject: "ann", ClientID: "https://client.example/?" + strings.Repeat("&", 2000)}); err != nil {
		t.Error("a client with a long name:", err)
	}
	if err := p.call(t.Context(), &mcp.Principal{Issuer: "i", Subject: strings.Repeat("a", 20_000)}); err == nil || errors.Is(err, gateway.ErrMoved) {
		t.Error("a user with too long a name:", err)
	}
	if p.first.owners.Avoids(p.second.owners.ID()) {
		t.Error("the other replica is avoided")
	}
	if err := p.call(t.Context(), &mcp.Principal{Issuer: "i", Subject: "ben"}); err != nil {
		t.Error("another user:", err)
	}
}

// A request that was passed on runs once, even if someone who could read it sends it again.
func TestAPassedRequestRunsOnce(t *testing.T) {
	p := newPassingPair(t)
	var again []*http.Request
	var bodies [][]byte
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // sees what is sent
		body, _ := io.ReadAll(r.Body)
		again, bodies = append(again, r.Clone(context.Background())), append(bodies, body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		p.second.serveHTTP(w, r)
	}))
	defer web.Close()
	p.url = web.URL
	p.first.shared.peers.Set([]string{web.URL})
	if err := p.call(t.Context(), &mcp.Principal{Issuer: "i", Subject: "ann"}); err != nil {
		t.Fatal(err)
	}
	ran := p.calls.Load()
	for i, r := range again {
		r.Body = io.NopCloser(bytes.NewReader(bodies[i]))
		w := httptest.NewRecorder()
		if p.second.serveHTTP(w, r); w.Code != http.StatusForbidden {
			t.Errorf("request %d again: %d", i, w.Code)
		}
	}
	if n := p.calls.Load(); ran != 1 || n != 1 {
		t.Errorf("the tool ran %d times, then %d", ran, n)
	}
}
