package edge

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
)

// The pauses before a lost listen request is repeated.
const (
	firstListenPause = time.Second
	lastListenPause  = 30 * time.Second
)

// run sends the request and returns when the subscription is over. A legacy client does not notice
// that its notifications ended, and cannot listen again. So run repeats an acknowledged request
// that was lost, unless the server refuses it.
func (l *subscription) run() {
	defer l.settle()
	defer l.cancel()
	s := l.session
	for pause := firstListenPause; ; pause = min(2*pause, lastListenPause) {
		began := time.Now()
		req := &mcp.Request{Method: methodListen, Params: l.params(), Meta: s.meta, Caller: s.client(), Principal: s.principal.Load(), Peer: l}
		_, err := s.edge.handler.Handle(l.ctx, req)
		if l.ctx.Err() != nil {
			return
		}
		s.edge.log.Debug("mcp: the server ended its notifications", "uri", l.uri, "error", err)
		if !l.inForce() || errors.As(err, new(*mcp.Error)) {
			l.refused()
			return
		}
		if time.Since(began) > lastListenPause {
			pause = firstListenPause
		}
		if !l.sleep(pause) {
			return
		}
		l.again.Store(true)
	}
}

// inForce reports whether the request was acknowledged.
func (l *subscription) inForce() bool {
	select {
	case <-l.settled:
		return true
	default:
		return false
	}
}

func (l *subscription) sleep(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// known returns the mark of the last change that the client was notified of.
func (l *subscription) known() string {
	if !l.inForce() {
		return l.since
	}
	s := l.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.uri == "" {
		return s.mark
	}
	return s.resources[l.uri]
}

// missed notifies the client of everything that may have changed while no request ran. It is used
// for servers without marks.
func (l *subscription) missed(ctx context.Context) error {
	send := func(method string, params json.RawMessage) error {
		return l.stream.out.Send(ctx, jsonrpc.AppendNotification(nil, method, params))
	}
	if l.uri != "" {
		w := jsonrpc.NewObject(nil)
		w.String("uri", l.uri)
		return send(notifyUpdated, w.Bytes())
	}
	for _, method := range mcp.AllLists().OfferedBy(&l.session.has).Lists() {
		if err := send(method, nil); err != nil {
			return err
		}
	}
	return nil
}
