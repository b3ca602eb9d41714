// Load measures whether a gateway of several replicas loses calls while they come and go. It has
// two commands:
//
//	load serve -addr :8080                              a legacy server with the tools echo, wait and ask
//	load run -url http://gateway:7717/mcp -for 2m       calls them, as clients of each era
//
// The exit code of run is 1 if a call failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := errors.New("expected serve or run")
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "serve":
			err = serve(ctx, os.Args[2:])
		case "run":
			err = run(ctx, os.Args[2:])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

type (
	textInput struct {
		Text string `json:"text"`
	}
	waitInput struct {
		Seconds int `json:"seconds"`
	}
)

// serve serves the tools with sessions, as most servers do today.
func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	addr := flags.String("addr", "127.0.0.1:8080", "serve at this `ADDRESS`")
	_ = flags.Parse(args)
	server := sdk.NewServer(&sdk.Implementation{Name: "load", Version: "1"}, nil)
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	sdk.AddTool(server, &sdk.Tool{Name: "echo", Description: "returns the text"}, func(_ context.Context, _ *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
		return text(in.Text), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "wait", Description: "takes some seconds"}, func(ctx context.Context, _ *sdk.CallToolRequest, in waitInput) (*sdk.CallToolResult, any, error) {
		select {
		case <-time.After(time.Duration(min(in.Seconds, 600)) * time.Second):
			return text("done"), nil, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	})
	sdk.AddTool(server, &sdk.Tool{Name: "ask", Description: "asks the user for the text"}, func(ctx context.Context, req *sdk.CallToolRequest, in textInput) (*sdk.CallToolResult, any, error) {
		answer, err := req.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "form", Message: in.Text, RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}}})
		if err != nil {
			return nil, nil, err
		}
		return text(fmt.Sprint(answer.Content["text"])), nil, nil
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil))
	mux.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	s := &http.Server{Addr: *addr, Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// A kind is one way to use the gateway.
type kind struct {
	name     string
	clients  int
	revision string // empty for the official SDK of Go
	tool     string
	think    time.Duration // time of the user for an answer
	wait     int           // seconds of a call
}

// A tally counts the calls of one kind.
type tally struct {
	Kind    string  `json:"kind"`
	Calls   int     `json:"calls"`
	Failed  int     `json:"failed"`
	Refused int64   `json:"refused"` // HTTP responses from 400 on, and requests without a response, that the client made up for
	Slowest float64 `json:"slowestSeconds"`

	mu      sync.Mutex
	refused atomic.Int64
	errors  []string
}

func (t *tally) add(began time.Time, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Calls++
	t.Slowest = max(t.Slowest, time.Since(began).Seconds())
	if err != nil {
		if t.Failed++; len(t.errors) < 5 {
			t.errors = append(t.errors, fmt.Sprintf("%s %s after %.1fs: %.400v", time.Now().UTC().Format(time.TimeOnly), t.Kind, time.Since(began).Seconds(), err))
		}
	}
}

// counting counts what the transport of a client refuses.
type counting struct {
	next http.RoundTripper
	key  string
	t    *tally
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.key != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.next.RoundTrip(r)
	if err != nil && r.Context().Err() == nil || err == nil && resp.StatusCode >= 400 && resp.StatusCode != http.StatusMethodNotAllowed {
		c.t.refused.Add(1)
		why := fmt.Sprint(err)
		if err == nil {
			why = resp.Status
		}
		c.t.mu.Lock()
		if len(c.t.errors) < 5 {
			c.t.errors = append(c.t.errors, fmt.Sprintf("%s %s: %s: %.300s", time.Now().UTC().Format(time.TimeOnly), c.t.Kind, r.Method, why))
		}
		c.t.mu.Unlock()
	}
	return resp, err
}

// run makes calls for a while, and prints the tallies.
func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("run", flag.ExitOnError)
	url := flags.String("url", "", "the `URL` of the gateway's endpoint")
	lasts := flags.Duration("for", time.Minute, "make calls for this `TIME`")
	clients := flags.Int("clients", 2, "`NUMBER` of clients of each kind")
	wait := flags.Int("wait", 60, "`SECONDS` of a long call")
	think := flags.Duration("think", 2*time.Second, "`TIME` of a user for an answer")
	key := flags.String("key", os.Getenv("LOAD_KEY"), "`KEY` of the clients")
	prefix := flags.String("prefix", "load__", "`PREFIX` of the tools")
	_ = flags.Parse(args)
	var kinds []kind
	for _, revision := range []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", ""} {
		name := revision
		if name == "" {
			name = "go-sdk"
		}
		kinds = append(kinds, kind{name + " echo", *clients, revision, "echo", 0, 0}, kind{name + " wait", *clients, revision, "wait", 0, *wait})
		if revision != "2025-03-26" { // it knows no elicitation
			kinds = append(kinds, kind{name + " ask", *clients, revision, "ask", *think, 0})
		}
	}
	var tallies []*tally
	var running sync.WaitGroup
	end := time.Now().Add(*lasts)
	for _, k := range kinds {
		t := &tally{Kind: k.name}
		tallies = append(tallies, t)
		for range k.clients {
			running.Go(func() {
				for ctx.Err() == nil && time.Now().Before(end) { // a client that cannot connect tries again
					if err := k.use(ctx, *url, *prefix, *key, end, t); err != nil {
						t.add(time.Now(), fmt.Errorf("connect: %w", err))
						time.Sleep(time.Second)
					}
				}
			})
		}
	}
	running.Wait()
	failed, calls := 0, 0
	for _, t := range tallies {
		t.Refused = t.refused.Load()
		failed, calls = failed+t.Failed, calls+t.Calls
		line, _ := json.Marshal(t)
		fmt.Println(string(line))
		for _, e := range t.errors {
			fmt.Println("  ", e)
		}
	}
	fmt.Printf("%d calls, %d failed\n", calls, failed)
	if failed > 0 || calls == 0 {
		return errors.New("calls failed")
	}
	return nil
}

// A caller calls a tool, and returns the text of its result.
type caller func(ctx context.Context, tool string, arguments map[string]any) (string, error)

// use connects a client, and calls the tool until end. It begins anew after 50 calls.
func (k *kind) use(ctx context.Context, url, prefix, key string, end time.Time, t *tally) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	h := &http.Client{Transport: &counting{transport, key, t}}
	call, closes, err := k.connect(ctx, url, h)
	if err != nil {
		return err
	}
	defer closes()
	for n := 0; n < 50 && ctx.Err() == nil && time.Now().Before(end); n++ {
		want, arguments := fmt.Sprint(n, " ", k.name), map[string]any{}
		if arguments["text"] = want; k.tool == "wait" {
			want, arguments = "done", map[string]any{"seconds": k.wait}
		}
		began := time.Now()
		got, err := call(ctx, prefix+k.tool, arguments)
		if err == nil && got != want {
			err = fmt.Errorf("got %.200q, expected %q", got, want)
		}
		t.add(began, err)
		if k.tool == "echo" {
			time.Sleep(50 * time.Millisecond) // bounded load: 20 calls a second
		}
	}
	return nil
}

// connect returns a function that calls tools, and one that ends the connection.
func (k *kind) connect(ctx context.Context, url string, h *http.Client) (caller, func(), error) {
	answer := func(ctx context.Context, text string) map[string]any {
		select {
		case <-time.After(k.think):
		case <-ctx.Done():
		}
		return map[string]any{"text": text}
	}
	if k.revision != "" {
		c, err := mcp.DialWith(ctx, streamable.ClientWith(url, streamable.ClientOptions{HTTP: h}), mcp.ClientOptions{Revision: k.revision, Timeout: -1, OnElicit: func(ctx context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			content, err := json.Marshal(answer(ctx, req.Message))
			return &mcp.ElicitResult{Action: "accept", Content: content}, err
		}})
		if err != nil {
			return nil, nil, err
		}
		return func(ctx context.Context, tool string, arguments map[string]any) (string, error) {
			r, err := c.CallTool(ctx, tool, arguments)
			if err != nil {
				return "", err
			}
			return r.Text(), nil
		}, func() { _ = c.Close() }, nil
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "load", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: answer(ctx, req.Params.Message)}, nil
	}})
	s, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: url, HTTPClient: h}, nil)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context, tool string, arguments map[string]any) (string, error) {
		r, err := s.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			return "", err
		}
		if i := slices.IndexFunc(r.Content, func(c sdk.Content) bool { _, is := c.(*sdk.TextContent); return is }); i >= 0 {
			return r.Content[i].(*sdk.TextContent).Text, nil
		}
		return "", nil
	}, func() { _ = s.Close() }, nil
}
