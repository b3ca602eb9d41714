package streamable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/passed"
	"github.com/junction-mcp/junction/internal/share"
	"github.com/junction-mcp/junction/mcp"
)

const (
	peerTime     = 5 * time.Second // for a peer to take a message
	peerIdleTime = time.Minute     // for an unused connection
	maxPeerBody  = 64 << 10        // bytes of a peer's response, which is dropped
	peerWarning  = time.Minute     // between warnings about peers that cannot be reached
	maxPassed    = 1 << 10         // messages on their way to peers at the same time; one caller may have a quarter
)

// peers pass on requests to the other replicas of an endpoint. A nil peers has none. It is safe for
// concurrent use.
type peers struct {
	urls    func() []string
	client  http.Client   // for messages
	calls   http.Client   // for requests, whose response may take long
	passed  *share.Budget // messages and requests on their way
	warned  atomic.Int64  // time of the last warning of a peer that cannot be reached, in Unix nanoseconds
	refused atomic.Int64  // the same of a header that is not valid
}

// level returns the level of a log line: a warning, but at most once in peerWarning.
func (p *peers) level(last *atomic.Int64) slog.Level {
	now := time.Now().UnixNano()
	if before := last.Load(); now-before >= int64(peerWarning) && last.CompareAndSwap(before, now) {
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

func newPeers(urls func() []string, dialTLS func(ctx context.Context, network, addr string) (net.Conn, error)) *peers {
	if urls == nil {
		return nil
	}
	dialer := &net.Dialer{Timeout: peerTime}
	transport := &http.Transport{DialContext: dialer.DialContext, DialTLSContext: dialTLS, TLSHandshakeTimeout: peerTime, ResponseHeaderTimeout: peerTime, IdleConnTimeout: peerIdleTime, DisableCompression: true, ForceAttemptHTTP2: true}
	patient := transport.Clone()
	patient.ResponseHeaderTimeout = 0
	here := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &peers{urls: urls, passed: share.New(maxPassed), client: http.Client{Transport: transport, CheckRedirect: here}, calls: http.Client{Transport: patient, CheckRedirect: here}}
}

// any reports whether there is a peer.
func (p *peers) any() bool { return p != nil && len(p.urls()) > 0 }

// asksPeers reports whether the request may be passed on.
func (x *exchange) asksPeers() bool {
	return x.endpoint.peers.any() && !x.isPassedOn()
}

// isPassedOn reports whether the request came from a peer. It is then not passed on again.
func (x *exchange) isPassedOn() bool { return x.passed != nil }

// readPassedOn reads the header of a request from a peer. If the header is not valid, it sends the
// response and reports false: a request that two replicas do not accept from each other would
// otherwise be passed on without end.
func (x *exchange) readPassedOn() bool {
	if x.endpoint.peers == nil || !passed.Is(x.r) {
		return true
	}
	var err error
	if x.passed, err = passed.Open(x.endpoint.sharing.ring, x.r, time.Now()); err != nil {
		x.endpoint.log.Log(x.r.Context(), x.endpoint.peers.level(&x.endpoint.peers.refused), "mcp: a request that claims to come from a replica is refused", "from", x.r.RemoteAddr, "error", err)
		x.refuse(http.StatusForbidden, "%v", err)
		return false
	}
	if x.passed.About != nil {
		x.principal = new(mcp.Principal)
		if err := json.Unmarshal(x.passed.About, x.principal); err != nil {
			x.refuse(http.StatusForbidden, "%v", passed.ErrRefused)
			return false
		}
	}
	return x.r.Method == http.MethodPost || x.isAsPassedOn(nil)
}

// certified returns the principal of the client's certificate for a peer, which gets another
// certificate. It returns nil if headers identify the client.
func (x *exchange) certified() (json.RawMessage, error) {
	if x.r.TLS == nil || len(x.r.TLS.VerifiedChains) == 0 || x.principal == nil || x.r.Header["Authorization"] != nil || x.r.Header["X-Api-Key"] != nil {
		return nil, nil
	}
	return json.Marshal(x.principal)
}

// isAsPassedOn reports whether the body is that which a peer sent. Otherwise it sends the response.
func (x *exchange) isAsPassedOn(body []byte) bool {
	if x.passed == nil || x.passed.Has(body) {
		return true
	}
	x.refuse(http.StatusForbidden, "%v", passed.ErrRefused)
	return false
}

// toPeer sends the client's request to a peer, with its credentials and another body. Both replicas
// check the same headers.
func (x *exchange) toPeer(ctx context.Context, client *http.Client, url string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, x.r.Method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Host = x.r.Host
	for name, values := range x.r.Header {
		switch name {
		case passed.Header, "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Content-Length", "Accept-Encoding", "Proxy-Authorization", "Proxy-Connection":
		default:
			r.Header[name] = values
		}
	}
	about, err := x.certified()
	if err == nil {
		err = passed.Seal(x.endpoint.sharing.ring, r, body, about, time.Now())
	}
	if err != nil {
		return nil, err
	}
	if from, _, err := net.SplitHostPort(x.r.RemoteAddr); err == nil {
		r.Header["X-Forwarded-For"] = append(slices.Clip(x.r.Header["X-Forwarded-For"]), from)
	}
	return client.Do(r)
}

// warnOfPeer logs that a peer cannot be reached, as a warning at most once in peerWarning. A request
// that was withdrawn is no reason.
func (x *exchange) warnOfPeer(ctx context.Context, err error) {
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return
	}
	x.endpoint.log.Log(ctx, x.endpoint.peers.level(&x.endpoint.peers.warned), "mcp: a peer cannot be reached: messages for clients of that replica are lost", "error", err)
}

// take handles a notification or a response of the client, here or at the peer that it is for.
func (x *exchange) take(s *session, m *jsonrpc.Message) error {
	err := s.handle(m)
	if err != nil {
		switch accepted, away := x.tellPeers(m.Raw(), true); {
		case accepted:
			return nil
		case away:
			return fmt.Errorf("%w, and %w", err, errPeerAway)
		}
	}
	if m.Method == notifyCancelled && s.isShared() {
		x.tellPeers(m.Raw(), false)
	}
	return err
}

// errPeerAway is the error for a message that may be for a peer that cannot be reached.
var errPeerAway = errors.New("a replica cannot be reached now")

// refuseUntaken refuses a message that [exchange.take] did not take. The client may repeat a
// message for a replica that cannot be reached.
func (x *exchange) refuseUntaken(err error) {
	status := http.StatusBadRequest
	if errors.Is(err, errPeerAway) {
		status = http.StatusServiceUnavailable
	}
	x.refuse(status, "%v", err)
}

// isAway reports whether a peer that could not be reached may still run. One that refuses
// connections has ended.
func isAway(err error) bool { return !errors.Is(err, syscall.ECONNREFUSED) }

// tellPeers sends the client's request to all peers at once, with another body. It waits for them,
// or, if the request is for one only, until that accepted it. It reports whether one accepted it,
// and whether one may run that could not be reached. It sends nothing if too many messages are on
// their way.
func (x *exchange) tellPeers(body []byte, forOne bool) (anyAccepted, anyAway bool) {
	if !x.asksPeers() {
		return false, false
	}
	passed, caller := x.endpoint.peers.passed, x.Caller()
	if !passed.Take(caller) {
		x.endpoint.log.Debug("mcp: too many messages are on their way to peers", "limit", maxPassed)
		return false, true
	}
	defer passed.Give(caller)
	ctx, cancel := context.WithTimeout(x.r.Context(), peerTime)
	defer cancel()
	var sending sync.WaitGroup
	var accepted, away atomic.Bool
	for _, url := range x.endpoint.peers.urls() {
		sending.Go(func() {
			resp, err := x.toPeer(ctx, &x.endpoint.peers.client, url, body)
			if err != nil {
				away.CompareAndSwap(false, isAway(err))
				x.warnOfPeer(ctx, err)
				return
			}
			defer resp.Body.Close()
			_, _ = io.CopyN(io.Discard, resp.Body, maxPeerBody) // to use the connection again
			if resp.StatusCode < 300 {
				if accepted.Store(true); forOne {
					cancel()
				}
			}
		})
	}
	sending.Wait()
	return accepted.Load(), away.Load()
}

// resumeAtPeer answers a GET with the stream of a peer that knows it, and reports whether one did.
// Otherwise it reports whether the stream may be at a peer that cannot be reached.
func (x *exchange) resumeAtPeer() (resumed, away bool) {
	if !x.asksPeers() {
		return false, false
	}
	c := &call{listens: true, streams: x.Caller()}
	ctx, err := x.endpoint.begin(x.context(), c)
	if err != nil {
		return false, false
	}
	defer x.endpoint.end(c)
	for _, url := range x.endpoint.peers.urls() {
		resp, err := x.toPeer(ctx, &x.endpoint.peers.client, url, nil)
		if err != nil {
			away = away || isAway(err)
			x.warnOfPeer(ctx, err)
			continue
		}
		if resp.StatusCode == http.StatusOK {
			x.copyStream(resp)
			resp.Body.Close()
			return true, false
		}
		resp.Body.Close()
	}
	return false, away
}

// roundElsewhere handles a round that only another replica can continue. A peer that gets it from a
// peer responds with 421; the replica whose round it is confirms with 102 that it has begun, as its
// response may take long. If no peer has it, roundElsewhere reports false.
func (x *exchange) roundElsewhere(m *jsonrpc.Message) bool {
	if x.isPassedOn() {
		x.fault(http.StatusMisdirectedRequest, m.ID, jsonrpc.Errorf(jsonrpc.InvalidRequest, "this round belongs to another replica"))
		return true
	}
	if !x.asksPeers() {
		return false
	}
	c := &call{caller: x.Caller()}
	ctx, ok := x.enter(x.context(), c, m.ID)
	if !ok {
		return true
	}
	defer x.endpoint.end(c)
	passed := x.endpoint.peers.passed
	if !passed.Take(c.caller) {
		x.unavailable(m.ID, "too many requests are on their way to other replicas")
		return true
	}
	defer passed.Give(c.caller)
	resp, done := x.firstPeer(ctx, m.Raw())
	defer done()
	if resp == nil {
		return false
	}
	defer resp.Body.Close()
	x.copyStream(resp)
	return true
}

// firstPeer sends the request to all peers at once. It returns the response of the one whose round
// it is, or nil. A peer that refuses the request without a confirmation may not have the round, so
// its response counts only if no other peer has it. The caller must call done after it has read the response.
func (x *exchange) firstPeer(ctx context.Context, body []byte) (found *http.Response, done func()) {
	ctx, done = context.WithCancel(ctx)
	urls := x.endpoint.peers.urls()
	attempts, stops := make([]context.Context, len(urls)), make([]context.CancelFunc, len(urls))
	for i := range urls {
		attempts[i], stops[i] = context.WithCancel(ctx)
	}
	var choosing sync.Mutex
	chosen := -1
	choose := func(i int) bool { // the others do not have the round
		choosing.Lock()
		defer choosing.Unlock()
		if chosen >= 0 {
			return chosen == i
		}
		chosen = i
		for j, stop := range stops {
			if j != i {
				stop()
			}
		}
		return true
	}
	var spare *http.Response // refusal of a peer that may have the round, if no other one has it
	refuses := func(resp *http.Response) bool {
		choosing.Lock()
		defer choosing.Unlock()
		if resp.StatusCode < http.StatusBadRequest || chosen >= 0 || spare != nil {
			return false
		}
		spare = resp
		return true
	}
	var sending sync.WaitGroup
	for i, url := range urls {
		sending.Go(func() {
			late := time.AfterFunc(peerTime, stops[i])
			defer late.Stop()
			resp, err := x.toPeer(httptrace.WithClientTrace(attempts[i], &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
				if code == http.StatusProcessing && choose(i) {
					late.Stop()
				}
				return nil
			}}), &x.endpoint.peers.calls, url, body)
			switch {
			case err != nil:
				x.warnOfPeer(attempts[i], err)
			case resp.StatusCode == http.StatusMisdirectedRequest:
				drop(resp)
			case refuses(resp):
			case choose(i):
				found = resp // only one goroutine is the chosen one
			default:
				drop(resp)
			}
		})
	}
	sending.Wait()
	switch {
	case found == nil && chosen < 0:
		found = spare
	case spare != nil:
		spare.Body.Close()
	}
	return found, done
}

// drop reads the rest of a response, to use its connection again.
func drop(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, maxPeerBody)
	resp.Body.Close()
}

// copyStream sends the client the response of a peer until it ends. The peer sends comments on a
// silent stream.
func (x *exchange) copyStream(resp *http.Response) {
	header := x.w.Header()
	for _, name := range []string{"Content-Type", "Cache-Control", "X-Accel-Buffering", "Retry-After", "Www-Authenticate"} {
		if values := resp.Header[name]; values != nil {
			header[name] = values
		}
	}
	control := http.NewResponseController(x.w)
	x.leave()
	x.w.WriteHeader(resp.StatusCode)
	x.noteResponse(resp.StatusCode)
	if control.Flush() != nil { // the peer may have nothing to send yet, and a client waits for the status
		return
	}
	buffer := make([]byte, 16<<10)
	for {
		n, err := resp.Body.Read(buffer)
		_ = control.SetWriteDeadline(time.Now().Add(x.endpoint.options.WriteTimeout)) // without effect where there are no deadlines
		if n > 0 {
			if _, err := x.w.Write(buffer[:n]); err != nil {
				return
			}
		}
		if control.Flush() != nil || err != nil {
			return
		}
		_ = control.SetWriteDeadline(time.Time{}) // HTTP/2 ends streams whose deadline passes, even silent ones
	}
}
