package postgres

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// A wire is a server that accepts every client and confirms every statement. It counts connections.
type wire struct {
	net.Listener
	opened atomic.Int32
	work   sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// newWire starts a wire, and returns it with a pool that connects to it.
func newWire(t *testing.T) (*wire, *pool) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l}
	w.work.Go(w.accept)
	p, _, err := parse("postgres://u:p@"+l.Addr().String()+"/db?sslmode=disable", "junction")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.close()
		_ = l.Close()
		w.cut()
		w.work.Wait()
	})
	return w, p
}

func (w *wire) accept() {
	for {
		conn, err := w.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		w.conns = append(w.conns, conn)
		w.mu.Unlock()
		w.work.Go(func() { w.serve(conn) })
	}
}

// cut closes all connections without a word.
func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns = nil
}

func (w *wire) serve(conn net.Conn) {
	defer conn.Close()
	b := pgproto3.NewBackend(conn, conn)
	message, err := b.ReceiveStartupMessage()
	if _, starts := message.(*pgproto3.StartupMessage); err != nil || !starts { // a CancelRequest, else
		return
	}
	w.opened.Add(1)
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	for b.Flush() == nil {
		message, err := b.Receive()
		if err != nil {
			return
		}
		switch message.(type) {
		case *pgproto3.Query:
			b.Send(&pgproto3.EmptyQueryResponse{})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Sync:
			b.Send(&pgproto3.ParseComplete{})
			b.Send(&pgproto3.BindComplete{})
			b.Send(&pgproto3.NoData{})
			b.Send(&pgproto3.CommandComplete{CommandTag: []byte("DELETE 7")})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
		case *pgproto3.Terminate:
			return
		}
	}
}

func TestPoolUsesAConnectionAgain(t *testing.T) {
	w, p := newWire(t)
	for range 3 {
		if n, err := p.exec(t.Context(), "DELETE", "text", 1, int64(2), []byte{3}); err != nil || n != 7 {
			t.Fatalf("got %d rows, %v", n, err)
		}
	}
	if got := w.opened.Load(); got != 1 {
		t.Errorf("opened %d connections, want 1", got)
	}
}

func TestPoolReplacesConnections(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *wire, p *pool)
	}{
		{"dead and not used for long", func(w *wire, p *pool) { w.cut(); p.idle[0].used = time.Now().Add(-2 * unchecked) }},
		{"old", func(_ *wire, p *pool) { p.idle[0].opened = time.Now().Add(-2 * p.lifetime) }},
		{"idle for long", func(_ *wire, p *pool) { p.idle[0].used = time.Now().Add(-2 * p.idleTime); p.tidy() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, p := newWire(t)
			if _, err := p.exec(t.Context(), "DELETE"); err != nil {
				t.Fatal(err)
			}
			test.change(w, p)
			if n, err := p.exec(t.Context(), "DELETE"); err != nil || n != 7 {
				t.Errorf("got %d rows, %v", n, err)
			}
			if got := w.opened.Load(); got != 2 {
				t.Errorf("opened %d connections, want 2", got)
			}
		})
	}
}

func TestPoolHasALimit(t *testing.T) {
	_, p := newWire(t)
	var users sync.WaitGroup
	release := make(chan struct{})
	var begun sync.WaitGroup
	begun.Add(maxConnections)
	for range maxConnections {
		users.Go(func() {
			err := p.use(t.Context(), func(*pgconn.PgConn) error { begun.Done(); <-release; return nil })
			if err != nil {
				t.Error(err)
			}
		})
	}
	begun.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.exec(ctx, "DELETE"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call without a free connection: got %v", err)
	}
	closed := make(chan struct{})
	users.Go(func() { p.close(); close(closed) })
	<-p.closed
	if _, err := p.exec(t.Context(), "DELETE"); !errors.Is(err, errClosed) {
		t.Errorf("a call after close: got %v", err)
	}
	select {
	case <-closed:
		t.Error("close did not wait for the calls that run")
	default:
	}
	close(release)
	users.Wait()
	if len(p.idle) > 0 {
		t.Errorf("%d connections are left", len(p.idle))
	}
}

func TestParametersOfThePool(t *testing.T) {
	const base = "postgres://u:p@localhost/db?"
	p, _, err := parse(base+"pool_max_conn_lifetime=5m&pool_max_conn_idle_time=10s&pool_max_conns=3&default_query_exec_mode=exec&search_path=x", "junction")
	if err != nil {
		t.Fatal(err)
	}
	if p.lifetime != 5*time.Minute || p.idleTime != 10*time.Second || len(p.config.RuntimeParams) != 2 || p.config.RuntimeParams["search_path"] != "x" {
		t.Errorf("got %v, %v and the server's parameters %v", p.lifetime, p.idleTime, p.config.RuntimeParams)
	}
	if _, _, err := parse(base+"pool_max_conn_lifetime=long", "junction"); err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v", err)
	}
}

func TestValuesOfRows(t *testing.T) {
	long := []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}
	var yes bool
	var n int64
	var text string
	var value []byte
	number, word := &n, &text
	if err := scan([][]byte{{1}, long, []byte("a"), {}, nil, nil}, &yes, &n, &text, &value, &number, &word); err != nil {
		t.Fatal(err)
	}
	if !yes || n != -2 || text != "a" || value == nil || len(value) != 0 || number != nil || word != nil {
		t.Errorf("got %v, %d, %q, %v, %v, %v", yes, n, text, value, number, word)
	}
	if err := scan([][]byte{nil, long, []byte("b")}, &value, &number, &word); err != nil || value != nil || *number != -2 || *word != "b" {
		t.Errorf("got %v, %v, %v, %v", value, number, word, err)
	}
	for _, bad := range []struct {
		value []byte
		into  any
	}{{nil, &yes}, {[]byte{1, 2}, &yes}, {nil, &n}, {[]byte{1}, &n}, {[]byte{1}, &number}, {nil, &text}, {[]byte{1}, new(struct{})}} {
		if err := scan([][]byte{bad.value}, bad.into); err == nil {
			t.Errorf("%v is a %T", bad.value, bad.into)
		}
	}
	if err := scan(nil, &n); err == nil {
		t.Error("a row without columns fits")
	}
}
