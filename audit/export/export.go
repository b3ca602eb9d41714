package export

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/otlp"
)

const (
	maxWaiting = 8 << 20 // largest number of bytes that wait to be sent
	maxBatch   = 512     // largest number of lines in one request
	sendTime   = 10 * time.Second
	firstPause = time.Second // pause after a failed attempt; each further failure doubles it
	lastPause  = time.Minute
)

// Options configure an Exporter. A zero field means its default.
type Options struct {
	// Header is sent with every request over OTLP, for example Authorization.
	Header http.Header
	// HTTP sends the requests over OTLP; the default is a client of the Exporter's own.
	HTTP *http.Client
	// Service is the name of the logging program; the default is "junction".
	Service string
	// Resource holds further attributes of the logging program, such as service.version and
	// host.name.
	Resource map[string]string
	// Logger logs errors; the default is slog.Default().
	Logger *slog.Logger
}

// A sender sends lines without their line breaks. Only one goroutine uses it.
type sender interface {
	send(ctx context.Context, lines [][]byte) error
	close()
}

// An Exporter sends lines to a collector. Its methods are safe for concurrent use.
type Exporter struct {
	sender sender
	target string
	log    *slog.Logger
	ctx    context.Context
	cancel context.CancelFunc
	ended  chan struct{}
	more   chan struct{} // holds a token if lines wait

	mu      sync.Mutex
	waiting [][]byte
	size    int
	dropped int   // lines dropped since the last report because too many waited
	lost    int   // all lost lines, except dropped
	failing error // error of the last attempt to send; nil if it succeeded
	closed  bool
}

// New returns an Exporter for a target:
//
//	https://HOST/v1/logs, or http://          OTLP over HTTP, in JSON
//	syslog+tcp://HOST:PORT, or syslog+udp://  a syslog (RFC 5424), over TCP with counted octets (RFC 6587)
//	syslog+unix:///dev/log                    the syslog of this machine
//
// Close the Exporter when it is no longer used.
func New(target string, o Options) (*Exporter, error) {
	u, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("the target of exported lines is not a URL: %w", err)
	}
	o.Service = cmp.Or(o.Service, "junction")
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	var s sender
	switch {
	case (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		c, own := o.HTTP, o.HTTP == nil
		if own {
			c = otlp.NewHTTP()
		}
		s = &otlpLogs{otlp.Collector{URL: target, Header: o.Header, HTTP: c}, own, o.Service, o.Resource}
	case (u.Scheme == "syslog+tcp" || u.Scheme == "syslog+udp") && u.Port() != "":
		s = newSyslog(u.Scheme[len("syslog+"):], u.Host, o.Service)
	case u.Scheme == "syslog+unix" && u.Path != "":
		s = newSyslog("unixgram", u.Path, o.Service)
	default:
		return nil, fmt.Errorf("lines cannot be exported to %s; expected https://HOST/v1/logs, syslog+tcp://HOST:PORT, syslog+udp://HOST:PORT or syslog+unix:///dev/log", u.Redacted())
	}
	return start(s, u.Redacted(), o.Logger), nil
}

func start(s sender, target string, log *slog.Logger) *Exporter {
	ctx, cancel := context.WithCancel(context.Background())
	e := &Exporter{sender: s, target: target, log: log, ctx: ctx, cancel: cancel, ended: make(chan struct{}), more: make(chan struct{}, 1)}
	go e.run()
	return e
}

// Add queues lines for sending. Each ends with a line break. It does not wait, and does not keep
// data. It drops lines if more than 8 MiB would wait.
func (e *Exporter) Add(data []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSuffix(line, []byte("\n")); e.closed || e.size+len(line) > maxWaiting {
			e.dropped++
			continue
		}
		e.waiting, e.size = append(e.waiting, bytes.Clone(line)), e.size+len(line)
	}
	select {
	case e.more <- struct{}{}:
	default:
	}
}

// Waiting returns the number of lines not yet sent, the number of lost lines, and the error of the
// last attempt to send. The error is nil if the attempt succeeded.
func (e *Exporter) Waiting() (lines, lost int, failing error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.waiting), e.lost + e.dropped, e.failing
}

// Target returns the address that receives the lines, without a password.
func (e *Exporter) Target() string { return e.target }

// Close sends the waiting lines until ctx is done, and ends the Exporter. The error has the number
// of lines that were not sent.
func (e *Exporter) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	select {
	case e.more <- struct{}{}:
	default:
	}
	select {
	case <-e.ended:
	case <-ctx.Done():
	}
	e.cancel()
	<-e.ended
	e.mu.Lock()
	defer e.mu.Unlock()
	if n := len(e.waiting) + e.dropped + e.lost; n > 0 {
		return fmt.Errorf("%d lines were not exported to %s", n, e.target)
	}
	return nil
}

// run sends waiting lines. It returns when the Exporter is closed and no lines wait, or when e.ctx
// is done.
func (e *Exporter) run() {
	defer close(e.ended)
	defer e.sender.close()
	pause := firstPause
	for {
		e.mu.Lock()
		batch, closed := e.waiting[:min(len(e.waiting), maxBatch)], e.closed // the batch stays in waiting until it is sent
		e.mu.Unlock()
		switch {
		case len(batch) == 0 && closed:
			return
		case len(batch) == 0:
			select {
			case <-e.more:
			case <-e.ctx.Done():
				return
			}
			continue
		}
		ctx, cancel := context.WithTimeout(e.ctx, sendTime)
		err := e.sender.send(ctx, batch)
		cancel()
		e.mu.Lock()
		e.failing = err
		e.mu.Unlock()
		if err == nil || errors.Is(err, otlp.ErrUnwanted) {
			e.sent(len(batch), err)
			pause = firstPause
			continue
		}
		e.log.Warn("audit: lines could not be exported, and will be sent again", "to", e.target, "error", err, "pause", pause)
		select {
		case <-time.After(pause):
		case <-e.ctx.Done():
			return
		}
		pause = min(2*pause, lastPause)
	}
}

// sent removes the first n waiting lines, which were sent or, with an error, are lost.
func (e *Exporter) sent(n int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.log.Error("audit: lines are not exported", "to", e.target, "error", err, "lines", n)
		e.lost += n
	}
	for _, line := range e.waiting[:n] {
		e.size -= len(line)
	}
	e.waiting = append([][]byte(nil), e.waiting[n:]...)
	if e.dropped > 0 {
		e.log.Error("audit: lines were not exported, because too many were waiting", "to", e.target, "lines", e.dropped)
		e.lost, e.dropped = e.lost+e.dropped, 0
	}
}
