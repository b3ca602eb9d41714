package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/internal/edge"
	"github.com/junction-mcp/junction/mcp/internal/lines"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/tasks"
)

// TestServerSpeaksAsTheTranscriptsSay plays the client of every conversation in
// testdata/transcripts/server. The server is that of [newFixture].
func TestServerSpeaksAsTheTranscriptsSay(t *testing.T) {
	runTranscripts(t, "server", true, func() side { return &serverSide{direct: true} })
}

// TestServerSpeaksTheSameOverAStream plays the same conversations through package stream, in real
// time.
func TestServerSpeaksTheSameOverAStream(t *testing.T) {
	runTranscripts(t, "server", false, func() side { return &serverSide{} })
}

// serverSide is a server under test and all connections to it.
type serverSide struct {
	direct  bool // without package stream, whose goroutines wait for a mutex, which stops synctest's clock
	edge    *edge.Edge
	options mcp.ServeOptions
	server  mcp.ServerOptions
	fixture *fixture
	tasks   *tasks.Tasks // nil if calls never become tasks
	handler mcp.Handler
	stop    context.CancelFunc
	ctx     context.Context
	serving sync.WaitGroup
}

func (s *serverSide) set(name, value string) (err error) {
	switch name {
	case "only": // "stream": for features of package stream itself
	case "max-in-flight":
		s.options.MaxInFlight, err = strconv.Atoi(value)
	case "max-message":
		s.options.MaxMessage, err = strconv.Atoi(value)
	case "page-size":
		s.server.PageSize, err = strconv.Atoi(value)
	case "state-timeout":
		s.options.StateTimeout, err = time.ParseDuration(value)
	case "ask-timeout":
		s.options.AskTimeout, err = time.ParseDuration(value)
	case "tasks": // "yes": all tools except echo run as tasks; or the name of a tool that must
		s.tasks, err = tasks.New(tasks.Options{Tools: map[string]tasks.Tool{"[^e]*": {}, value: {Required: true}}, Poll: 50 * time.Millisecond, TTL: time.Minute})
	case "drain-timeout":
		s.options.DrainTimeout, err = time.ParseDuration(value)
	default:
		err = errors.New("no such option")
	}
	return err
}

// start starts the server once the options are known.
func (s *serverSide) start() {
	if s.fixture != nil {
		return
	}
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	s.server.Logger, s.options.Logger = quiet, quiet
	s.fixture = newFixture(s.server)
	s.options.StateKeys = [][]byte{[]byte("a key of thirty-two bytes, known")}
	s.ctx, s.stop = context.WithCancel(context.Background())
	var err error
	s.handler = s.fixture
	if s.tasks != nil {
		s.handler = s.tasks.Middleware()(s.fixture)
	}
	s.edge, err = edge.Serving(s.handler, s.options)
	must(err)
}

func (s *serverSide) open(tr *transcript, _ string) *wire {
	s.start()
	w, conn := newWire()
	if s.direct {
		s.serving.Go(func() { serveDirect(s.ctx, s.edge, conn, s.options) })
		return w
	}
	s.serving.Go(func() {
		if err := stream.ServeConnWith(s.ctx, conn, s.handler, s.options); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			tr.t.Errorf("serving: %v", err)
		}
	})
	return w
}

// serveDirect serves a connection in the simplest way that a transport can.
func serveDirect(ctx context.Context, e *edge.Edge, conn io.ReadWriteCloser, o mcp.ServeOptions) {
	defer conn.Close()
	in, out := lines.NewReader(conn, max(o.MaxMessage, 1<<20)), lines.NewWriter(conn)
	c := e.NewConnection(context.WithoutCancel(ctx), out, nil)
	var jobs sync.WaitGroup
	defer jobs.Wait()
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	for {
		line, err := in.Next()
		if err != nil {
			drain, cancel := context.WithTimeout(context.Background(), mcp.DefaultDrainTimeout)
			c.Drain(drain)
			cancel()
			return
		}
		job := new(edge.Job)
		if !c.Accept(job, line) {
			continue
		}
		jobs.Go(func() {
			if reply := job.Run(nil); reply != nil {
				_ = out.Send(ctx, reply)
			}
		})
	}
}

func (s *serverSide) run(tr *transcript, st step) bool {
	s.start()
	switch st.verb {
	case "->", `"->`, "eof->":
		tr.talk(st, true)
	case "<-", "<~", "!<-", "eof<-":
		tr.talk(st, false)
	case "do":
		if !s.direct {
			s.barrier(tr, st)
		}
		if err := s.do(strings.Fields(st.text)); err != nil {
			tr.fatal(st, "%v", err)
		}
		tr.settle()
	default:
		return false
	}
	return true
}

// barrier waits until the server has read everything sent so far: it reads messages in order.
func (s *serverSide) barrier(tr *transcript, st step) {
	tr.send(st, `{"jsonrpc":"2.0","id":"barrier","method":"ping"}`+"\n")
	var kept []string
	for {
		line := tr.next(st)
		if strings.Contains(line, `"barrier"`) {
			break
		}
		kept = append(kept, line)
	}
	tr.on.mu.Lock()
	defer tr.on.mu.Unlock()
	tr.on.lines = append(kept, tr.on.lines...)
}

func (s *serverSide) do(words []string) error {
	argument := ""
	if len(words) > 1 {
		argument = words[1]
	}
	switch words[0] {
	case "release": // lets waiting tools continue
		s.fixture.release()
	case "updated":
		s.fixture.ResourceUpdated(argument)
	case "add-tool":
		mcp.AddTool(s.fixture.Server, argument, func(context.Context, none) (string, error) { return argument, nil })
	case "remove-tool":
		s.fixture.RemoveTool(argument)
	case "remove-prompt":
		s.fixture.RemovePrompt(argument)
	case "shutdown":
		s.stop()
	default:
		return fmt.Errorf("cannot %s", words[0])
	}
	return nil
}

func (s *serverSide) close(tr *transcript) {
	if s.stop != nil {
		s.fixture.release()
		s.stop()
	}
	for _, w := range tr.lines {
		w.close()
	}
	s.serving.Wait()
	if s.tasks != nil {
		s.tasks.Close()
	}
}

// A fixture is a server with tools for everything that can happen in a call.
type fixture struct {
	*mcp.Server
	mu    sync.Mutex
	gate  chan struct{} // closed by release
	runs  map[string]int
	after sync.WaitGroup
}

func newFixture(o mcp.ServerOptions) *fixture {
	f := &fixture{Server: mcp.NewServerWith("fixture", "1", o), gate: make(chan struct{}), runs: map[string]int{}}
	f.addTools()
	f.addAskingTools()
	f.AddText(mcp.Resource{URI: "test://a", Name: "a", MIMEType: "text/plain"}, "A")
	f.AddText(mcp.Resource{URI: "test://b", Name: "b"}, "B")
	f.AddPrompt(mcp.Prompt{Name: "greet", Arguments: []mcp.PromptArgument{{Name: "who", Required: true}}},
		func(_ context.Context, arguments map[string]string) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("hello " + arguments["who"])}}}, nil
		})
	return f
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// release lets waiting tools continue; later ones wait for the next release.
func (f *fixture) release() {
	f.mu.Lock()
	close(f.gate)
	f.gate = make(chan struct{})
	f.mu.Unlock()
	f.after.Wait()
}

func (f *fixture) wait(ctx context.Context) error {
	f.mu.Lock()
	gate := f.gate
	f.mu.Unlock()
	select {
	case <-gate:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// count returns how often a tool ran, including this run.
func (f *fixture) count(tool string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs[tool]++
	return f.runs[tool]
}

func (f *fixture) addTools() {
	mcp.AddTool(f.Server, "echo", func(_ context.Context, in struct{ Text string }) (string, error) { return in.Text, nil })
	mcp.AddTool(f.Server, "slow", func(ctx context.Context, _ none) (string, error) { return "slept", f.wait(ctx) })
	mcp.AddTool(f.Server, "stubborn", func(ctx context.Context, _ none) (string, error) {
		return "slept", f.wait(context.WithoutCancel(ctx))
	})
	mcp.AddTool(f.Server, "panic", func(context.Context, none) (string, error) { panic("boom") })
	mcp.AddTool(f.Server, "fail", func(context.Context, none) (string, error) { return "", errors.New("no luck") })
	mcp.AddTool(f.Server, "refuse", func(context.Context, none) (string, error) { return "", mcp.Errorf(7, "not today") })
	mcp.AddTool(f.Server, "progress", func(ctx context.Context, in struct{ Steps []float64 }) (string, error) {
		for _, step := range in.Steps {
			if err := mcp.Progress(ctx, step, 10, "step"); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	mcp.AddTool(f.Server, "late", func(ctx context.Context, _ none) (string, error) {
		f.after.Go(func() {
			_ = f.wait(context.WithoutCancel(ctx))
			_ = mcp.Progress(ctx, 1, 0, "")
			_ = mcp.Log(ctx, mcp.LogError, "too late")
		})
		return "done", nil
	})
	mcp.AddTool(f.Server, "log", func(ctx context.Context, _ none) (string, error) {
		for _, level := range []mcp.LogLevel{mcp.LogDebug, mcp.LogInfo, mcp.LogError} {
			if err := mcp.LogWith(ctx, "fixture", level, string(level)); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
}

func (f *fixture) addAskingTools() {
	mcp.AddTool(f.Server, "ask", func(ctx context.Context, _ none) (string, error) {
		answer, err := mcp.Elicit[nameForm](ctx, "who?")
		return "hello " + answer.Name, err
	})
	mcp.AddTool(f.Server, "ask-two", func(ctx context.Context, _ none) (string, error) {
		var names [2]string
		order := []int{0, 1}
		if f.count("ask-two")%2 == 0 {
			order = []int{1, 0} // the keys stay the same although the order changes
		}
		var errs []error
		for _, i := range order {
			answer, err := mcp.Elicit[nameForm](ctx, fmt.Sprintf("name %d?", i))
			names[i] = answer.Name
			errs = append(errs, err)
		}
		return names[0] + " and " + names[1], errors.Join(errs...)
	})
	mcp.AddTool(f.Server, "ask-twice", func(ctx context.Context, _ none) (string, error) {
		first, err := mcp.Elicit[nameForm](ctx, "first?")
		if err != nil {
			return "", err
		}
		second, err := mcp.Elicit[nameForm](ctx, "after "+first.Name+"?")
		return first.Name + " then " + second.Name, err
	})
	mcp.AddTool(f.Server, "ask-many", func(ctx context.Context, in struct{ N int }) (string, error) {
		var errs []error
		for i := range in.N {
			_, err := mcp.Elicit[nameForm](ctx, fmt.Sprint("name ", i, "?"))
			errs = append(errs, err)
		}
		for _, err := range errs { // a protocol error first
			if e := (*mcp.Error)(nil); errors.As(err, &e) {
				return "", e
			}
		}
		return "done", errors.Join(errs...)
	})
	mcp.AddTool(f.Server, "ask-url", func(ctx context.Context, _ none) (string, error) {
		result, err := mcp.ElicitRaw(ctx, mcp.ElicitRequest{Key: "page", Mode: mcp.ElicitURL, Message: "visit", URL: "https://example.com/"})
		if err != nil {
			return "", err
		}
		return result.Action, nil
	})
	mcp.AddTool(f.Server, "sample", func(ctx context.Context, _ none) (string, error) {
		result, err := mcp.Sample(ctx, mcp.CreateMessageRequest{Key: "model", MaxTokens: 5, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("hi")}}}})
		if err != nil {
			return "", err
		}
		return result.Content[0].Text, nil
	})
	mcp.AddTool(f.Server, "roots", func(ctx context.Context, _ none) (string, error) {
		roots, err := mcp.RootsKeyed(ctx, "roots")
		return fmt.Sprint(len(roots)), err
	})
	mcp.AddTool(f.Server, "state", func(ctx context.Context, in struct{ Bytes int }) (string, error) {
		var work string
		if found, err := mcp.LoadFromLastRound(ctx, "work", &work); err != nil {
			return "", err
		} else if !found {
			work = fmt.Sprint("run ", f.count("state"), strings.Repeat("x", in.Bytes))
		}
		if err := mcp.SaveForNextRound(ctx, "work", work); err != nil {
			return "", err
		}
		_, err := mcp.Elicit[nameForm](ctx, "who?")
		return work, err
	})
}
