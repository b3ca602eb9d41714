//go:build unix

package command

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
)

func connect(t *testing.T, c *Command) link.Link {
	t.Helper()
	c.Logger = slog.New(slog.DiscardHandler)
	l, _, err := c.link(t.Context(), new(atomic.Bool))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func call(ctx context.Context, l link.Link, id int64) (*jsonrpc.Message, error) {
	return l.Call(ctx, link.Out{ID: jsonrpc.IntID(id), Method: "tools/call",
		Message: jsonrpc.AppendRequest(nil, jsonrpc.IntID(id), "tools/call", nil)}, nil)
}

func TestAServerAnswersAndIsEnded(t *testing.T) {
	for _, name := range []string{"answers", "runs behind a wrapper"} {
		t.Run(name, func(t *testing.T) {
			c := server(t, name)
			var mu sync.Mutex
			var said []string
			c.Stderr = func(line string) {
				mu.Lock()
				defer mu.Unlock()
				said = append(said, line)
			}
			l := connect(t, c)
			for id := int64(1); id <= 3; id++ {
				m, err := call(t.Context(), l, id)
				if err != nil || string(m.Result) != "{}" {
					t.Fatalf("call %d: %+v, %v", id, m, err)
				}
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if got := strings.Join(said, "\n"); got != "goodbye" {
				t.Errorf("standard error: %q", got)
			}
		})
	}
}

func TestAServerThatGoesAway(t *testing.T) {
	for name, want := range map[string]string{
		"fails":             "its output ended; it exited with status 3; its standard error ends with:\nno API key\nset WEATHER_KEY",
		"ends":              "its output ended; it exited with status 0 and wrote nothing to its standard error",
		"closes its output": "its output ended; it is still running and wrote nothing to its standard error",
	} {
		t.Run(name, func(t *testing.T) {
			c := server(t, name, "--api-key", "hunter2")
			l := connect(t, c)
			_, err := call(t.Context(), l, 1)
			want := "expected a response to tools/call: " + want
			if err == nil || err.Error() != want || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			<-l.Done()
		})
	}
}

func TestAServerThatNeitherReadsNorObeysIsKilled(t *testing.T) {
	c := server(t, "neither reads nor obeys")
	l := connect(t, c)
	ready, cancel := context.WithCancel(t.Context())
	l.Receive(ready, func() {}, func(*jsonrpc.Message) { cancel() })
	big := link.Out{ID: "1", Method: "tools/call", Message: append(append([]byte(`{"a":"`), make([]byte, 1<<20)...), `"}`...)}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.Call(ctx, big, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	began := time.Now()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 9*time.Second { // a program that cannot be killed is waited for longer
		t.Errorf("closed after %v", took)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("INHERITED", "from the parent")
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(dir)
	c := server(t, "shows its environment", "a b", "$HOME")
	c.Dir = dir
	c.Env = append(c.Env, "ADDED=first", "ADDED=last")
	if got, want := outcome(t, c), fmt.Sprintf("%q", dir+"|last|from the parent|a b|$HOME"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	bare := server(t, "shows its environment")
	bare.Environ = []string{}
	bare.Dir = dir
	if got, want := outcome(t, bare), fmt.Sprintf("%q", dir+"||"); got != want {
		t.Errorf("without the parent's environment got %s, want %s", got, want)
	}
}

// outcome is the result of one call, on a connection of its own.
func outcome(t *testing.T, c *Command) string {
	t.Helper()
	l := connect(t, c)
	defer l.Close()
	m, err := call(t.Context(), l, 1)
	if err != nil {
		t.Fatal(err)
	}
	return string(m.Result)
}

func TestProgramsThatCannotStart(t *testing.T) {
	_, _, err := New("junction-no-such-program", "--token", "hunter2").link(t.Context(), new(atomic.Bool))
	if want := `start "junction-no-such-program": not found in PATH; is it installed?`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	_, _, err = New("cat").link(ctx, new(atomic.Bool))
	if want := "start cat: no time"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// The time to connect is not followed by the grace period of a program that finishes its work: it
// has done none yet.
func TestSilentProgramsAreQuoted(t *testing.T) {
	c := server(t, "waits elsewhere")
	said := make(chan struct{})
	c.Stderr = func(string) { close(said) }
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-said
		cancel(context.DeadlineExceeded)
	}()
	_, err := mcp.DialWith(ctx, c, mcp.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.HasSuffix(err.Error(), "; its standard error ends with:\nlistening on port 3333") {
		t.Error(err)
	}
}

func TestAProgramThatIsGivenUpBeforeItIsConnectedIsTerminatedAtOnce(t *testing.T) {
	c := server(t, "says nothing")
	c.Grace = time.Minute
	began := time.Now()
	_, err := mcp.DialWith(t.Context(), c, mcp.ClientOptions{ConnectTimeout: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
		t.Errorf("after %v: %v", took, err)
	}
}

// An impatient program whose caller waited in vain ends long before the end of its grace period,
// even if it ignores SIGTERM.
func TestImpatient(t *testing.T) {
	for _, name := range []string{"says nothing", "neither reads nor obeys", "answers no call and does not obey"} {
		t.Run(name, func(t *testing.T) {
			c := server(t, name)
			c.Grace, c.Impatient = time.Minute, true
			began := time.Now()
			client, err := mcp.DialWith(t.Context(), c, mcp.ClientOptions{
				ConnectTimeout: 500 * time.Millisecond, Timeout: 200 * time.Millisecond, Logger: slog.New(slog.DiscardHandler),
			})
			if err == nil {
				_, err = client.Do(t.Context(), "tools/call", []byte(`{"name":"a"}`))
				client.Close()
			}
			if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took > 20*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
}

// TestKeepAliveEndsASilentProgram has an observer of results around the connection, which must not
// hide the methods that KeepAlive needs.
func TestKeepAliveEndsASilentProgram(t *testing.T) {
	c := server(t, "answers no call and does not obey")
	c.Answered = func(context.Context, *mcp.Request, mcp.Result, error) {}
	c.Grace = 10 * time.Millisecond
	client, err := mcp.DialWith(t.Context(), c, mcp.ClientOptions{KeepAlive: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	called, cancel := context.WithCancel(t.Context())
	defer cancel()
	go client.Do(called, "tools/call", []byte(`{"name":"a"}`)) // from now on the program reads nothing
	select {
	case <-client.Done():
		if err := client.Err(); !errors.Is(err, mcp.ErrLost) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("a program that does not respond to pings keeps its connection")
	}
}

// A program that sends back all that it reads answers the handshake with Junction's own refusal.
func TestTheErrorOfAnEchoNamesTheStepOnce(t *testing.T) {
	_, err := mcp.DialWith(t.Context(), New("cat"), mcp.ClientOptions{Revision: "2025-11-25", Logger: slog.New(slog.DiscardHandler)})
	if err == nil || strings.Count(err.Error(), "initialize:") != 1 || !strings.Contains(err.Error(), "the handshake is not over yet") {
		t.Errorf("got %v", err)
	}
}
