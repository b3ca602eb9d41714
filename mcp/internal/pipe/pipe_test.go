package pipe

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

// inBubble runs a test on a fake clock. Remaining goroutines make it fail.
func inBubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// A peer is the server's end of a link under test.
type peer struct {
	net.Conn
	in  *bufio.Reader
	log bytes.Buffer
}

func connect(t *testing.T, o Options) (link.Link, *peer) {
	t.Helper()
	ours, theirs := net.Pipe()
	p := &peer{Conn: theirs, in: bufio.NewReader(theirs)}
	if o.Name == "" {
		o.Name = "test-server"
	}
	o.Logger = slog.New(slog.NewTextHandler(&p.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	l := New(ours, o)
	t.Cleanup(func() {
		theirs.Close()
		l.Close()
	})
	return l, p
}

// line reads one line from the client.
func (p *peer) line(t *testing.T) string {
	t.Helper()
	line, err := p.in.ReadString('\n')
	if err != nil {
		t.Errorf("the server reads %q, %v", line, err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (p *peer) say(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		t.Errorf("the server writes %q: %v", text, err)
	}
}

func request(id int64, method string) link.Out {
	return link.Out{ID: jsonrpc.IntID(id), Method: method, Message: jsonrpc.AppendRequest(nil, jsonrpc.IntID(id), method, nil)}
}

// outcome returns a response or an error as text.
func outcome(m *jsonrpc.Message, err error) string {
	switch {
	case err != nil:
		return "error: " + err.Error()
	case m.Error != nil:
		return "fault: " + m.Error.Error()
	}
	return string(m.Result)
}

// Output of real servers in response to request 5, and the outcome.
func TestResponsesOfServersInTheWild(t *testing.T) {
	const good = `{"jsonrpc":"2.0","id":5,"result":{"a":1}}` + "\n"
	for _, test := range []struct {
		name, says, want string
		notifications    string // methods that Receive gets
	}{
		{"a response", good, `{"a":1}`, ""},
		{"an error", `{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"no"}}` + "\n", "fault: no (-32601)", ""},
		{"a banner before it", "Server v1.2 listening\n\n[INFO] ready\n{\"level\":\"info\",\"id\":5}\n{broken\n" + good, `{"a":1}`, ""},
		{"a byte order mark and CRLF", "\ufeff" + strings.ReplaceAll(good, "\n", "\r\n"), `{"a":1}`, ""},
		{"notifications before it", `{"jsonrpc":"2.0","method":"one"}` + "\n" + `{"jsonrpc":"2.0","id":5,"method":"two"}` + "\n" + good, `{"a":1}`, "one two"},
		{"a batch", `[{"jsonrpc":"2.0","method":"one"},{"jsonrpc":"2.0","id":5,"result":{}},{"jsonrpc":"2.0","method":"two"}]` + "\n", `{}`, "one two"},
		{"an empty batch before it", "[]\n" + good, `{"a":1}`, ""},
		{"an id that became a string", `{"jsonrpc":"2.0","id":"5","result":{}}` + "\n", `{}`, ""},
		{"answers nobody waits for", `{"jsonrpc":"2.0","id":4,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":"x","result":{}}` + "\n" + good, `{"a":1}`, ""},
		{"a null error next to the result", `{"jsonrpc":"2.0","id":5,"result":{"a":1},"error":null}` + "\n", `{"a":1}`, ""},
		{"a null result next to the error", `{"jsonrpc":"2.0","id":5,"result":null,"error":{"code":1,"message":"no"}}` + "\n", `fault: no (1)`, ""},
		{"a notification with a null id", `{"jsonrpc":"2.0","id":null,"method":"one"}` + "\n" + good, `{"a":1}`, "one"},
		{"an error that names no request", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}` + "\n", "fault: what? (-32700)", ""},
		{"a response that is not valid", `{"jsonrpc":"2.0","id":5,"result":{},"error":{"code":1,"message":"no"}}` + "\n",
			"error: the response to tools/call is not valid: expected a result or an error, found both (-32600)", ""},
		{"a response with a name twice", `{"jsonrpc":"2.0","id":5,"result":{"a":1,"a":2}}` + "\n",
			`error: the response to tools/call is not valid: offset 40: expected each name once in an object, found "a" twice (-32600)`, ""},
		{"a response that is too long", `{"jsonrpc":"2.0","id":5,"result":{"a":"` + strings.Repeat("x", 200_000) + `"}}` + "\n",
			"error: the response to tools/call cannot be read: message too long: over 100000 bytes", ""},
		{"a response without a line end, and the end", strings.TrimSuffix(good, "\n") + "EOF", `{"a":1}`, ""},
	} {
		inBubble(t, test.name, func(t *testing.T) {
			l, p := connect(t, Options{MaxMessage: 100_000})
			go func() {
				p.line(t)
				says, ends := strings.CutSuffix(test.says, "EOF")
				p.say(t, says)
				if ends {
					p.Close()
				}
			}()
			got := outcome(l.Call(t.Context(), request(5, "tools/call"), nil))
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			p.Close()
			var notifications []string
			if err := l.Receive(t.Context(), func() {}, func(m *jsonrpc.Message) { notifications = append(notifications, m.Method) }); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("Receive ends with %v", err)
			}
			if got := strings.Join(notifications, " "); got != test.notifications {
				t.Errorf("Receive got %q, want %q", got, test.notifications)
			}
		})
	}
}

func TestTheEndOfAServer(t *testing.T) {
	inBubble(t, "tells all calls what was expected and what came", func(t *testing.T) {
		described := 0
		l, p := connect(t, Options{Describe: func() error {
			described++
			return errors.New("it exited with status 3; its standard error ends with:\nboom")
		}})
		var calls sync.WaitGroup
		for i := range int64(3) {
			calls.Go(func() {
				_, err := l.Call(t.Context(), request(i, fmt.Sprint("method", i)), nil)
				want := fmt.Sprintf("expected a response to method%d: its output ended; it exited with status 3; its standard error ends with:\nboom", i)
				if err == nil || err.Error() != want || !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("got %v, want %s", err, want)
				}
			})
		}
		for range 3 {
			p.line(t)
		}
		if l.Err() != nil {
			t.Errorf("done before the end: %v", l.Err())
		}
		p.Close()
		calls.Wait()
		<-l.Done()
		want := "test-server: its output ended; it exited with status 3; its standard error ends with:\nboom"
		if err := l.Err(); err == nil || err.Error() != want {
			t.Errorf("Err is %v, want %s", err, want)
		}
		if _, err := l.Call(t.Context(), request(9, "late"), nil); err == nil || !strings.Contains(err.Error(), "a response to late: its output ended") {
			t.Errorf("a late call gets %v", err)
		}
		if err := l.Send(t.Context(), link.Out{Message: []byte("{}")}); err == nil || !strings.Contains(err.Error(), "test-server: send a message: its output ended") {
			t.Errorf("a late message gets %v", err)
		}
		if described != 1 {
			t.Errorf("described %d times", described)
		}
	})
	inBubble(t, "lets responses arrive that were on their way when writing failed", func(t *testing.T) {
		out, ours := io.Pipe()
		rw := &halves{Reader: out, closer: ours, fail: make(chan struct{})}
		l := New(rw, Options{Name: "test-server"})
		defer l.Close()
		go func() {
			<-rw.fail
			time.Sleep(graceTime / 2)
			io.WriteString(ours, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
		}()
		if got := outcome(l.Call(t.Context(), request(1, "tools/call"), nil)); got != "{}" {
			t.Errorf("got %s", got)
		}
		_, err := l.Call(t.Context(), request(2, "tools/list"), nil)
		if want := "expected a response to tools/list: writing to it failed: no reader"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

// halves reads and fails to write.
type halves struct {
	io.Reader
	closer io.Closer
	once   sync.Once
	fail   chan struct{}
}

func (h *halves) Write([]byte) (int, error) {
	h.once.Do(func() { close(h.fail) })
	return 0, errors.New("no reader")
}
func (h *halves) Close() error { return h.closer.Close() }

func TestAServerThatDoesNotRead(t *testing.T) {
	inBubble(t, "holds up no call whose context ends", func(t *testing.T) {
		l, _ := connect(t, Options{})
		var calls sync.WaitGroup
		for i := range int64(2 * maxOut) { // more than wait to be written
			calls.Go(func() {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("the time is over"))
				defer cancel()
				began := time.Now()
				_, err := l.Call(ctx, request(i, "tools/call"), nil)
				if want := "expected a response to tools/call: the time is over"; err == nil || err.Error() != want {
					t.Errorf("got %v, want %s", err, want)
				}
				if took := time.Since(began); took != time.Second {
					t.Errorf("returned after %v", took)
				}
			})
		}
		calls.Wait()
	})
	inBubble(t, "holds no large message of a call that ended", func(t *testing.T) {
		l, _ := connect(t, Options{})
		var held []weak.Pointer[byte]
		for i := range int64(maxOut) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			out := request(i, "tools/call")
			out.Message = append(out.Message[:len(out.Message):len(out.Message)], bytes.Repeat([]byte(" "), 2*maxSmall)...)
			held = append(held, weak.Make(&out.Message[0]))
			if _, err := l.Call(ctx, out, nil); err == nil {
				t.Error("a call got a response")
			}
			cancel()
		}
		runtime.GC()
		n := 0
		for _, p := range held {
			if p.Value() != nil {
				n++
			}
		}
		if n > 2 { // one is being written
			t.Errorf("%d of %d messages are in memory", n, len(held))
		}
	})
	inBubble(t, "does not hold up Close, nor calls that run", func(t *testing.T) {
		l, _ := connect(t, Options{})
		done := make(chan error)
		go func() {
			_, err := l.Call(t.Context(), request(1, "tools/call"), nil)
			done <- err
		}()
		synctest.Wait()
		began := time.Now()
		go l.Close()
		err := <-done
		if !errors.Is(err, mcp.ErrClosed) || err.Error() != "expected a response to tools/call: the connection was closed on this side" {
			t.Errorf("got %v", err)
		}
		l.Close()
		if took := time.Since(began); took != flushTime {
			t.Errorf("closed after %v", took)
		}
		if err := l.Err(); !errors.Is(err, mcp.ErrClosed) {
			t.Errorf("Err is %v", err)
		}
	})
}

func TestCloseFlushes(t *testing.T) {
	inBubble(t, "before it", func(t *testing.T) {
		l, p := connect(t, Options{})
		for i := range 5 {
			if err := l.Send(t.Context(), link.Out{Message: fmt.Appendf(nil, "{\n%d}", i)}); err != nil {
				t.Fatal(err)
			}
		}
		go l.Close()
		for i := range 5 {
			if got, want := p.line(t), fmt.Sprintf("{ %d}", i); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if line, err := p.in.ReadString('\n'); err != io.EOF {
			t.Errorf("then %q, %v", line, err)
		}
	})
}

func TestManyCalls(t *testing.T) {
	inBubble(t, "get their own answers, in whatever order they come", func(t *testing.T) {
		l, p := connect(t, Options{})
		const n = 200
		go func() {
			ids := make([]jsonrpc.ID, n)
			for i := range ids {
				m, fault := jsonrpc.Parse([]byte(p.line(t)), jsonrpc.Limits{})
				if fault != nil {
					t.Error(fault)
				}
				ids[n-1-i] = m.ID
			}
			for _, id := range ids {
				p.say(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"id":%s}}`+"\n", id, id))
			}
		}()
		var calls sync.WaitGroup
		for i := range int64(n) {
			calls.Go(func() {
				if got, want := outcome(l.Call(t.Context(), request(i, "tools/call"), nil)), fmt.Sprintf(`{"id":%d}`, i); got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			})
		}
		calls.Wait()
	})
	inBubble(t, "may not share an id", func(t *testing.T) {
		l, p := connect(t, Options{})
		go l.Call(t.Context(), request(1, "tools/call"), nil)
		p.line(t)
		_, err := l.Call(t.Context(), request(1, "tools/list"), nil)
		if want := "a request with the id 1 waits for its response already"; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	})
}

func TestSkippedLinesAreLoggedAFewTimes(t *testing.T) {
	inBubble(t, "at debug level", func(t *testing.T) {
		l, p := connect(t, Options{})
		for i := range 3 * maxSkipped {
			p.say(t, fmt.Sprintf("\x1b[31mtext %d\n", i))
		}
		p.Close()
		<-l.Done()
		if n := strings.Count(p.log.String(), "level=WARN"); n != 0 {
			t.Errorf("%d warnings", n)
		}
		if n := strings.Count(p.log.String(), "level=DEBUG"); n != maxSkipped {
			t.Errorf("%d debug messages", n)
		}
		if !strings.Contains(p.log.String(), `text 0`) || strings.Contains(p.log.String(), "\x1b") {
			t.Errorf("log: %s", p.log.String())
		}
	})
}
