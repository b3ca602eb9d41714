package script

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"
)

// Connected holds the facts that a client learned when it connected.
type Connected struct {
	Revision     string `json:"revision"`
	Server       any    `json:"server"`
	Capabilities any    `json:"capabilities"`
	Instructions string `json:"instructions,omitempty"`
}

// ToolResult is the result of a call in a form common to all SDKs.
type ToolResult struct {
	IsError    bool     `json:"isError"`
	Text       string   `json:"text"`
	Types      []string `json:"types"`
	Structured any      `json:"structured"`
}

// Peer is a connected client of an SDK.
type Peer interface {
	Connected() Connected
	// List returns the names of all tools, resources, templates or prompts.
	List(ctx context.Context, what string) ([]string, error)
	Call(ctx context.Context, step Step) (ToolResult, error)
	Read(ctx context.Context, uri string) (text string, uris []string, err error)
	Prompt(ctx context.Context, name string, arguments map[string]string) (text string, err error)
	Complete(ctx context.Context, ref Ref, argument Argument) ([]string, error)
	Ping(ctx context.Context) error
	SetLevel(ctx context.Context, level string) error
	Subscribe(ctx context.Context, uri string) error
	Unsubscribe(ctx context.Context, uri string) error
	Close() error
}

// Coder returns the JSON-RPC code and data of an SDK's error.
type Coder func(err error) (code int64, data any)

// Main runs the script in the command line with the peer that connect returns.
func Main(connect func(context.Context, Flags, *Probe) (Peer, error), code Coder) {
	flags, err := ParseFlags()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	r := runner{probe: NewProbe(flags.Answers), code: code}
	ctx := context.Background()
	began := time.Now()
	r.peer, err = connect(ctx, flags, r.probe)
	if err != nil {
		r.print(0, "connect", began, r.failed(err))
		os.Exit(1)
	}
	r.print(0, "connect", began, r.peer.Connected())
	for i, step := range flags.Steps {
		start := time.Now()
		r.print(i+1, step.Op, start, r.perform(ctx, step))
	}
	closed := make(chan error, 1)
	go func() { closed <- r.peer.Close() }()
	select {
	case <-closed:
	case <-time.After(6 * time.Second):
		fmt.Fprintln(os.Stderr, "closing took more than 6 s")
	}
}

type runner struct {
	probe *Probe
	peer  Peer
	code  Coder
}

type failure struct {
	Error failureBody `json:"error"`
}

type failureBody struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (r *runner) failed(err error) failure {
	code, data := r.code(err)
	return failure{failureBody{code, err.Error(), data}}
}

// perform runs a step and returns its result or a failure.
func (r *runner) perform(ctx context.Context, step Step) any {
	timeout := 20 * time.Second
	if step.TimeoutMs > 0 {
		timeout = time.Duration(step.TimeoutMs) * time.Millisecond
	}
	if step.Op == "waitNotification" {
		all, err := r.probe.waitAll(step.Method, step.Count, timeout)
		return r.outcome(map[string]any{"params": all}, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	found, err := r.ask(ctx, step)
	return r.outcome(found, err)
}

func (r *runner) outcome(found any, err error) any {
	if err != nil {
		return r.failed(err)
	}
	if found == nil {
		return struct{}{}
	}
	return found
}

func (r *runner) ask(ctx context.Context, step Step) (any, error) {
	switch step.Op {
	case "list":
		return r.list(ctx), nil
	case "call":
		return r.peer.Call(ctx, step)
	case "cancelCall":
		return r.cancelCall(ctx, step)
	case "read":
		text, uris, err := r.peer.Read(ctx, step.URI)
		return map[string]any{"text": text, "uris": uris}, err
	case "prompt":
		text, err := r.peer.Prompt(ctx, step.Name, stringsOf(step.Arguments))
		return map[string]any{"text": text}, err
	case "complete":
		values, err := r.peer.Complete(ctx, step.Ref, step.Argument)
		return map[string]any{"values": values}, err
	case "parallel":
		return r.parallel(ctx, step.Steps), nil
	case "sleep":
		time.Sleep(time.Duration(step.Ms) * time.Millisecond)
		return nil, nil
	case "ping":
		return nil, r.peer.Ping(ctx)
	case "setLevel":
		return nil, r.peer.SetLevel(ctx, step.Level)
	case "subscribe":
		return nil, r.peer.Subscribe(ctx, step.URI)
	case "unsubscribe":
		return nil, r.peer.Unsubscribe(ctx, step.URI)
	default:
		return nil, fmt.Errorf("unknown op %q", step.Op)
	}
}

func (r *runner) list(ctx context.Context) any {
	found := map[string]any{}
	failed := map[string]failureBody{}
	for _, what := range []string{"tools", "resources", "templates", "prompts"} {
		names, err := r.peer.List(ctx, what)
		if err != nil {
			failed[what] = r.failed(err).Error
		} else if names == nil {
			names = []string{}
		}
		found[what] = names
	}
	found["errors"] = failed
	return found
}

func (r *runner) cancelCall(ctx context.Context, step Step) (any, error) {
	after := 200
	if step.AfterMs > 0 {
		after = step.AfterMs
	}
	// Not a deadline, because an SDK may evaluate a deadline itself and give up early.
	cut, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := time.AfterFunc(time.Duration(after)*time.Millisecond, cancel)
	defer timer.Stop()
	result, err := r.peer.Call(cut, step)
	if err != nil && cut.Err() != nil {
		return map[string]any{"cancelled": true}, nil
	}
	return result, err
}

func (r *runner) parallel(ctx context.Context, steps []Step) any {
	results := make([]any, len(steps))
	var wg sync.WaitGroup
	for i, step := range steps {
		wg.Go(func() { results[i] = withOK(r.perform(ctx, step)) })
	}
	wg.Wait()
	return map[string]any{"results": results}
}

func (r *runner) print(step int, op string, began time.Time, found any) {
	line := withOK(found)
	line["step"] = step
	line["op"] = op
	line["ms"] = time.Since(began).Milliseconds()
	line["events"] = r.probe.takeFresh()
	out, err := json.Marshal(line)
	if err != nil {
		out = fmt.Appendf(nil, `{"step":%d,"op":%q,"ok":false,"error":{"message":%q}}`, step, op, err)
	}
	fmt.Println(string(out))
}

func withOK(found any) map[string]any {
	_, failed := found.(failure)
	raw, err := json.Marshal(found)
	line := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &line)
	}
	if err != nil {
		line = map[string]any{"error": failureBody{Message: err.Error()}}
	}
	line["ok"] = !failed && err == nil
	return line
}

func stringsOf(arguments map[string]any) map[string]string {
	out := map[string]string{}
	for k, v := range arguments {
		out[k] = fmt.Sprint(v)
	}
	return out
}
