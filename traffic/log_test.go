package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
	"github.com/junction-mcp/junction/mcp/streamable"
)

// notes collects the messages that a watcher got, each as a few words.
type notes struct {
	mu    sync.Mutex
	more  sync.Cond
	lines []string // without notes
	all   []Event  // without notes
	notes []Event
}

func (n *notes) show(e *Event) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	arrow := "<-"
	if e.ToServer {
		arrow = "->"
	}
	defer n.more.Broadcast()
	if e.Kind == Note {
		n.notes = append(n.notes, *e)
		return nil
	}
	n.lines = append(n.lines, strings.TrimSpace(fmt.Sprintf("%d %s%s %s %s %s", e.Call, e.Hop, arrow, e.Kind, e.Method, e.Name)))
	n.all = append(n.all, *e)
	return nil
}

func (n *notes) showAll(events []*Event) error {
	for _, e := range events {
		one := *e
		one.Message = slices.Clone(e.Message)
		if err := n.show(&one); err != nil {
			return err
		}
	}
	return nil
}

// upTo waits until the last message has occurred so many times, and returns the messages of each
// hop.
func (n *notes) upTo(last string, times int) (client, server []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	came := func() (times int) {
		for _, line := range n.lines {
			if line == last {
				times++
			}
		}
		return times
	}
	for came() < times {
		n.more.Wait()
	}
	for _, line := range n.lines {
		switch {
		case strings.Contains(line, "subscriptions"), strings.Contains(line, "notifications/initialized"): // outside of calls, at any time
		case strings.Contains(line, " client"):
			client = append(client, line)
		default:
			server = append(server, line)
		}
	}
	return client, server
}

// watch collects messages until the test ends.
func watch(t *testing.T, l *Log) *notes {
	t.Helper()
	n := &notes{}
	n.more.L = &n.mu
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		if err := l.Watch(ctx, n.show); !errors.Is(err, context.Canceled) {
			t.Errorf("Watch returns %v", err)
		}
	})
	t.Cleanup(done.Wait)
	t.Cleanup(cancel)
	for !l.Clients().Watching() {
	}
	return n
}

type greeting struct {
	Name string `json:"name"`
}

// server returns a server with a tool that asks its user, and reports progress.
func server(t *testing.T) *mcp.Server {
	t.Helper()
	s := mcp.NewServer("test", "1")
	mcp.AddTool(s, "greet", func(ctx context.Context, in struct{}) (string, error) {
		_ = mcp.Progress(ctx, 1, 2, "asking")
		g, err := mcp.Elicit[greeting](ctx, "Who are you?")
		if err != nil {
			return "", err
		}
		return "hello " + g.Name, nil
	})
	mcp.AddTool(s, "fail", func(ctx context.Context, in struct{}) (string, error) { return "", errors.New("it failed") })
	return s
}

// between returns a client of a server behind a proxy, with l on both sides.
func between(t *testing.T, l *Log, h mcp.Handler, overHTTP bool, revisions [2]string) *mcp.Client {
	t.Helper()
	transport := func(h mcp.Handler, o mcp.ServeOptions) mcp.Transport {
		if !overHTTP {
			return stream.PipeWith(h, o)
		}
		endpoint := streamable.HandlerWith(h, streamable.Options{ServeOptions: o})
		site := httptest.NewServer(endpoint)
		t.Cleanup(site.Close)
		t.Cleanup(func() { endpoint.Close() })
		return streamable.Client(site.URL)
	}
	proxy, err := mcp.DialWith(t.Context(), transport(h, mcp.ServeOptions{}), mcp.ClientOptions{Bridge: true, Revision: revisions[1], Wire: l.Server("far"), OneClient: &mcp.Meta{Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{Form: &struct{}{}}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { proxy.Close() })
	c, err := mcp.DialWith(t.Context(), transport(proxy, mcp.ServeOptions{Wire: l.Clients()}), mcp.ClientOptions{Info: mcp.Implementation{Name: "me", Version: "2"}, Revision: revisions[0],
		OnProgress: func(mcp.ProgressUpdate) {},
		OnElicit: func(context.Context, mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: json.RawMessage(`{"name":"ann"}`)}, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

const modern, legacy = "2026-07-28", "2025-11-25"

func TestEveryMessageOfACallIsSeenOnBothSides(t *testing.T) {
	const (
		call, answer     = "request tools/call greet", "response tools/call greet"
		progress, elicit = "notification notifications/progress", "request elicitation/create"
		level, levelSet  = "1 server-> request logging/setLevel", "1 server<- response logging/setLevel"
	)
	rounds := []string{"1 client-> " + call, "1 client<- " + progress, "1 client<- " + answer, "1 client-> " + call, "1 client<- " + progress, "1 client<- " + answer}
	session := []string{"1 client-> " + call, "1 client<- " + progress, "1 client<- " + elicit, "0 client-> response", "1 client<- " + answer}
	for _, test := range []struct {
		client, server string
		http           bool
		atClient       []string
		atServer       []string
	}{
		{legacy, legacy, false, session, []string{level, levelSet, "1 server-> " + call, "1 server<- " + progress, "0 server<- " + elicit, "0 server-> response", "1 server<- " + answer}},
		{legacy, legacy, true, session, []string{level, levelSet, "1 server-> " + call, "1 server<- " + progress, "1 server<- " + elicit, "0 server-> response", "1 server<- " + answer}},
		{modern, modern, true, rounds, []string{"1 server-> " + call, "1 server<- " + progress, "1 server<- " + answer, "1 server-> " + call, "1 server<- " + progress, "1 server<- " + answer}},
		{modern, legacy, true, slices.Delete(slices.Clone(rounds), 4, 5), []string{"1 server-> " + call, "1 server<- " + progress, "1 server<- " + elicit, "0 server-> response", "1 server<- " + answer}},
		{legacy, modern, false, session, []string{"1 server-> " + call, "1 server<- " + progress, "1 server<- " + answer, "1 server-> " + call, "1 server<- " + progress, "1 server<- " + answer}},
	} {
		t.Run(fmt.Sprintf("client %s, server %s, HTTP %v", test.client, test.server, test.http), func(t *testing.T) {
			var l Log
			c := between(t, &l, server(t), test.http, [2]string{test.client, test.server})
			n := watch(t, &l)
			if r, err := c.CallTool(t.Context(), "greet", nil); err != nil || r.Text() != "hello ann" {
				t.Fatal(r, err)
			}
			last, times := test.atClient[len(test.atClient)-1], 0
			for _, line := range test.atClient {
				if line == last {
					times++
				}
			}
			atClient, atServer := n.upTo(last, times)
			if !slices.Equal(atClient, test.atClient) {
				t.Errorf("with the client:\n%s\nwant\n%s", strings.Join(atClient, "\n"), strings.Join(test.atClient, "\n"))
			}
			if !slices.Equal(atServer, test.atServer) {
				t.Errorf("with the server:\n%s\nwant\n%s", strings.Join(atServer, "\n"), strings.Join(test.atServer, "\n"))
			}
		})
	}
}

func TestMessagesAreShown(t *testing.T) {
	var l Log
	c := between(t, &l, server(t), true, [2]string{modern, modern})
	n := watch(t, &l)
	if r, err := c.CallTool(t.Context(), "fail", nil); err != nil || !r.IsError {
		t.Fatal(r, err)
	}
	n.upTo("1 client<- response tools/call fail", 1)
	first, last := n.all[0], n.all[len(n.all)-1]
	if first.Client != "me/2" || first.Revision != modern || first.Server != "" || first.Size != len(first.Message) || !strings.HasPrefix(string(first.Message), `{"jsonrpc":"2.0","id":`) {
		t.Errorf("the first message: %+v", first)
	}
	if last.Took <= 0 || last.Took != last.Time.Sub(first.Time) || string(last.ID) != string(first.ID) || !strings.Contains(string(last.Message), `"isError":true`) {
		t.Errorf("the last message: %+v", last)
	}
	if sent := n.all[1]; sent.Server != "far" || sent.Client != "" {
		t.Errorf("the message to the server: %+v", sent)
	}
}

func TestARequestThatGetsNoResponseIsSeen(t *testing.T) {
	begun := make(chan struct{})
	s := mcp.NewServer("test", "1")
	mcp.AddTool(s, "endless", func(ctx context.Context, in struct{}) (string, error) {
		close(begun)
		<-ctx.Done()
		return "", ctx.Err()
	})
	for _, http := range []bool{false, true} {
		begun = make(chan struct{})
		var l Log
		c := between(t, &l, s, http, [2]string{legacy, modern})
		n := watch(t, &l)
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() {
			<-begun
			cancel(errors.New("enough"))
		}()
		if _, err := c.CallTool(ctx, "endless", nil); err == nil {
			t.Fatal("it answered")
		}
		n.mu.Lock()
		failed := func(e Event) bool { return e.Kind == Failure }
		for !slices.ContainsFunc(n.all, failed) {
			n.more.Wait()
		}
		e := n.all[slices.IndexFunc(n.all, failed)]
		n.mu.Unlock()
		if e.Hop != Server || e.Method != "tools/call" || e.Name != "endless" || e.Fault == "" || e.Call != 1 || e.Took <= 0 {
			t.Errorf("%+v", e)
		}
	}
}

// message passes a message to a server to the watchers.
func message(l *Log, text string) {
	if w := l.Server("far"); w.Watching() {
		w.Passes(context.Background(), mcp.WireMessage{ToServer: true, Message: []byte(text)})
	}
}

func TestSecretsAreHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		n := watchIn(t, &l)
		message(&l, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":7},"arguments":{"password":"`+mark+`","deep":[{"api_key":"`+mark+`"}],"text":"sk-`+mark+`","url":"https://me:`+mark+`@h/?k=`+mark+`"}}}`)
		message(&l, `{"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"https://me:`+mark+`@h/p"}}`)
		message(&l, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"Bearer `+mark+`"}}`)
		l.Server("far").Passes(context.Background(), mcp.WireMessage{Err: errors.New("dial https://me:" + mark + "@h/: refused")})
		shown()
		if len(n.all) != 4 || strings.Contains(fmt.Sprintf("%+v %s %s", n.all, n.all[0].Message, n.all[1].Message), mark) {
			t.Errorf("%d: %+v %s", len(n.all), n.all, n.all[0].Message)
		}
		if token := `"progressToken":7`; !strings.Contains(string(n.all[0].Message), token) {
			t.Errorf("no %s in %s", token, n.all[0].Message)
		}
	})
}

// watchIn is like watch, in a synctest bubble.
func watchIn(t *testing.T, l *Log) *notes {
	n := &notes{}
	n.more.L = &n.mu
	go l.Watch(t.Context(), n.show)
	synctest.Wait()
	return n
}

// shown waits, in a bubble, until the queued messages were shown.
func shown() {
	time.Sleep(2 * watchPause)
	synctest.Wait()
}

func TestAMessageThatIsTooLargeIsNotShownButCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		n := watchIn(t, &l)
		long := `{"jsonrpc":"2.0","method":"n","params":{"text":"` + strings.Repeat("x", 2*maxShownText) + `"}}`
		message(&l, long)
		message(&l, `{"jsonrpc":"2.0","method":"n","params":{"texts":[`+strings.Repeat(`"`+strings.Repeat("x", maxShownText)+`",`, 20)+`""]}}`)
		message(&l, `no JSON`)
		shown()
		if e := n.all[0]; e.Size != len(long) || len(e.Message) > maxShownText+100 || !strings.Contains(string(e.Message), "…") {
			t.Errorf("%d bytes become %d", e.Size, len(e.Message))
		}
		if e := n.all[1]; e.Message != nil || e.Size < 20*maxShownText || e.Method != "n" {
			t.Errorf("%+v", e)
		}
		if e := n.all[2]; e.Kind != Failure || e.Message != nil || e.Fault == "" {
			t.Errorf("%+v", e)
		}
	})
}

func TestSlowReadersDelayNothingAndLearnOfGaps(t *testing.T) {
	for _, test := range []struct {
		name, text string
		sent       int
		seen       int
	}{
		{"many", `{"jsonrpc":"2.0","method":"n"}`, maxWaiting + 100, maxWaiting},
		{"large", `{"jsonrpc":"2.0","method":"n","params":{"text":"` + strings.Repeat("x", 1<<20) + `"}}`, 100, 31},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var l Log
				quick := watchIn(t, &l)
				hold, n := make(chan struct{}), &notes{}
				n.more.L = &n.mu
				go l.Watch(t.Context(), func(e *Event) error {
					<-hold
					return n.show(e)
				})
				synctest.Wait()
				for i := range test.sent { // no watcher delays it
					message(&l, test.text)
					if i%10 == 0 {
						shown() // the fast watcher keeps up
					}
				}
				close(hold)
				shown()
				message(&l, test.text)
				shown()
				missed := 0
				for _, e := range n.all {
					missed += e.Count
				}
				if got := len(n.all) - 1; got != test.seen+1 || missed != test.sent-test.seen {
					t.Errorf("seen %d, and missed %d, of %d", got, missed, test.sent)
				}
				if len(quick.all) != test.sent+1 {
					t.Errorf("the quick one saw %d", len(quick.all))
				}
			})
		})
	}
}

func TestClosedReadersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		enough := errors.New("enough")
		left := make(chan error, 1)
		go func() { left <- l.Watch(t.Context(), func(*Event) error { return enough }) }()
		synctest.Wait()
		message(&l, `{"jsonrpc":"2.0","method":"n"}`)
		if err := <-left; err != enough || l.Clients().Watching() || len(*l.watchers.Load()) != 0 {
			t.Errorf("%v, %d watch", err, len(*l.watchers.Load()))
		}
	})
}

func BenchmarkCall(b *testing.B) {
	for _, test := range []struct {
		name    string
		wired   bool
		watched bool
	}{{"without a wire", false, false}, {"nobody watches", true, false}, {"watched", true, true}} {
		b.Run(test.name, func(b *testing.B) {
			s := mcp.NewServer("test", "1")
			mcp.AddTool(s, "echo", func(_ context.Context, in greeting) (string, error) { return in.Name, nil })
			var l Log
			var o mcp.ServeOptions
			if test.wired {
				o.Wire = l.Clients()
			}
			c, err := mcp.DialWith(b.Context(), stream.PipeWith(s, o), mcp.ClientOptions{Revision: modern})
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			if test.watched {
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				go l.Watch(ctx, func(*Event) error { return nil })
				for !o.Wire.Watching() {
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.CallTool(b.Context(), "echo", greeting{"ann"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestMessagesBeforeTheEndAreShown(t *testing.T) {
	for range 20 {
		var l Log
		n := &notes{}
		n.more.L = &n.mu
		watch := l.Join(true)
		for range 3 {
			message(&l, `{"jsonrpc":"2.0","method":"n"}`)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := watch(ctx, n.showAll); !errors.Is(err, context.Canceled) || len(n.all) != 3 {
			t.Fatalf("%v after %d messages", err, len(n.all))
		}
	}
}

// noted returns the notes of a kind, of one hop.
func (n *notes) noted(kind, hop string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.notedNow(kind, hop)
}

// notedNow is like noted. The caller holds mu.
func (n *notes) notedNow(kind, hop string) (all []string) {
	for _, e := range n.notes {
		if e.Note == kind && e.Hop == hop && e.Method != "logging/setLevel" {
			all = append(all, string(e.Message))
		}
	}
	return all
}

func TestTheHeadersOfBothSidesAreNoted(t *testing.T) {
	for _, revision := range []string{legacy, modern} {
		var l Log
		c := between(t, &l, server(t), true, [2]string{revision, revision})
		n := watch(t, &l)
		if r, err := c.CallTool(t.Context(), "fail", nil); err != nil || !r.IsError {
			t.Fatal(r, err)
		}
		n.mu.Lock()
		for len(n.notedNow("http", Client)) < 1 { // under the lock, because the last one could come before Wait
			n.more.Wait()
		}
		n.mu.Unlock()
		for _, hop := range []string{Client, Server} {
			said := n.noted("http", hop)
			if len(said) != 1 || !strings.HasPrefix(said[0], `{"method":"POST","url":"http://127.0.0.1:`) || !strings.Contains(said[0], `"Content-Type":["application/json"]`) || !strings.Contains(said[0], `},"status":200,"responseHeaders":{"`) {
				t.Errorf("%s, with the %s: %s", revision, hop, said)
			}
		}
		for _, e := range n.notes {
			if e.Method == "logging/setLevel" {
				continue
			}
			if e.Call != 1 || e.Method != "tools/call" || e.Name != "fail" || e.Size != len(e.Message) || e.Hop == Client && e.Client != "me/2" || e.Hop == Server && e.Server != "far" {
				t.Errorf("%s: %+v", revision, e)
			}
		}
		for _, e := range n.all {
			if e.Transport != mcp.TransportHTTP && e.Method != "notifications/initialized" {
				t.Errorf("%s: %+v", revision, e)
			}
		}
	}
}

func TestEachRequestOfABatchHasTheHeadersThatCarriedIt(t *testing.T) {
	var l Log
	endpoint := streamable.HandlerWith(server(t), streamable.Options{Stateless: true, ServeOptions: mcp.ServeOptions{Wire: l.Clients()}})
	defer endpoint.Close()
	site := httptest.NewServer(endpoint)
	defer site.Close()
	n := watch(t, &l)
	const requests = 50
	batch := `[`
	for id := range requests {
		batch += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"},`, id)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, site.URL, strings.NewReader(strings.TrimSuffix(batch, ",")+`]`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}, "Mcp-Protocol-Version": {"2025-03-26"}}
	resp, err := http.DefaultClient.Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	resp.Body.Close()
	n.mu.Lock()
	defer n.mu.Unlock()
	for len(n.notedNow("http", Client)) < requests {
		n.more.Wait()
	}
	for _, said := range n.notedNow("http", Client) {
		if !strings.Contains(said, `"Mcp-Protocol-Version":["2025-03-26"]`) || !strings.Contains(said, `"status":200,"responseHeaders":{"`) {
			t.Error(said)
		}
	}
}

// TestNotesAreShownToObservers covers a note that cannot be encoded as JSON, and one
// without watchers.
func TestNotesAreShownToObservers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		n := watchIn(t, &l)
		ctx := l.Clients().Passes(t.Context(), mcp.WireMessage{ToServer: true, Message: []byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`)})
		mcp.NoteObserverOf(ctx, "odd").Note("odd", func() {})
		mcp.NoteObserverOf(ctx, "secret").Note("secret", map[string]string{"password": mark, "text": "sk-" + mark})
		shown()
		if odd := n.noted("odd", Client); len(odd) != 1 || odd[0] != `"json: unsupported type: func()"` {
			t.Error(odd)
		}
		if hidden := n.noted("secret", Client); len(hidden) != 1 || hidden[0] != `{"password":"***","text":"***"}` {
			t.Error(hidden)
		}
		if mcp.NoteObserverOf(t.Context(), "odd") != nil {
			t.Error("somebody watches a context that is no request's")
		}
	})
}

// TestRoundsAreForgotten checks that the stored rounds have a limit, and that an invented state
// matches none.
func TestRoundsAreForgotten(t *testing.T) {
	var r rounds
	request := func(n int) uint64 {
		return r.call(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"m","params":{"requestState":"s%d"}}`, n))
	}
	if got := request(1); got != 0 {
		t.Errorf("call %d", got)
	}
	for n := 1; n <= maxRounds+1; n++ {
		r.add(fmt.Appendf(nil, `{"id":1,"result":{"resultType":"input_required","requestState":"s%d"}}`, n), uint64(n))
	}
	r.add([]byte(`{"id":1,"result":{"resultType":"input_required"}}`), 7)
	r.add([]byte(`{"id":1,"result":{"requestState":"s0"}}`), 7)
	for n, want := range map[int]uint64{0: 0, 1: 0, 2: 2, maxRounds + 1: maxRounds + 1, maxRounds + 2: 0} {
		if got := request(n); got != want {
			t.Errorf("the state of call %d is that of call %d", n, got)
		}
	}
	if len(r.calls) != maxRounds {
		t.Errorf("%d calls are remembered", len(r.calls))
	}
}

// TestTheCallsOfTheProcessItselfHaveANumber checks that calls of this process and their notes share
// a number. Without watchers there is none.
func TestTheCallsOfTheProcessItselfHaveANumber(t *testing.T) {
	var l Log
	if n := l.Calling("chat", "far", "tools/call", "greet"); n != nil {
		t.Errorf("while nobody watches it is %v", n)
	}
	c, err := mcp.DialWith(t.Context(), stream.PipeWith(server(t), mcp.ServeOptions{}), mcp.ClientOptions{Wire: l.Server("far")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	n := watch(t, &l)
	calling := l.Calling("chat", "far", "tools/call", "fail")
	calling.Note("labels", map[string]string{"of": "call"})
	if r, err := c.CallTool(mcp.WithNoteObserver(t.Context(), calling), "fail", nil); err != nil || !r.IsError {
		t.Fatal(r, err)
	}
	calling.Note("labels", map[string]string{"of": "result"})
	if _, got := n.upTo("1 server<- response tools/call fail", 1); !slices.Equal(got, []string{"1 server-> request tools/call fail", "1 server<- response tools/call fail"}) {
		t.Errorf("got %q", got)
	}
	n.mu.Lock()
	for len(n.notes) < 2 {
		n.more.Wait()
	}
	n.mu.Unlock()
	for i, e := range n.notes {
		if want := []string{`{"of":"call"}`, `{"of":"result"}`}[i]; e.Note != "labels" || string(e.Message) != want || e.Call != 1 || e.Hop != Client || e.Client != "chat" || e.Server != "far" || e.Method != "tools/call" || e.Name != "fail" || len(e.ID) > 0 {
			t.Errorf("note %d: %+v", i, e)
		}
	}
}

// TestAnEventIsWrittenAsEncodingJSONDoes checks that encoding/json produces and reads the same text
// as AppendJSON.
func TestAnEventIsWrittenAsEncodingJSONDoes(t *testing.T) {
	full := Event{Time: time.Date(2026, 11, 26, 1, 2, 3, 4_500, time.FixedZone("", 3600)), Kind: Response, Hop: Server, ToServer: true, Server: "s\"1", Client: "c/1", Revision: modern, Call: 1<<64 - 1, ID: json.RawMessage(`"a"`),
		Method: "m\n", Name: "é", Took: 17, Size: 3, Message: json.RawMessage(`{"a":[1]}`), Fault: "f", Note: "n", Legacy: true, Transport: "http", Count: 2}
	for field, value := range reflect.ValueOf(full).Fields() {
		if field.IsExported() && field.Tag.Get("json") != "-" && value.IsZero() {
			t.Errorf("%s is not tested", field.Name)
		}
	}
	for _, e := range []Event{full, {}, {Time: full.Time, Kind: Dropped, Count: -1}} {
		want, err := json.Marshal(&e)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.AppendJSON([]byte("x ")); string(got) != "x "+string(want) {
			t.Errorf("got  %s\nwant   %s", got, want)
		}
	}
}

// TestNotesAreOptional checks that notes are made on demand: they cost more than
// half of a shown call, and most watchers do not want them.
func TestNotesAreOptional(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Log
		var kinds [2][]string
		call := func() (observer mcp.NoteObserver) {
			ctx := l.Clients().Passes(t.Context(), mcp.WireMessage{ToServer: true, Message: []byte(`{"jsonrpc":"2.0","id":1,"method":"m"}`)})
			ctx = l.Server("far").Passes(ctx, mcp.WireMessage{ToServer: true, Message: []byte(`{"jsonrpc":"2.0","id":2,"method":"m"}`)})
			if observer = mcp.NoteObserverOf(ctx, "some"); observer != nil {
				observer.Note("some", 1)
			}
			return observer
		}
		see := func(ctx context.Context, which int) {
			go l.Join(which == 1)(ctx, func(events []*Event) error {
				for _, e := range events {
					kinds[which] = append(kinds[which], fmt.Sprintf("%s %d", e.Kind, e.Call))
				}
				return nil
			})
			synctest.Wait()
		}
		see(t.Context(), 0)
		if call() != nil {
			t.Error("a note is wanted")
		}
		both, leave := context.WithCancel(t.Context())
		see(both, 1)
		call()
		shown()
		leave()
		synctest.Wait()
		if call() != nil {
			t.Error("a note is wanted still")
		}
		shown()
		if got := fmt.Sprint(kinds); got != "[[request 1 request 1 request 2 request 2 request 3 request 3] [request 2 request 2 note 2]]" {
			t.Error(got)
		}
	})
}

// TestNotesThatManyRequestsHaveAreShown checks that a shared note is redacted once, and shown like
// any other: without secrets, and after [Log.Hide].
func TestNotesThatManyRequestsHaveAreShown(t *testing.T) {
	var l Log
	note := json.RawMessage(`{"url":"https://me:s3cret@h.example/","requestHeaders":{"Accept":["*/*"]}}`)
	const shown = `{"url":"https://***@h.example/","requestHeaders":{"Accept":["*/*"]}}`
	hidden := json.RawMessage(`{"url":"hidden"}`)
	var hides atomic.Bool
	l.Hide(func(e *Event) json.RawMessage {
		if hides.Load() {
			return hidden
		}
		return e.Message
	})
	watch := l.Join(true)
	ctx, cancel := context.WithCancel(t.Context())
	var got []Event
	took := make(chan bool, 100)
	ended := make(chan error)
	go func() {
		ended <- watch(ctx, func(events []*Event) error {
			for _, e := range events {
				one := *e
				one.Message = slices.Clone(e.Message)
				got = append(got, one)
				took <- true
			}
			return nil
		})
	}()
	n := l.Calling("c", "s", "tools/call", "t")
	for range 3 {
		n.Note("http", note)
		<-took
	}
	hides.Store(true)
	n.Note("http", note)
	<-took
	for i := range 3 * maxShared { // others, so that it is dropped
		n.Note("http", json.RawMessage(strconv.Itoa(i)))
		<-took
	}
	hides.Store(false)
	n.Note("http", note)
	<-took
	cancel()
	<-ended
	for i, e := range got {
		want := shown
		if i >= 3 && i < len(got)-1 {
			want = string(hidden)
		}
		if string(e.Message) != want || e.Kind != Note || e.Size == 0 {
			t.Errorf("note %d: %+v %s", i, e, e.Message)
		}
	}
	if len(got) != 5+3*maxShared || !got[1].Shared || got[3].Shared {
		t.Errorf("%d notes", len(got))
	}
}
