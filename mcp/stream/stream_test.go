package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// echo answers with the method's name; "test/wait" waits for the end of its context.
var echo = mcp.HandlerFunc(func(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method == "test/wait" {
		<-ctx.Done()
		return mcp.Result{}, context.Cause(ctx)
	}
	return mcp.Result{JSON: json.RawMessage(fmt.Sprintf(`{"method":%q}`, req.Method))}, nil
})

var quiet = mcp.ServeOptions{Logger: slog.New(slog.DiscardHandler)}

// request returns a modern request.
func request(id int64, method string) link.Out {
	const params = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}`
	return link.Out{ID: jsonrpc.IntID(id), Method: method, Message: jsonrpc.AppendRequest(nil, jsonrpc.IntID(id), method, []byte(params))}
}

// mustEcho fails the test unless the server answers.
func mustEcho(t *testing.T, l link.Link) {
	t.Helper()
	m, err := l.Call(t.Context(), request(1, "tools/list"), nil)
	if err != nil || m.Error != nil || !strings.Contains(string(m.Result), `"method":"tools/list"`) {
		t.Fatalf("got %+v, %v", m, err)
	}
}

func TestPipe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := PipeWith(echo, quiet)
		one, err := transport.(link.Linker).Link(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		two, err := transport.(link.Linker).Link(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustEcho(t, one)
		mustEcho(t, two)
		one.Close()
		mustEcho(t, two)
		two.Close()
		if _, err := two.Call(t.Context(), request(2, "tools/list"), nil); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

func TestClosingAPipeEndsItsHandlerSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, err := PipeWith(echo, quiet).(link.Linker).Link(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		failed := make(chan error)
		go func() {
			_, err := l.Call(t.Context(), request(1, "test/wait"), nil)
			failed <- err
		}()
		synctest.Wait()
		began := time.Now()
		closed := make(chan error)
		go func() { closed <- l.Close() }()
		if err := <-failed; !errors.Is(err, mcp.ErrClosed) || time.Since(began) > 0 {
			t.Errorf("the call ends with %v after %v", err, time.Since(began))
		}
		<-closed
		if took := time.Since(began); took != pipeDrain {
			t.Errorf("closed after %v", took)
		}
	})
}

func TestDuplexCarriesMoreThanItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		there, back := newHalf(), newHalf()
		ours, theirs := &duplex{in: back, out: there}, &duplex{in: there, out: back}
		want := strings.Repeat("0123456789", maxHalf)
		go func() {
			io.WriteString(ours, want)
			ours.Close()
		}()
		got, err := io.ReadAll(theirs)
		if err != nil || string(got) != want {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if _, err := theirs.Write([]byte("x")); err != io.ErrClosedPipe {
			t.Errorf("writing to who does not read: %v", err)
		}
		if _, err := ours.Read(make([]byte, 1)); err != io.ErrClosedPipe {
			t.Errorf("reading after Close: %v", err)
		}
	})
}

// listen serves on a socket until the test ends; stop ends it earlier.
func listen(t *testing.T, network, address string) (l net.Listener, stop func() error) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- ServeWith(ctx, l, echo, quiet) }()
	stop = func() error {
		cancel()
		err := <-done
		done <- err
		return err
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l, stop
}

func TestSockets(t *testing.T) {
	dir, err := os.MkdirTemp("", "") // short: the path of a socket is limited
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for network, address := range map[string]string{"unix": filepath.Join(dir, "s"), "tcp": "127.0.0.1:0"} {
		t.Run(network, func(t *testing.T) {
			listener, stop := listen(t, network, address)
			transport := Dial(network, listener.Addr().String())
			if got, want := transport.String(), network+":"+listener.Addr().String(); got != want {
				t.Errorf("named %s, want %s", got, want)
			}
			one, err := transport.(link.Linker).Link(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer one.Close()
			mustEcho(t, one)
			two, err := transport.(link.Linker).Link(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			mustEcho(t, two)
			two.Close()
			mustEcho(t, one)

			if err := stop(); err != nil {
				t.Error(err)
			}
			<-one.Done()
			want := transport.String() + ": its output ended"
			if err := one.Err(); err == nil || err.Error() != want {
				t.Errorf("the client learns %v, want %s", err, want)
			}
			if _, err := transport.(link.Linker).Link(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "connect to "+transport.String()+": dial ") {
				t.Errorf("nobody listens: %v", err)
			}
		})
	}
}

func TestOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		served := make(chan error)
		go func() { served <- ServeConnWith(t.Context(), theirs, echo, quiet) }()
		transport := Over(ours, "given")
		l, err := transport.(link.Linker).Link(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustEcho(t, l)
		_, err = transport.(link.Linker).Link(t.Context())
		if want := "connect to given: its one connection was used before; open another and call stream.Over again"; err == nil || err.Error() != want {
			t.Errorf("connected twice: %v, want %s", err, want)
		}
		l.Close()
		if err := <-served; err != nil {
			t.Errorf("ServeConn: %v", err)
		}
	})
}

func TestServeConnEndsWithItsContext(t *testing.T) {
	for _, test := range []struct {
		name string
		wrap func(net.Conn) io.ReadWriteCloser
	}{
		{"where reads have deadlines", func(c net.Conn) io.ReadWriteCloser { return c }},
		{"where they have none", func(c net.Conn) io.ReadWriteCloser { return struct{ io.ReadWriteCloser }{c} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ours, theirs := net.Pipe()
				defer ours.Close()
				ctx, cancel := context.WithCancel(t.Context())
				go func() {
					time.Sleep(time.Minute)
					cancel()
				}()
				began := time.Now()
				if err := ServeConnWith(ctx, test.wrap(theirs), echo, quiet); err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != time.Minute {
					t.Errorf("served for %v", took)
				}
				if _, err := theirs.Read(make([]byte, 1)); err != io.ErrClosedPipe {
					t.Errorf("the connection is still open: %v", err)
				}
			})
		})
	}
}

func TestClientsTooManyGetAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := make(pipeListener)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error)
		go func() { served <- ServeWith(ctx, l, echo, quiet) }()
		conns := make([]net.Conn, MaxConnections+1)
		for i := range conns {
			var theirs net.Conn
			conns[i], theirs = net.Pipe()
			l <- theirs
		}
		synctest.Wait()
		last, err := io.ReadAll(conns[MaxConnections])
		want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"too many clients: at most 1000 at the same time"}}` + "\n"
		if err != nil || string(last) != want {
			t.Errorf("the last client reads %q, %v", last, err)
		}
		conns[0].Close()
		synctest.Wait()
		ours, theirs := net.Pipe()
		l <- theirs
		given, err := Over(ours, "given").(link.Linker).Link(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		mustEcho(t, given)
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		given.Close()
	})
}

func TestAcceptGoesOnAfterPassingErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &brokenListener{pipeListener: make(pipeListener), errs: []error{passingError{}, passingError{}, errors.New("broken")}}
		err := ServeWith(t.Context(), l, echo, quiet)
		if want := "accept on pipe: broken"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// pipeListener accepts the connections sent to it.
type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	conn, ok := <-l
	if !ok {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (l pipeListener) Close() error {
	defer func() { recover() }() // may be closed already
	close(l)
	return nil
}

func (l pipeListener) Addr() net.Addr  { return l }
func (l pipeListener) Network() string { return "pipe" }
func (l pipeListener) String() string  { return "pipe" }

type brokenListener struct {
	pipeListener
	errs []error
}

func (l *brokenListener) Accept() (net.Conn, error) {
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, err
}

type passingError struct{}

func (passingError) Error() string   { return "out of files" }
func (passingError) Temporary() bool { return true }

func TestSocketsOfStalledClientsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer client.Close()
		result := make(chan error, 1)
		go func() { result <- ServeConnWith(t.Context(), server, echo, quiet) }()
		began := time.Now()
		client.Write(append(request(1, "tools/list").Message, '\n'))
		if err := <-result; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(began); took != writeTimeout {
			t.Errorf("it took %v", took)
		}
	})
}
