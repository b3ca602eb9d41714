package plainhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// base returns a transport for one test.
func base(t testing.TB) *http.Transport {
	b := new(http.Transport)
	t.Cleanup(b.CloseIdleConnections)
	return b
}

func post(t testing.TB, ctx context.Context, via http.RoundTripper, address, text string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return via.RoundTrip(req)
}

func read(t testing.TB, resp *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// kept returns the number of idle connections.
func kept(via http.RoundTripper) int {
	t := via.(*transport)
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.idle)
}

// A script is a server that sends fixed responses on each connection, one for each request.
type script struct {
	url   string
	conns atomic.Int32
	got   chan string // requests: method, path, body
}

// serve starts a script: answers[n] are those of connection n, which it then closes.
func serve(t testing.TB, answers ...[]string) *script {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &script{url: "http://" + listener.Addr().String() + "/mcp", got: make(chan string, 100)}
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.conns.Add(1)
			if n >= len(answers) {
				conn.Close()
				continue
			}
			running.Go(func() {
				defer conn.Close()
				from := bufio.NewReader(conn)
				for _, answer := range answers[n] {
					req, err := http.ReadRequest(from)
					if err != nil {
						return
					}
					text, err := io.ReadAll(req.Body)
					if err != nil {
						return
					}
					s.got <- req.Method + " " + req.URL.Path + " " + string(text)
					if _, err := io.WriteString(conn, strings.ReplaceAll(answer, "\n", "\r\n")); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return s
}

func ok(text string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\nContent-Length: %d\n\n%s", len(text), text)
}

func TestRequestsShareAConnection(t *testing.T) {
	for name, answer := range map[string]string{
		"of a known length":         ok("an answer"),
		"in chunks":                 "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n9\nan answer\n0\n\n",
		"in chunks, with a trailer": "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: X-End\n\n9\nan answer\n0\nX-End: 1\n\n",
		"behind others":             "HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: </a>\n\n" + ok("an answer"),
	} {
		t.Run("whose answer is "+name, func(t *testing.T) {
			s := serve(t, []string{answer, answer, answer, "HTTP/1.1 202 Accepted\nContent-Length: 0\n\n", "HTTP/1.1 204 No Content\n\n", answer})
			via := New(base(t))
			for n := range 6 {
				resp, err := post(t, t.Context(), via, s.url, fmt.Sprint("question ", n))
				if err != nil {
					t.Fatal(err)
				}
				want := "an answer"
				if n == 3 || n == 4 {
					want = ""
				}
				if got := read(t, resp); got != want {
					t.Fatalf("answer %d is %q", n, got)
				}
				if got, want := <-s.got, fmt.Sprint("POST /mcp question ", n); got != want {
					t.Fatalf("sent %q, want %q", got, want)
				}
			}
			if n := s.conns.Load(); n != 1 {
				t.Fatalf("%d connections", n)
			}
		})
	}
}

func TestAConnectionIsNotUsedAgain(t *testing.T) {
	for name, answer := range map[string]string{
		"when the server says that it closes it":         "HTTP/1.1 200 OK\nConnection: close\nContent-Length: 2\n\nhi",
		"of HTTP/1.0":                                    "HTTP/1.0 200 OK\nContent-Length: 2\n\nhi",
		"that more came on than the answer":              ok("hi") + ok("for whoever asks next"),
		"that another protocol is spoken on":             "HTTP/1.1 101 Switching Protocols\nUpgrade: x\nConnection: Upgrade\n\n",
		"when the body ends with it":                     "HTTP/1.1 200 OK\n\nhi",
		"when its answer is one of those without a body": "HTTP/1.1 204 No Content\nConnection: close\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, []string{answer}, []string{ok("second")})
			via := New(base(t))
			resp, err := post(t, t.Context(), via, s.url, "x")
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusSwitchingProtocols {
				_ = read(t, resp)
			}
			_ = resp.Body.Close()
			if n := kept(via); n != 0 {
				t.Fatalf("%d connections are kept", n)
			}
			if resp, err = post(t, t.Context(), via, s.url, "x"); err != nil || read(t, resp) != "second" {
				t.Fatal(err)
			}
		})
	}
	t.Run("when its answer was not read to the end", func(t *testing.T) {
		s := serve(t, []string{ok("a long answer")}, []string{ok("second")})
		via := New(base(t))
		resp, err := post(t, t.Context(), via, s.url, "x")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp.Body, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if _, err := resp.Body.Read(make([]byte, 3)); err == nil {
			t.Fatal("it can still be read")
		}
		if resp, err = post(t, t.Context(), via, s.url, "x"); err != nil || read(t, resp) != "second" {
			t.Fatal(err)
		}
	})
}

// Data that a server sends late, after a response, must not be taken for the next response.
func TestUnrequestedBytesAreNoResponse(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	late, sent := make(chan bool), make(chan bool)
	go func() {
		for n := range 2 {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
				return
			}
			_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nright%d", n)
			if n == 0 {
				<-late
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged")
				close(sent)
			}
		}
	}()
	via := New(base(t))
	resp, err := post(t, t.Context(), via, "http://"+listener.Addr().String(), "x")
	if err != nil || read(t, resp) != "right0" {
		t.Fatal(err)
	}
	if kept(via) != 1 {
		t.Fatal("the connection is not kept")
	}
	close(late)
	<-sent
	for via.(*transport).idle[0].isOpen() { // until it arrived
		time.Sleep(time.Millisecond)
	}
	if resp, err = post(t, t.Context(), via, "http://"+listener.Addr().String(), "x"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, resp); got != "right1" {
		t.Fatalf("the answer is %q", got)
	}
}

func TestAServerThatClosesIsAskedOnANewConnection(t *testing.T) {
	var conns []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns = append(conns, r.RemoteAddr)
		_, _ = io.WriteString(w, "hi")
	}))
	defer server.Close()
	via := New(base(t))
	for range 3 {
		resp, err := post(t, t.Context(), via, server.URL, "x")
		if err != nil || read(t, resp) != "hi" {
			t.Fatal(err)
		}
		server.CloseClientConnections()
	}
	if len(conns) != 3 || conns[0] == conns[1] || conns[1] == conns[2] {
		t.Fatalf("connections %q", conns)
	}
}

// A request that was partly sent may have been acted on: it is not sent again.
func TestARequestIsSentOnce(t *testing.T) {
	s := serve(t, []string{ok("hi"), ""}, []string{ok("twice")})
	via := New(base(t))
	resp, err := post(t, t.Context(), via, s.url, "first")
	if err != nil || read(t, resp) != "hi" {
		t.Fatal(err)
	}
	if _, err = post(t, t.Context(), via, s.url, "second"); !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "without a response") {
		t.Fatalf("error %v", err)
	}
	if n := s.conns.Load(); n != 1 {
		t.Fatalf("%d connections", n)
	}
}

// failing is a connection that refuses all data.
type failing struct{ net.Conn }

func (failing) Write([]byte) (int, error) { return 0, net.ErrClosed }

func TestARequestOfWhichNothingWasSentIsSentAgain(t *testing.T) {
	s := serve(t, []string{ok("hi")}, []string{ok("again")})
	via := New(base(t))
	resp, err := post(t, t.Context(), via, s.url, "first")
	if err != nil || read(t, resp) != "hi" {
		t.Fatal(err)
	}
	c := via.(*transport).idle[0]
	c.net = failing{c.net}
	c.raw = always{}
	if resp, err = post(t, t.Context(), via, s.url, "second"); err != nil || read(t, resp) != "again" {
		t.Fatal(err)
	}
	<-s.got
	if got := <-s.got; got != "POST /mcp second" {
		t.Fatalf("sent %q", got)
	}
}

// always is a connection that is reported as open.
type always struct{}

func (always) Control(func(uintptr)) error    { return nil }
func (always) Read(func(uintptr) bool) error  { return nil }
func (always) Write(func(uintptr) bool) error { return nil }

func TestARequestEndsWithItsContext(t *testing.T) {
	cause := errors.New("nobody waits any more")
	forever := func(w http.ResponseWriter, r *http.Request, first string) {
		_, _ = io.Copy(io.Discard, r.Body)
		if first != "" {
			_, _ = io.WriteString(w, first)
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
	t.Run("before it is sent", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := post(t, ctx, New(base(t)), "http://127.0.0.1:1/", "x"); !errors.Is(err, cause) {
			t.Fatalf("error %v", err)
		}
	})
	t.Run("while it waits for a response", func(t *testing.T) {
		arrived, gone := make(chan bool), make(chan bool)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			close(arrived)
			forever(w, r, "")
			close(gone)
		}))
		defer server.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-arrived
			cancel(cause)
		}()
		via := New(base(t))
		if _, err := post(t, ctx, via, server.URL, "x"); !errors.Is(err, cause) {
			t.Fatalf("error %v", err)
		}
		<-gone // the server sees the end
		if kept(via) != 0 {
			t.Fatal("the connection is kept")
		}
	})
	t.Run("while its response is read", func(t *testing.T) {
		gone := make(chan bool)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			forever(w, r, "data: 1\n\n")
			close(gone)
		}))
		defer server.Close()
		ctx, cancel := context.WithCancelCause(t.Context())
		resp, err := post(t, ctx, New(base(t)), server.URL, "x")
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(io.LimitReader(resp.Body, 9)).ReadString('\n'); err != nil || line != "data: 1\n" {
			t.Fatal(line, err)
		}
		cancel(cause)
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, cause) {
			t.Fatalf("error %v", err)
		}
		<-gone
	})
	t.Run("when somebody else closes its response", func(t *testing.T) {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { forever(w, r, "1") }))
		defer server.Close()
		resp, err := post(t, t.Context(), New(base(t)), server.URL, "x")
		if err != nil {
			t.Fatal(err)
		}
		reading := make(chan bool)
		go func() {
			<-reading
			resp.Body.Close()
		}()
		_, _ = resp.Body.Read(make([]byte, 1))
		close(reading)
		if _, err := io.ReadAll(resp.Body); err == nil {
			t.Fatal("it ends without an error")
		}
	})
}

func TestInvalidResponsesAreErrors(t *testing.T) {
	for name, test := range map[string]struct{ answer, want string }{
		"nothing":                 {"", "without a response"},
		"half a head":             {"HTTP/1.1 200 OK\nContent-Le", "missing colon"},
		"another protocol":        {"SSH-2.0-OpenSSH_9.2\n", "malformed HTTP"},
		"headers without end":     {"HTTP/1.1 200 OK\nX: " + strings.Repeat("x", maxHead), "longer than 1048576 bytes"},
		"announcements only":      {strings.Repeat("HTTP/1.1 102 Processing\n\n", 7), "at most 5"},
		"two lengths":             {"HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\nab", "Content-Length"},
		"a body shorter than its": {"HTTP/1.1 200 OK\nContent-Length: 10\n\nab", "unexpected EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, []string{test.answer})
			via := New(base(t))
			resp, err := post(t, t.Context(), via, s.url, "x")
			if err == nil {
				_, err = io.ReadAll(resp.Body)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("error %v, want %q", err, test.want)
			}
			if kept(via) != 0 {
				t.Fatal("the connection is kept")
			}
		})
	}
}

func TestOtherRequestsAreLeftToTheTransport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, r.Method)
	}))
	defer server.Close()
	var seen atomic.Int32
	b := base(t)
	b.Proxy = func(req *http.Request) (*url.URL, error) {
		if req.Header.Get("X-Proxied") != "" {
			return url.Parse(server.URL)
		}
		return nil, nil
	}
	b.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		seen.Add(1)
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	for name, change := range map[string]func(req *http.Request) *http.Request{
		"another method": func(req *http.Request) *http.Request {
			req.Method = http.MethodPut
			return req
		},
		"a large body": func(*http.Request) *http.Request {
			req, _ := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(strings.Repeat("x", maxBody+1)))
			return req
		},
		"a body of unknown length": func(*http.Request) *http.Request {
			req, _ := http.NewRequest(http.MethodPost, server.URL, io.MultiReader(strings.NewReader("x")))
			return req
		},
		"what goes through a proxy": func(req *http.Request) *http.Request {
			req.Header.Set("X-Proxied", "1")
			return req
		},
		"somebody looks": func(req *http.Request) *http.Request {
			return req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{}))
		},
		"a name that is not ASCII": func(req *http.Request) *http.Request {
			req.URL.Host = "bücher.example"
			return req
		},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			via := New(b)
			before := seen.Load()
			b.CloseIdleConnections()
			resp, err := via.RoundTrip(change(req))
			if err != nil {
				t.Fatal(err)
			}
			_ = read(t, resp)
			if kept(via) != 0 || seen.Load() == before {
				t.Fatal("it was not left to the transport")
			}
		})
	}
	t.Run("a header that is not valid", func(t *testing.T) {
		req, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header["X-Bad"] = []string{"a\r\nX-Other: b"}
		if _, err := New(b).RoundTrip(req); err == nil || !strings.Contains(err.Error(), "invalid header field value") {
			t.Fatalf("error %v", err)
		}
	})
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		via := New(new(http.Transport)).(*transport)
		ends := make([]net.Conn, 3)
		for i := range ends {
			near, far := net.Pipe()
			defer far.Close()
			ends[i] = near
			via.keep(newConn(via, near, "a"))
			time.Sleep(30 * time.Second)
		}
		for _, want := range []int{2, 1, 0} {
			synctest.Wait()
			if got := kept(via); got != want {
				t.Fatalf("%d are kept, want %d", got, want)
			}
			time.Sleep(30 * time.Second)
		}
		if _, err := ends[2].Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
			t.Fatalf("the last one is open: %v", err)
		}
		near, far := net.Pipe()
		defer far.Close()
		via.keep(newConn(via, near, "a")) // the timer runs again
		time.Sleep(idleTime)
		synctest.Wait()
		if kept(via) != 0 {
			t.Fatal("one is kept")
		}
	})
}

// Settings that this package does not support stay in force: all requests use the transport.
func TestATransportWithOtherLimitsIsUsedItself(t *testing.T) {
	open := new(http.Protocols)
	open.SetUnencryptedHTTP2(true)
	for name, b := range map[string]*http.Transport{
		"ResponseHeaderTimeout":  {ResponseHeaderTimeout: time.Second},
		"MaxResponseHeaderBytes": {MaxResponseHeaderBytes: 1 << 12},
		"MaxConnsPerHost":        {MaxConnsPerHost: 1},
		"IdleConnTimeout":        {IdleConnTimeout: time.Second},
		"Dial":                   {Dial: net.Dial},
		"Protocols":              {Protocols: open},
	} {
		if New(b) != http.RoundTripper(b) {
			t.Errorf("%s does not hold", name)
		}
	}
	if standard := http.DefaultTransport.(*http.Transport).Clone(); canAsk && New(standard) == http.RoundTripper(standard) {
		t.Error("the standard one is used itself")
	}
}

// A refusing connection breaks after its server has responded to the beginning of a request.
type refusing struct {
	net.Conn
	answer io.Reader
	writes int
}

func (r *refusing) Write(p []byte) (int, error) {
	if r.writes++; r.writes > 1 {
		return 0, syscall.EPIPE
	}
	return len(p), nil
}

func (r *refusing) Read(p []byte) (int, error) { return r.answer.Read(p) }

// The response of a server that closes before it reads everything is used. Many do so to require a
// login or for a smaller limit.
func TestAnAnswerToTheBeginningOfARequestIsHeard(t *testing.T) {
	for answer, want := range map[string]int{"HTTP/1.1 401 Unauthorized\r\nContent-Length: 4\r\n\r\nlog": 401, "": 0} {
		b := base(t)
		b.DialContext = func(context.Context, string, string) (net.Conn, error) {
			one, other := net.Pipe()
			t.Cleanup(func() { other.Close() })
			return &refusing{Conn: one, answer: strings.NewReader(answer)}, nil
		}
		via := New(b)
		resp, err := post(t, t.Context(), via, "http://h.example/", strings.Repeat("x", 30<<10))
		switch {
		case want == 0 && (!errors.Is(err, syscall.EPIPE) || !errors.Is(err, io.EOF)): // the missing response decides about repeating
			t.Errorf("got %v", err)
		case want != 0 && (err != nil || resp.StatusCode != want):
			t.Errorf("got %v, %v", resp, err)
		}
		if err != nil {
			continue
		}
		if text, err := io.ReadAll(resp.Body); string(text) != "log" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %q, %v", text, err)
		}
		resp.Body.Close()
		if kept(via) > 0 {
			t.Error("the connection is kept")
		}
	}
}

// Data beyond the capacity of two sockets is sent while the response is read, as a server may
// respond before it reads everything.
func TestLongHeadersAreLeftToTheTransport(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 100))
		_, _ = io.WriteString(conn, "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		<-t.Context().Done()
	})
	t.Cleanup(func() { listener.Close(); running.Wait() })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+listener.Addr().String()+"/", strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Long", strings.Repeat("x", 16<<20))
	resp, err := New(base(t)).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("got %s", resp.Status)
	}
}

// As with an http.Transport, a closed one keeps nothing, and the next request starts afresh.
func TestNoConnectionIsKeptOnceTheIdleOnesWereClosed(t *testing.T) {
	s := serve(t, []string{ok("an answer")}, []string{ok("an answer")})
	via := New(base(t))
	resp, err := post(t, t.Context(), via, s.url, "a question")
	if err != nil {
		t.Fatal(err)
	}
	via.(*transport).CloseIdleConnections() // the response was not read yet
	read(t, resp)
	if n := kept(via); n != 0 {
		t.Errorf("%d connections are kept", n)
	}
	if resp, err = post(t, t.Context(), via, s.url, "a question"); err != nil {
		t.Fatal(err)
	}
	read(t, resp)
	if n := kept(via); n != 1 {
		t.Errorf("%d connections are kept for further requests", n)
	}
	via.(*transport).CloseIdleConnections()
}

func TestAsManyConnectionsAreKeptAsTheLimitSays(t *testing.T) {
	via := New(new(http.Transport)).(*transport)
	defer via.CloseIdleConnections()
	first, far := net.Pipe()
	defer far.Close()
	via.keep(newConn(via, first, "a"))
	for range maxIdle {
		near, far := net.Pipe()
		defer far.Close()
		via.keep(newConn(via, near, "a"))
	}
	if got := kept(via); got != maxIdle {
		t.Fatalf("%d are kept", got)
	}
	if _, err := first.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Fatalf("the oldest is open: %v", err)
	}
	via.CloseIdleConnections()
	if got := kept(via); got != 0 {
		t.Fatalf("%d are kept", got)
	}
}

// echo responds with the complete request.
func echo(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err == nil {
		_, _ = w.Write(text)
	}
}

func TestManyRequestsAtTheSameTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	via := New(base(t))
	defer via.(*transport).CloseIdleConnections()
	var running sync.WaitGroup
	for n := range 32 {
		running.Go(func() {
			for i := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				text := strings.Repeat(fmt.Sprint(n, ".", i, " "), 1+i*20)
				resp, err := post(t, ctx, via, server.URL, text)
				if i%7 == 0 {
					cancel()
				}
				if err == nil {
					var got []byte
					if got, err = io.ReadAll(resp.Body); err == nil && string(got) != text {
						t.Errorf("request %d.%d got the answer of another: %.30q", n, i, got)
					}
					resp.Body.Close()
				}
				if err != nil && ctx.Err() == nil {
					t.Errorf("request %d.%d: %v", n, i, err)
				}
				cancel()
			}
		})
	}
	running.Wait()
}

// BenchmarkCall compares a call with that of the transport alone, including the server's part.
func BenchmarkCall(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(echo))
	defer server.Close()
	text := strings.Repeat("x", 400)
	usual := base(b)
	usual.MaxIdleConnsPerHost = maxIdle
	for _, via := range []struct {
		name string
		http.RoundTripper
	}{{"transport", usual}, {"plain", New(base(b))}} {
		one := func() {
			resp, err := post(b, b.Context(), via, server.URL, text)
			if err != nil {
				b.Fatal(err)
			}
			if got := read(b, resp); len(got) != len(text) {
				b.Fatal(got)
			}
		}
		b.Run(via.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				one()
			}
		})
		b.Run(via.name+" parallel", func(b *testing.B) {
			b.SetParallelism(32)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					one()
				}
			})
		})
	}
}
