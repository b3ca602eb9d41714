package mcp_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/link"
	"github.com/junction-mcp/junction/mcp/internal/pipe"
	"github.com/junction-mcp/junction/mcp/internal/upstream"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// TestClientSpeaksAsTheTranscriptsSay plays the server of every conversation in
// testdata/transcripts/client.
func TestClientSpeaksAsTheTranscriptsSay(t *testing.T) {
	runTranscripts(t, "client", true, func() side { return &clientSide{deeds: map[string]*deed{}} })
}

// clientSide is a client under test, and its transport: the transcript holds the other end of each
// connection.
type clientSide struct {
	options mcp.ClientOptions
	answer  mcp.ElicitResult
	dying   string // the reason that a connection gives for its end, as a process would
	deeds   map[string]*deed
	running sync.WaitGroup

	mu     sync.Mutex
	wires  []*wire
	client *mcp.Client
	heard  []string
}

// A deed is an action of the client that runs in the background.
type deed struct {
	cancel  context.CancelFunc
	done    chan struct{}
	outcome string
	err     error
}

func (c *clientSide) set(name, value string) (err error) {
	switch name {
	case "revision":
		c.options.Revision = value
	case "timeout":
		c.options.Timeout, err = time.ParseDuration(value)
	case "probe-timeout":
		c.options.ProbeTimeout, err = time.ParseDuration(value)
	case "connect-timeout":
		c.options.ConnectTimeout, err = time.ParseDuration(value)
	case "answer": // accepts forms and pages with this content
		c.answer = mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(value)}
		c.options.ElicitURL, c.options.OnElicit = true, c.elicit
	case "roots":
		c.options.OnRoots = func(context.Context) ([]mcp.Root, error) { return []mcp.Root{{URI: value}}, nil }
	case "log":
		c.options.LogLevel = mcp.LogLevel(value)
		c.options.OnLog = func(m mcp.LogMessage) { c.hear("log", m) }
	case "dying":
		c.dying = value
	case "tasks": // "wait": wait for tasks that calls become
		c.options.Middleware = []mcp.Middleware{tasks.Wait(tasks.WaitOptions{})}
	default:
		err = errors.New("no such option")
	}
	return err
}

func (c *clientSide) elicit(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	c.hear("asked", map[string]string{"message": req.Message, "url": req.URL})
	answer := c.answer
	return &answer, nil
}

func (c *clientSide) hear(what string, v any) {
	data, err := json.Marshal(v)
	must(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = append(c.heard, what+" "+string(data))
}

// Connect implements [mcp.Transport].
func (c *clientSide) Connect(ctx context.Context, o mcp.ConnectOptions) (mcp.Conn, error) {
	return upstream.Connect(ctx, c.link, o)
}

func (c *clientSide) link(context.Context) (link.Link, error) {
	w, conn := newWire()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wires = append(c.wires, w)
	return pipe.New(conn, pipe.Options{Name: c.String(), Logger: c.options.Logger, Describe: c.died}), nil
}

// died returns how the server ended, or nil if it did not.
func (c *clientSide) died() error {
	if c.dying == "" {
		return nil
	}
	return errors.New(c.dying)
}

// String implements [mcp.Transport].
func (c *clientSide) String() string { return "the played server" }

// open returns the last connection that the client made.
func (c *clientSide) open(tr *transcript, _ string) *wire {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.wires) == 0 || tr.on == c.wires[len(c.wires)-1] {
		tr.t.Fatal("the client made no further connection")
	}
	return c.wires[len(c.wires)-1]
}

func (c *clientSide) run(tr *transcript, s step) bool {
	switch s.verb {
	case "->", "~>", "!->", "eof->":
		tr.talk(s, false)
	case "<-", `"<-`, "eof<-":
		tr.talk(s, true)
	case "connect":
		c.options.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
		c.begin("connect", func(ctx context.Context) (any, error) { return c.connect(ctx) })
		synctest.Wait()
	case "do":
		name, what, _ := strings.Cut(s.text, ": ")
		c.do(tr, s, name, strings.SplitN(what, " ", 3))
		synctest.Wait()
	case "done", "fails":
		c.ended(tr, s)
	case "heard", "!heard":
		c.check(tr, s)
	default:
		return false
	}
	return true
}

func (c *clientSide) connect(ctx context.Context) (any, error) {
	client, err := mcp.DialWith(ctx, c, c.options)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.client = client
	return map[string]any{"revision": client.Revision(), "server": client.Server(), "instructions": client.Instructions()}, nil
}

// begin starts a deed.
func (c *clientSide) begin(name string, f func(ctx context.Context) (any, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	d := &deed{cancel: cancel, done: make(chan struct{})}
	c.deeds[name] = d
	c.running.Go(func() {
		defer close(d.done)
		v, err := f(ctx)
		if d.err = err; err == nil {
			data, err := json.Marshal(v)
			must(err)
			d.outcome = string(data)
		}
	})
}

func (c *clientSide) do(tr *transcript, s step, name string, words []string) {
	if words[0] == "cancel" {
		c.deeds[name].cancel()
		return
	}
	client := c.client
	if client == nil {
		tr.fatal(s, "the client is not connected: %v", c.deeds["connect"].err)
	}
	words = append(words, "", "")
	c.begin(name, func(ctx context.Context) (any, error) {
		switch words[0] {
		case "call":
			ctx = mcp.WatchProgress(ctx, func(p mcp.ProgressUpdate) { c.hear("progress", p) })
			return client.CallTool(ctx, words[1], json.RawMessage(cmp.Or(words[2], "{}")))
		case "list": // method and name of the list
			var all []json.RawMessage
			for item, err := range client.List(ctx, words[1], words[2]) {
				if err != nil {
					return nil, err
				}
				all = append(all, item)
			}
			return all, nil
		case "read":
			return client.ReadResource(ctx, words[1])
		case "ping":
			return nil, client.Ping(ctx)
		case "close":
			return nil, client.Close()
		case "listen":
			var filter mcp.SubscriptionFilter
			must(json.Unmarshal([]byte(words[1]), &filter))
			return nil, client.ListenWith(ctx, filter, func(n mcp.Notification) { c.hear("notification", n) }, func(f mcp.SubscriptionFilter) { c.hear("agreed", f) })
		}
		return nil, fmt.Errorf("cannot %s", words[0])
	})
}

func (c *clientSide) ended(tr *transcript, s step) {
	synctest.Wait()
	name, wanted, _ := strings.Cut(s.text, " ")
	d := c.deeds[name]
	if d == nil {
		tr.fatal(s, "nothing was begun as %q", name)
	}
	select {
	case <-d.done:
	default:
		tr.fatal(s, "not done yet")
	}
	if s.verb == "done" {
		if d.err != nil {
			tr.fatal(s, "failed: %v", d.err)
		}
		if err := matchText(expand(wanted, nil), d.outcome, tr.vars); err != nil {
			tr.fatal(s, "%v\n got  %s\n want %s", err, d.outcome, wanted)
		}
		return
	}
	if d.err == nil {
		tr.fatal(s, "it did not fail: %s", d.outcome)
	}
	for wanted = strings.TrimSpace(wanted); wanted != ""; wanted = strings.TrimSpace(wanted) {
		quoted, err := strconv.QuotedPrefix(wanted)
		if err != nil {
			tr.fatal(s, "%v", err)
		}
		wanted = wanted[len(quoted):]
		if text, _ := strconv.Unquote(quoted); !strings.Contains(d.err.Error(), text) {
			tr.fatal(s, "the error does not hold %q: %v", text, d.err)
		}
	}
}

func (c *clientSide) check(tr *transcript, s step) {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.verb == "!heard" && len(c.heard) > 0:
		tr.fatal(s, "heard %s", c.heard)
	case s.verb == "!heard":
		return
	case len(c.heard) == 0:
		tr.fatal(s, "heard nothing; expected %s", s.text)
	}
	kind, what, _ := strings.Cut(c.heard[0], " ")
	wantedKind, wanted, _ := strings.Cut(s.text, " ")
	c.heard = c.heard[1:]
	err := matchText(expand(wanted, nil), what, tr.vars)
	if kind != wantedKind || err != nil {
		tr.fatal(s, "heard %s %s; expected %s: %v", kind, what, s.text, err)
	}
}

func (c *clientSide) close(*transcript) {
	for _, d := range c.deeds {
		d.cancel()
	}
	for _, w := range c.wires {
		w.out.Close()
	}
	if c.client != nil {
		c.client.Close()
	}
	for _, w := range c.wires {
		w.close()
	}
	c.running.Wait()
}
