package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	callersOfReplica = 16 // calls at the same time for each replica
	echoed           = "a text of sixty-four bytes, as long as many arguments of tools are"
	modernMeta       = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"scale","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	legacyHead       = "MCP-Protocol-Version: 2025-11-25\r\n"
	modernHead       = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: up__echo\r\n"
)

// A measurement is the result of one slice of load.
type measurement struct {
	calls     int
	wall, cpu time.Duration
	store     float64 // commands of the store for each call
}

func (m measurement) rate() float64 { return float64(m.calls) / m.wall.Seconds() }

// cost returns the CPU time of a call in microseconds.
func (m measurement) cost() float64 { return float64(m.cpu.Microseconds()) / float64(m.calls) }

// A wire is a connection to a replica.
type wire struct {
	net.Conn
	in *bufio.Reader
}

// dial connects to a replica.
func dial(address string) (*wire, error) {
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return nil, err
	}
	return &wire{c, bufio.NewReaderSize(c, 4<<10)}, nil
}

// post sends a body and returns the body of the response and its session.
func (w *wire) post(head, session, body string) (text []byte, id string, err error) {
	if session != "" {
		session = "Mcp-Session-Id: " + session + "\r\n"
	}
	w.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := fmt.Fprintf(w, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n%s%sContent-Length: %d\r\n\r\n%s",
		w.RemoteAddr(), head, session, len(body), body); err != nil {
		return nil, "", err
	}
	response, err := http.ReadResponse(w.in, nil)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	if text, err = io.ReadAll(response.Body); err != nil {
		return nil, "", err
	}
	if response.StatusCode/100 != 2 {
		return nil, "", fmt.Errorf("%s: %.300s", response.Status, text)
	}
	return text, response.Header.Get("Mcp-Session-Id"), nil
}

// open opens a legacy session.
func (w *wire) open() (id string, err error) {
	_, id, err = w.post("", "", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{},"elicitation":{}},"clientInfo":{"name":"a client of common size","version":"1.2.3"}}}`)
	if err == nil {
		_, _, err = w.post(legacyHead, id, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	if err == nil && id == "" {
		err = errors.New("initialize: there is no session")
	}
	return id, err
}

// call calls the tool and checks its result. The id must differ from those of the session's running
// calls.
func (w *wire) call(session string, id int64) error {
	head, meta := legacyHead, ""
	if session == "" {
		head, meta = modernHead, ","+modernMeta
	}
	text, _, err := w.post(head, session, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"up__echo","arguments":{"text":%q}%s}}`, id, echoed, meta))
	if err == nil && !bytes.Contains(text, []byte(echoed)) {
		err = fmt.Errorf("a wrong response: %.300s", text)
	}
	return err
}

// use calls the tool, or cancels a call that does not run.
func (w *wire) use(era, session string, id int64) error {
	if era != "cancel" {
		return w.call(session, id)
	}
	_, _, err := w.post(legacyHead, session, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}`)
	return err
}

// listen opens a stream of notifications.
func (w *wire) listen(session string) error {
	if _, err := fmt.Fprintf(w, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n%sMcp-Session-Id: %s\r\n\r\n", w.RemoteAddr(), legacyHead, session); err != nil {
		return err
	}
	response, err := http.ReadResponse(w.in, nil)
	if err == nil && response.StatusCode != http.StatusOK {
		err = errors.New("listen: " + response.Status)
	}
	return err
}

// A balancer chooses the replica with the fewest calls, but not the last one of the caller. It uses
// few connections.
type balancer struct {
	replicas []*process
	mu       sync.Mutex
	running  []int
	idle     [][]*wire // connections
}

// choose returns the index of a replica, and a connection to it.
func (b *balancer) choose(last int) (next int, w *wire, err error) {
	b.mu.Lock()
	next = -1
	for i, n := range b.running {
		if (i != last || len(b.running) == 1) && (next < 0 || n < b.running[next]) {
			next = i
		}
	}
	b.running[next]++
	if n := len(b.idle[next]); n > 0 {
		w, b.idle[next] = b.idle[next][n-1], b.idle[next][:n-1]
	}
	b.mu.Unlock()
	if w == nil {
		w, err = dial(b.replicas[next].address)
	}
	return next, w, err
}

// done takes back a connection.
func (b *balancer) done(to int, w *wire) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running[to]--
	b.idle[to] = append(b.idle[to], w)
}

func (b *balancer) close() {
	for _, all := range b.idle {
		for _, w := range all {
			w.Close()
		}
	}
}

// openSessions opens the legacy sessions of a deployment at its replicas in turn.
func (d *deployment) openSessions(n int) error {
	for i, p := range d.replicas {
		w, err := dial(p.address)
		if err != nil {
			return err
		}
		defer w.Close()
		for range (n + i) / len(d.replicas) {
			id, err := w.open()
			if err != nil {
				return err
			}
			d.sessions = append(d.sessions, id)
		}
	}
	return nil
}

// measure calls the tool for a while.
func (w *world) measure(ctx context.Context, d *deployment, era string) (m measurement, err error) {
	if era != "modern" && d.sessions == nil {
		if err := d.openSessions(max(w.sessions, 1)); err != nil {
			return m, err
		}
	}
	quiet, _, err := w.store.rate(ctx, w.slice) // commands of idle replicas
	if err != nil {
		return m, err
	}
	stored, err := w.store.count()
	if err != nil {
		return m, err
	}
	before, err := d.cpu()
	if err != nil {
		return m, err
	}
	began := time.Now()
	calls, err := d.load(ctx, era, began.Add(w.slice))
	if err != nil {
		return m, err
	}
	m.calls, m.wall = calls, time.Since(began)
	after, err := d.cpu()
	if err != nil {
		return m, err
	}
	m.cpu = after - before
	now, err := w.store.count()
	if err == nil {
		m.store = max(0, float64(now.sent-stored.sent)-quiet*m.wall.Seconds()) / float64(calls)
	}
	return m, err
}

func (d *deployment) cpu() (all time.Duration, err error) {
	for _, p := range d.replicas {
		one, err := p.cpu()
		if err != nil {
			return 0, err
		}
		all += one
	}
	return all, nil
}

// load makes calls until a time, and returns their number. Each caller uses the sessions in turn.
func (d *deployment) load(ctx context.Context, era string, until time.Time) (int, error) {
	b := &balancer{replicas: d.replicas, running: make([]int, len(d.replicas)), idle: make([][]*wire, len(d.replicas))}
	defer b.close()
	var calls, next atomic.Int64
	var failed atomic.Pointer[error]
	var running sync.WaitGroup
	for range callersOfReplica * len(d.replicas) {
		running.Go(func() {
			for last := -1; failed.Load() == nil && ctx.Err() == nil && time.Now().Before(until); calls.Add(1) {
				session, id := "", next.Add(1)
				if era != "modern" {
					session = d.sessions[int(id)%len(d.sessions)]
				}
				to, w, err := b.choose(last)
				if err == nil {
					if err = w.use(era, session, id); err == nil {
						b.done(to, w)
					} else {
						w.Close()
					}
				}
				if last = to; err != nil {
					failed.CompareAndSwap(nil, &err)
					return
				}
			}
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return 0, *err
	}
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return int(calls.Load()), nil
}
