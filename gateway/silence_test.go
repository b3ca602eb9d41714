package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// This is the time in docs/gateway.md: a silent server without running requests is restarted a
// minute after a request got no response.
func TestAServerThatAnswersNothingIsRestartedAMinuteAfterARequestGotNoResponse(t *testing.T) {
	for _, test := range []struct {
		name             string
		timeout, patient time.Duration
		tries            int           // counts further calls, one after the other
		pause            time.Duration // the time before each of them
		isolation        gateway.Isolation
		after            time.Duration
	}{
		{name: "within the entry's timeout", timeout: 10 * time.Second, after: time.Minute},
		{name: "and the client gave it up", timeout: -1, patient: 10 * time.Second, after: time.Minute},
		{name: "though the client tries again and again", timeout: -1, patient: 10 * time.Second, tries: 10, pause: time.Second, after: time.Minute + 6*time.Second},
		{name: "of a client that has an instance of its own", timeout: 10 * time.Second, isolation: gateway.PerClient, after: time.Minute},
		{name: "within a timeout that is longer than a ping may take", timeout: 5 * time.Minute, after: time.Minute},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &moody{}
				var lines sight
				g := gateway.New(gateway.Options{Logger: quiet, OnChange: lines.change})
				defer g.Close()
				lines.g.Store(g)
				dial := s.dial(test.timeout)
				must(t, g.Add("s", gateway.Upstream{Isolation: test.isolation, Dial: func(ctx context.Context, _ *gateway.Start) (*mcp.Client, error) { return dial(ctx) }}))
				must(t, g.Settle(t.Context()))
				c := mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1})
				_, err := c.CallTool(t.Context(), "s__t", nil)
				must(t, err)
				starts := s.starts.Load()
				time.Sleep(7 * time.Second)
				s.mute.Store(true)
				s.deaf.Store(true)
				call := func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if test.patient > 0 {
						defer time.AfterFunc(test.patient, cancel).Stop()
					}
					_, err := c.CallTool(ctx, "s__t", nil)
					if err == nil && s.deaf.Load() {
						t.Error("a call got a response")
					}
				}
				call()
				failed := time.Now()
				var trying sync.WaitGroup
				defer trying.Wait()
				trying.Go(func() {
					for range test.tries {
						if time.Sleep(test.pause); !s.deaf.Load() {
							return
						}
						call()
					}
				})
				time.Sleep(4 * time.Second)
				if one := g.Status()[0]; test.tries == 0 && (one.Err == nil || !strings.Contains(one.Err.Error(), "has not answered a ping since ") || !strings.Contains(one.Err.Error(), "it runs no request, and is restarted if it answers no ping until "+failed.Add(test.after).Format(time.TimeOnly)+"")) {
					t.Errorf("4s after it failed the status is %v: %v", one.State, one.Err)
				}
				time.Sleep(time.Until(failed.Add(test.after - time.Millisecond)))
				if s.starts.Load() != starts || !s.deaf.Load() {
					t.Errorf("before %v it was started %d times", test.after, s.starts.Load()-starts)
				}
				time.Sleep(2 * time.Second)
				_, err = c.CallTool(t.Context(), "s__t", nil)
				must(t, err)
				if s.starts.Load() != starts+1 {
					t.Errorf("after %v it was started %d times", test.after, s.starts.Load()-starts)
				}
				if test.tries == 0 {
					lines.none(t, "it may be busy with a request")
				}
			})
		})
	}
}

// A sight records the status of servers without running requests.
type sight struct {
	g     atomic.Pointer[gateway.Gateway]
	mu    sync.Mutex
	lines []string
}

func (l *sight) change() {
	if g := l.g.Load(); g != nil {
		for _, one := range g.Status() {
			if one.Err != nil && one.Running == 0 {
				l.mu.Lock()
				l.lines = append(l.lines, one.Err.Error())
				l.mu.Unlock()
			}
		}
	}
}

func (l *sight) none(t *testing.T, text string) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			t.Errorf("while no request ran people read %q", line)
		}
	}
	if len(l.lines) == 0 {
		t.Error("people read nothing")
	}
}

// A sequential server handles one message at a time: it reads nothing while a call of its tool
// runs, which takes as long as its argument. It sends progress if the argument asks for that.
type sequential struct{ starts atomic.Int64 }

func (s *sequential) dial(ctx context.Context) (*mcp.Client, error) {
	s.starts.Add(1)
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		in := bufio.NewScanner(far)
		for in.Scan() {
			var m struct {
				ID     json.RawMessage
				Method string
				Params struct {
					Arguments struct {
						Lasts float64 // in seconds
						Tells bool
					}
					Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
				}
			}
			if json.Unmarshal(in.Bytes(), &m); m.ID == nil {
				continue
			}
			result := `{}`
			switch m.Method {
			case "initialize":
				result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
			case "tools/list":
				result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
			case "tools/call":
				result = `{"content":[]}`
				for end := time.Now().Add(time.Duration(m.Params.Arguments.Lasts * float64(time.Second))); time.Now().Before(end); {
					time.Sleep(min(time.Minute, time.Until(end)))
					if m.Params.Arguments.Tells {
						fmt.Fprintf(far, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`+"\n", m.Params.Meta.ProgressToken, time.Now().Unix())
					}
				}
			}
			if _, err := fmt.Fprintf(far, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result); err != nil {
				return
			}
		}
	}()
	return mcp.DialWith(ctx, stream.Over(near, "s"), mcp.ClientOptions{Name: "s", Revision: "2025-06-18", Bridge: true, Timeout: -1, Logger: quiet})
}

func TestAServerThatDoesOneThingAtATimeIsNotRestartedWhileThatIsWanted(t *testing.T) {
	type call struct {
		begins, lasts, patient time.Duration
		tells                  bool
	}
	for _, test := range []struct {
		name   string
		calls  []call
		starts int64
	}{
		{"a call without progress", []call{{lasts: 29 * time.Minute}}, 1},
		{"a call with progress, however long it takes", []call{{lasts: 3 * time.Hour, tells: true}}, 1},
		{"behind a call that nobody wants any more", []call{{lasts: 65 * time.Second, patient: 30 * time.Second}, {begins: 40 * time.Second, lasts: 20 * time.Minute}}, 1},
		{"before a call that was given up", []call{{lasts: 20 * time.Minute}, {begins: time.Minute, lasts: time.Second, patient: 10 * time.Second}}, 1},
		{"a call that ends after another client gave one up", []call{{lasts: 3 * time.Minute}, {begins: time.Minute, lasts: time.Minute + 50*time.Second, patient: 20 * time.Second}}, 1},
		{"a call without progress that takes too long", []call{{lasts: 31*time.Minute + 30*time.Second}}, 2},
		{"nothing but a call that nobody wants any more", []call{{lasts: 5 * time.Minute, patient: time.Minute}}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sequential{}
				g := gateway.New(gateway.Options{Logger: quiet})
				defer g.Close()
				must(t, add(g, "s", s.dial))
				must(t, g.Settle(t.Context()))
				time.Sleep(7 * time.Second)
				var running sync.WaitGroup
				for _, call := range test.calls {
					running.Go(func() {
						time.Sleep(call.begins)
						ctx, cancel := context.WithCancel(t.Context())
						defer cancel()
						if call.patient > 0 {
							defer time.AfterFunc(call.patient, cancel).Stop()
						}
						c := mcp.NewClientWith(g, mcp.ClientOptions{Timeout: -1, OnProgress: func(mcp.ProgressUpdate) {}})
						_, err := c.CallTool(ctx, "s__t", map[string]any{"lasts": call.lasts.Seconds(), "tells": call.tells})
						if call.patient == 0 && test.starts == 1 && err != nil {
							t.Error(err)
						}
					})
				}
				running.Wait()
				time.Sleep(2 * time.Minute)
				if s.starts.Load() != test.starts {
					t.Errorf("it was started %d times", s.starts.Load())
				}
				g.Close()
				time.Sleep(10 * time.Minute) // ends the running call
			})
		})
	}
}

// The tool of this legacy server asks the user, and the server reads only the response until then.
func TestAServerThatWaitsForAUserOfAModernClientIsNotRestarted(t *testing.T) {
	for name, takes := range map[string]time.Duration{"soon": 30 * time.Second, "after some minutes": 8 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var starts atomic.Int64
				dial := func(ctx context.Context) (*mcp.Client, error) {
					starts.Add(1)
					near, far := net.Pipe()
					go asks(far)
					return mcp.DialWith(ctx, stream.Over(near, "s"), mcp.ClientOptions{Name: "s", Revision: "2025-06-18", Bridge: true, Timeout: -1, Logger: quiet})
				}
				g := gateway.New(gateway.Options{Logger: quiet})
				defer g.Close()
				must(t, add(g, "s", dial))
				must(t, g.Settle(t.Context()))
				c, err := mcp.DialWith(t.Context(), stream.Pipe(g), mcp.ClientOptions{Revision: "2026-07-28", Timeout: -1, Logger: quiet,
					OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						time.Sleep(takes)
						return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"word":"yes"}`)}, nil
					}})
				must(t, err)
				defer c.Close()
				if r, err := c.CallTool(t.Context(), "s__t", nil); err != nil || r.Text() != "accept" || starts.Load() != 1 {
					t.Errorf("it gave %v, %v, after %d starts", r, err, starts.Load())
				}
			})
		})
	}
}

// asks plays that server.
func asks(far net.Conn) {
	defer far.Close()
	in := bufio.NewScanner(far)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m); m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			fmt.Fprintln(far, `{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"word":{"type":"string"}}}}}`)
			var response struct {
				Result struct{ Action string }
			}
			for response.Result.Action == "" && in.Scan() {
				json.Unmarshal(in.Bytes(), &response)
			}
			result = fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, response.Result.Action)
		}
		fmt.Fprintf(far, `{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}
