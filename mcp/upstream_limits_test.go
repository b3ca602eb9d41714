package mcp

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// sentLink is a link to a server that only listens.
type sentLink struct {
	mu   sync.Mutex
	sent []string

	slow      time.Duration // until Receive has begun
	receiving atomic.Bool
}

func (l *sentLink) Call(ctx context.Context, _ link.Out, _ func(*jsonrpc.Message)) (*jsonrpc.Message, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (l *sentLink) Send(_ context.Context, out link.Out) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, string(out.Message))
	return nil
}

func (l *sentLink) Receive(ctx context.Context, begun func(), _ func(*jsonrpc.Message)) error {
	if l.slow > 0 {
		time.Sleep(l.slow)
	}
	l.receiving.Store(true)
	begun()
	<-ctx.Done()
	return ctx.Err()
}

func (l *sentLink) Dead() <-chan struct{} { return nil }
func (l *sentLink) Err() error            { return nil }
func (l *sentLink) Close() error          { return nil }
func (l *sentLink) ClosingCancels() bool  { return false }

// quietUpstream is a connection to a server of the legacy era over the link.
func quietUpstream(l link.Link) *upstream {
	return newUpstream(l, "quiet", ClientOptions{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
}

func TestAConnectionIsUsedOnlyOnceItsMessagesAreReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &sentLink{slow: time.Second}
		u := quietUpstream(l)
		defer u.close()
		if !l.receiving.Load() {
			t.Error("a call could be made whose response overtakes what comes before it")
		}
	})
}

func TestCallsThatWaitForOneServerAreLimited(t *testing.T) {
	u := quietUpstream(&sentLink{})
	defer u.close()
	for range maxOpenCalls {
		if _, err := u.open(t.Context(), &Request{Method: methodToolsCall}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := u.open(t.Context(), &Request{Method: methodToolsCall}); err == nil || !strings.Contains(err.Error(), `server "quiet": 10000 requests wait`) {
		t.Errorf("one more: %v", err)
	}
}

func TestQuestionsOfOneCallAreLimited(t *testing.T) {
	l := &sentLink{}
	u := quietUpstream(l)
	defer u.close()
	u.revision = revision.LatestLegacy()
	era := newLegacyEra(u)
	c, err := u.open(t.Context(), &Request{Method: methodToolsCall, Peer: noPeer{}})
	if err != nil {
		t.Fatal(err)
	}
	c.detach() // parked: nobody answers
	p := &legacyCall{era: era, call: c, stuck: make(chan struct{}, 1), open: make(map[jsonrpc.ID]*Question)}
	for i := range maxOpenQuestions + 1 {
		p.ask(&jsonrpc.Message{Kind: jsonrpc.Request, ID: jsonrpc.IntID(int64(i)), Method: methodElicit})
	}
	if len(p.open) != maxOpenQuestions {
		t.Errorf("%d questions are open, want %d", len(p.open), maxOpenQuestions)
	}
	if len(l.sent) != 1 || !strings.Contains(l.sent[0], `"id":64,"error":{"code":-32603,"message":"64 questions of this call are open already"`) {
		t.Errorf("the server was told %v", l.sent)
	}
}

func TestNotificationsThatASlowClientDoesNotTakeAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c courier
		taken := make(chan struct{})
		var delivered atomic.Int32
		c.send(func() { <-taken })
		synctest.Wait() // the first is being delivered, and takes its time
		for range maxCarried + 100 {
			c.send(func() { delivered.Add(1) })
		}
		close(taken)
		c.finish()
		if n := delivered.Load(); n != maxCarried {
			t.Errorf("%d were delivered after it, want %d", n, maxCarried)
		}
	})
}
