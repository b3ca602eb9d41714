package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/audit"
	"github.com/junction-mcp/junction/integration/history"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
	"github.com/junction-mcp/junction/mcp/tasks"
)

const (
	chaosSteps = 5                // steps of a call that reports progress
	chaosWait  = 20 * time.Second // longest wait for a response
)

// TestReplicasUnderFaults has clients of every revision call through three replicas while these and
// their store fail: for 8 seconds, five minutes at night, or as long as CHAOS says. The history has no
// anomaly. Replicas without a store share no tasks.
func TestReplicasUnderFaults(t *testing.T) {
	t.Parallel()
	lasts := time.Duration(fewer(8, 300)) * time.Second
	if d, err := time.ParseDuration(os.Getenv("CHAOS")); err == nil {
		lasts = d
	}
	for _, store := range chaosStores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			if store.nightly && os.Getenv("CHAOS") == "" {
				skipOnChange(t)
			}
			if !apart(t, lasts) {
				underFaults(t, store.begin(t), lasts)
			}
		})
	}
}

// A chaosRun makes parts fail until its context is done, and counts the faults.
type chaosRun struct {
	ctx     context.Context
	failing sync.WaitGroup

	mu     sync.Mutex
	failed map[string]int
}

// happens makes one of several faults happen to a part, again and again, after a pause of up to most.
func happens[part any](t *testing.T, c *chaosRun, of part, most time.Duration, all []fault[part]) {
	if len(all) == 0 {
		return
	}
	c.failing.Go(func() {
		for {
			select {
			case <-time.After(200*time.Millisecond + rand.N(most)):
			case <-c.ctx.Done():
				return
			}
			f := all[rand.IntN(len(all))]
			f.do(t, of)
			c.mu.Lock()
			c.failed[f.name]++
			c.mu.Unlock()
		}
	})
}

// underFaults makes replicas and their store fail while clients call.
func underFaults(t *testing.T, store chaosStore, lasts time.Duration) {
	settings := object{}
	if store.url != "" {
		settings["state"] = object{"url": store.url}
	}
	h := history.New(chaosSteps)
	h.Loses = store.loses
	f := makeFleet(t, 3, settings, object{"s": object{"url": chaosServer(t, h)}})
	ofReplicas := slices.Clone(replicaFaults)
	if lasts > time.Minute {
		ofReplicas = append(ofReplicas, longFaults...)
	}
	if isApart() {
		separateDisks(t, f.all)
		ofReplicas = append(ofReplicas, apartFaults...)
	}
	f.start(t)
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	run := &chaosRun{ctx: ctx, failed: map[string]int{}}
	for _, r := range f.all[:2] { // of three replicas, one stays
		happens(t, run, r, 1500*time.Millisecond, ofReplicas)
	}
	happens(t, run, struct{}{}, 2*time.Second, store.faults)
	happens(t, run, f, 20*time.Second, []fault[*fleet]{{"all are replaced", func(t *testing.T, f *fleet) { f.roll(t) }}})
	healed := make(chan struct{})
	var working sync.WaitGroup
	for i := range fewer(16, 200) {
		working.Go(func() { chaosClient(t, i, f, h, store.url != "", healed) })
	}
	run.failing.Wait()
	f.recover(t)
	close(healed)
	working.Wait()
	h.Audited = auditedBy(t, f)
	for _, r := range f.all {
		h.Ends[r.name] = r.ends
	}
	t.Logf("%d calls, %v; faults: %v; tasks that another process continued: %d", len(h.Ops()), h.Count(), run.failed, h.Continued())
	errors := map[string]int{}
	for _, op := range h.Ops() {
		if op.Outcome != history.Answered {
			errors[fmt.Sprintf("%s %s %s: %s", op.Revision, op.Kind, op.Outcome, digits.ReplaceAllString(op.Error, "#"))]++
		}
	}
	for text, n := range errors {
		t.Logf("%d × %.300s", n, text)
	}
	all := h.Check()
	for _, a := range all[:min(len(all), 20)] {
		t.Error(a)
	}
	if len(all) > 20 {
		t.Errorf("and %d further anomalies", len(all)-20)
	}
}

// digits are what differs between errors of one kind.
var digits = regexp.MustCompile(`[A-Z0-9]{26}|[0-9]+`)

// chaosServer is a server whose runs the history records.
func chaosServer(t *testing.T, h *history.History) string {
	t.Helper()
	type call struct {
		ID string `json:"id"`
	}
	s := mcp.NewServer("chaos", "1")
	for kind, run := range map[history.Kind]func(ctx context.Context, id string) error{
		history.Read: func(context.Context, string) error {
			time.Sleep(time.Duration(rand.IntN(30)) * time.Millisecond)
			return nil
		},
		history.Effect: func(context.Context, string) error {
			time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
			return nil
		},
		history.Ask: func(ctx context.Context, id string) error {
			answer, err := mcp.Elicit[call](ctx, id)
			if err == nil && answer.ID != id {
				err = fmt.Errorf("the client's answer to %q is %q", id, answer.ID)
			}
			return err
		},
		history.Task: func(context.Context, string) error {
			time.Sleep(time.Duration(rand.IntN(600)) * time.Millisecond)
			return nil
		},
		history.Steps: func(ctx context.Context, _ string) error {
			for i := range chaosSteps {
				mcp.Progress(ctx, float64(i+1), chaosSteps, "")
				time.Sleep(20 * time.Millisecond)
			}
			return nil
		},
	} {
		reads := kind == history.Read || kind == history.Steps
		mcp.AddToolWith(s, mcp.Tool{Name: string(kind), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: &reads}}, func(ctx context.Context, in call) (string, error) {
			if err := run(ctx, in.ID); err != nil {
				return "", err
			}
			h.Ran(in.ID)
			return "result " + in.ID, nil
		})
	}
	running, err := tasks.New(tasks.Options{Tools: map[string]tasks.Tool{string(history.Task): {}}, Poll: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = running.Close() })
	served := httptest.NewServer(streamable.Handler(running.Middleware()(s)))
	t.Cleanup(func() {
		served.CloseClientConnections()
		served.Close()
	})
	return served.URL
}

// chaosClient calls until the faults have ended, and a few times after that.
func chaosClient(t *testing.T, i int, f *fleet, h *history.History, withTasks bool, healed <-chan struct{}) {
	revision := everyRevision[1:][i%(len(everyRevision)-1)] // those with Streamable HTTP
	kinds := []history.Kind{history.Read, history.Effect, history.Steps}
	if revision >= "2025-06-18" {
		kinds = append(kinds, history.Ask)
	}
	if withTasks && revision == modern {
		kinds = append(kinds, history.Task)
	}
	name := fmt.Sprint("c", i)
	var c *mcp.Client
	defer func() {
		if c != nil {
			c.Close()
		}
	}()
	for n, final := 0, 0; final < 5; n++ {
		select {
		case <-healed:
			final++
		default:
		}
		if c == nil || c.Err() != nil {
			if c != nil {
				c.Close()
			}
			var err error
			if c, err = chaosDial(t, f, h, name, revision); err != nil {
				if c = nil; final > 0 {
					t.Errorf("%s cannot connect once the faults have ended: %v", name, err)
					return
				}
				time.Sleep(50 * time.Millisecond)
				continue
			}
		}
		op := history.Op{ID: fmt.Sprint(name, "-", n), Client: name, Revision: revision, Kind: kinds[rand.IntN(len(kinds))], Final: final > 0}
		chaosCall(t, c, &op)
		if h.Add(op); op.Outcome != history.Answered {
			time.Sleep(50 * time.Millisecond)
		}
	}
}

// chaosDial connects a client that answers a question with its text.
func chaosDial(t *testing.T, f *fleet, h *history.History, name, revision string) (*mcp.Client, error) {
	ctx, cancel := context.WithTimeout(t.Context(), chaosWait)
	defer cancel()
	counted := &http.Client{Transport: &arrivals{http.DefaultTransport.(*http.Transport).Clone(), h}}
	return mcp.DialWith(ctx, streamable.ClientWith(f.url, streamable.ClientOptions{HTTP: counted}), mcp.ClientOptions{
		Name: name, Revision: revision, Timeout: chaosWait, Capabilities: tasks.Capabilities(),
		OnElicit: func(_ context.Context, req mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: json.RawMessage(fmt.Sprintf(`{"id":%q}`, req.Message))}, nil
		},
	})
}

// chaosCall makes the call of an operation and notes how it ended.
func chaosCall(t *testing.T, c *mcp.Client, op *history.Op) {
	ctx, cancel := context.WithTimeout(t.Context(), chaosWait)
	defer cancel()
	ctx = mcp.WatchProgress(ctx, func(p mcp.ProgressUpdate) { op.Steps = append(op.Steps, int(p.Progress)) })
	op.Began = time.Now()
	r, task, err := tasks.Start(ctx, c, string(op.Kind), map[string]any{"id": op.ID})
	if task != nil {
		r, err = task.Wait(ctx)
	}
	op.Ended = time.Now()
	var refused *mcp.Error
	switch {
	case err == nil && !r.IsError:
		op.Outcome, op.Value = history.Answered, strings.TrimPrefix(r.Text(), "result ")
	case err == nil:
		op.Outcome, op.Error = history.Refused, r.Text()
	case errors.As(err, &refused):
		op.Outcome, op.Error = history.Refused, err.Error()
	default:
		op.Outcome, op.Error = history.Unknown, err.Error()
	}
}

// arrivals records the results in the responses to a client.
type arrivals struct {
	*http.Transport
	h *history.History
}

func (a *arrivals) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.Transport.RoundTrip(r)
	if err == nil {
		response.Body = &arriving{ReadCloser: response.Body, h: a.h}
	}
	return response, err
}

var resultText = regexp.MustCompile(`"text":"result ([^"]+)"`)

// arriving finds the results in a body, across the limits of reads.
type arriving struct {
	io.ReadCloser
	h    *history.History
	rest []byte
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.ReadCloser.Read(p)
	a.rest = append(a.rest, p[:n]...)
	for at := resultText.FindSubmatchIndex(a.rest); at != nil; at = resultText.FindSubmatchIndex(a.rest) {
		a.h.Arrived(string(a.rest[at[2]:at[3]]))
		a.rest = a.rest[at[1]:]
	}
	if len(a.rest) > 200 {
		a.rest = a.rest[len(a.rest)-200:]
	}
	return n, err
}

// auditedBy reads the audit logs of all replicas, and verifies them.
func auditedBy(t *testing.T, f *fleet) map[string][]history.Audited {
	t.Helper()
	all := map[string][]history.Audited{}
	for _, r := range f.all {
		verified := run(t, r.env, junction(t), "audit", "verify", r.audit)
		t.Logf("%s: %s", r.name, verified)
		for raw, err := range audit.Read(r.audit, audit.Filter{Kind: audit.KindCall}) {
			if err != nil {
				t.Fatal(err)
			}
			var line struct {
				Outcome   string
				Task      string
				Method    string
				Time      time.Time
				Arguments struct{ ID string }
			}
			if err := json.Unmarshal(raw, &line); err != nil {
				t.Fatal(err)
			}
			if id := line.Arguments.ID; id != "" {
				all[id] = append(all[id], history.Audited{Replica: r.name, Outcome: line.Outcome, Task: line.Task, Method: line.Method, Time: line.Time})
			}
		}
	}
	return all
}
