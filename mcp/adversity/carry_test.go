package adversity

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// lines serves one client in lines: standard input and output, or pipes in
// memory. closeOut ends what the server says, closeAll the whole connection;
// gone is closed when the client closed it.
func (s *server) lines(in io.ReadCloser, out io.Writer, closeOut, closeAll func(), gone <-chan struct{}) {
	lock := make(chan struct{}, 1) // no mutex: a bubble of synctest has to see that a writer waits
	write := func(raw string) {
		lock <- struct{}{}
		io.WriteString(out, raw+"\n")
		<-lock
	}
	sess := s.newSession(rand.Text(), write)
	defer context.AfterFunc(sess.ctx, closeAll)()
	defer sess.kill()
	if s.joined != nil {
		go s.joined(sess)
	}
	var calls sync.WaitGroup
	defer calls.Wait()
	input := bufio.NewScanner(in)
	input.Buffer(nil, 1<<20)
	for input.Scan() {
		m, c := new(message), &call{write: write, cut: closeOut, deafen: func() {
			sess.deaf.Store(true)
			in.Close()
		}}
		if json.Unmarshal(input.Bytes(), m) != nil {
			continue // a line that was being written when the connection ended
		}
		if m.ID == nil || m.Method == "" {
			sess.take(m, c)
			continue
		}
		calls.Go(func() { sess.take(m, c) })
	}
	if s.outlives || sess.deaf.Load() {
		<-gone
	}
	sess.kill()
}

// connect returns the client's end of a new connection in memory.
func (s *server) connect() io.ReadWriteCloser {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	gone := make(chan struct{})
	go s.lines(fromClient, toClient, func() { toClient.Close() }, func() {
		fromClient.Close()
		toClient.Close()
	}, gone)
	return &duplex{fromServer, toServer, sync.OnceFunc(func() { close(gone) })}
}

// A duplex is one end of a connection in memory.
type duplex struct {
	*io.PipeReader
	*io.PipeWriter
	closed func()
}

func (d *duplex) Close() error {
	d.closed()
	d.PipeReader.Close()
	return d.PipeWriter.Close()
}

// An events is a stream of events that is being written.
type events struct {
	w    http.ResponseWriter
	lock chan struct{}
	any  bool
}

func newEvents(w http.ResponseWriter) *events { return &events{w: w, lock: make(chan struct{}, 1)} }

func (e *events) begin() {
	if !e.any {
		e.any = true
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.w.WriteHeader(http.StatusOK)
		e.w.(http.Flusher).Flush()
	}
}

// event sends one event; data is JSON in one line, or any text.
func (e *events) event(name, data string) {
	e.lock <- struct{}{}
	defer func() { <-e.lock }()
	e.begin()
	fmt.Fprintf(e.w, "event: %s\ndata: %s\n\n", name, data)
	e.w.(http.Flusher).Flush()
}

const headerSession = "Mcp-Session-Id"

// ServeHTTP is Streamable HTTP: every response is a stream of its own.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	sess := s.sessions[r.Header.Get(headerSession)]
	s.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && s.revision == modern:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == http.MethodPost:
		s.post(w, r, sess)
	case sess == nil:
		s.refuse(w)
	case r.Method == http.MethodDelete:
		s.mu.Lock()
		delete(s.sessions, sess.id)
		s.mu.Unlock()
		sess.kill()
	case r.Method == http.MethodGet:
		sess.stream(w, r)
	}
}

// refuse answers a request of a session that is not there, as the specification
// or as the TypeScript SDK does.
func (s *server) refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if s.unknown == "404" {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	io.WriteString(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
}

// stream is the session's own stream, for what belongs to no call.
func (s *session) stream(w http.ResponseWriter, r *http.Request) {
	out := newEvents(w)
	out.begin()
	pushed := make(chan string)
	s.mu.Lock()
	s.push = func(raw string) {
		select {
		case pushed <- raw:
		case <-r.Context().Done():
		case <-s.ctx.Done():
		}
	}
	s.mu.Unlock()
	for {
		select {
		case raw := <-pushed:
			out.event("message", raw)
		case <-r.Context().Done():
			return
		case <-s.ctx.Done():
			panic(http.ErrAbortHandler)
		}
	}
}

func (s *server) post(w http.ResponseWriter, r *http.Request, sess *session) {
	m := new(message)
	if json.NewDecoder(r.Body).Decode(m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	switch {
	case s.revision == modern:
		sess = s.newSession(rand.Text(), func(string) {}) // of this request only
		defer func() {
			s.mu.Lock()
			delete(s.sessions, sess.id)
			s.mu.Unlock()
			sess.kill()
		}()
	case m.Method == "initialize":
		sess = s.newSession(rand.Text(), func(string) {})
		w.Header().Set(headerSession, sess.id)
	case sess == nil:
		s.refuse(w)
		return
	}
	if m.ID == nil || m.Method == "" {
		sess.take(m, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out := newEvents(w)
	c := &call{header: r.Header, write: func(raw string) { out.event("message", raw) }, cut: func() {
		out.begin()
		panic(http.ErrAbortHandler)
	}}
	defer context.AfterFunc(r.Context(), func() { sess.cancelled(m.ID) })()
	sess.take(m, c)
	if sess.ctx.Err() != nil || !out.any {
		panic(http.ErrAbortHandler) // the server was killed, or has nothing to say
	}
}

// cancelled ends a call that the client gave up.
func (s *session) cancelled(id json.RawMessage) {
	s.mu.Lock()
	cancel := s.running[string(id)]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// sse is HTTP+SSE: one stream for everything, and messages posted apart from it.
type sse struct{ *server }

func (s sse) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		s.stream(w, r)
		return
	}
	s.mu.Lock()
	sess := s.sessions[r.URL.Query().Get("session")]
	s.mu.Unlock()
	m := new(message)
	switch {
	case sess == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	case json.NewDecoder(r.Body).Decode(m) != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c := &call{write: sess.push, cut: sess.kill}
	if m.ID == nil || m.Method == "" {
		w.WriteHeader(http.StatusAccepted)
		sess.take(m, c)
		return
	}
	sess.register(m, c) // a cancellation may follow as soon as it is accepted
	w.WriteHeader(http.StatusAccepted)
	go sess.take(m, c)
}

func (s sse) stream(w http.ResponseWriter, r *http.Request) {
	out := newEvents(w)
	pushed := make(chan string)
	var sess *session
	sess = s.newSession(rand.Text(), func(raw string) {
		select {
		case pushed <- raw:
		case <-sess.ctx.Done():
		}
	})
	defer func() {
		s.mu.Lock()
		delete(s.sessions, sess.id)
		s.mu.Unlock()
		sess.kill()
	}()
	out.event("endpoint", "?session="+sess.id)
	if s.joined != nil {
		go s.joined(sess)
	}
	for {
		select {
		case raw := <-pushed:
			out.event("message", raw)
		case <-r.Context().Done():
			return
		case <-sess.ctx.Done():
			panic(http.ErrAbortHandler)
		}
	}
}
