package cases

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stream"
)

// sample returns a server with everything that the cases expect.
func sample() *mcp.Server {
	s := mcp.NewServer("sample", "1.0")
	type item struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
	count := 0
	mcp.AddTool(s, "create", func(_ context.Context, in struct {
		Name string `json:"name"`
	}) (item, error) {
		count++
		return item{count, in.Name}, nil
	})
	mcp.AddTool(s, "show", func(_ context.Context, in struct {
		ID int `json:"id"`
	}) (string, error) {
		if in.ID > count {
			return "", fmt.Errorf("there is no item %d", in.ID)
		}
		return fmt.Sprintf("item %d\nof %d", in.ID, count), nil
	})
	mcp.AddTool(s, "work", func(ctx context.Context, _ struct{}) (string, error) {
		for i := range 3 {
			if err := mcp.Progress(ctx, float64(i+1), 3, "working"); err != nil {
				return "", err
			}
		}
		return "done", mcp.Log(ctx, mcp.LogWarning, map[string]any{"n": 7})
	})
	mcp.AddTool(s, "greet", func(ctx context.Context, _ struct{}) (string, error) {
		who, err := mcp.Elicit[struct {
			Name string `json:"name"`
		}](ctx, "Who are you?")
		if errors.Is(err, mcp.ErrDeclined) {
			return "nobody", nil
		}
		return "Hello " + who.Name, err
	})
	mcp.AddTool(s, "think", func(ctx context.Context, _ struct{}) (string, error) {
		said, err := mcp.Sample(ctx, mcp.CreateMessageRequest{MaxTokens: 10, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.SamplingContent{mcp.Text("say")}}}})
		if err != nil {
			return "", err
		}
		return said.Content[0].Text, nil
	})
	mcp.AddTool(s, "roots", func(ctx context.Context, _ struct{}) (string, error) {
		roots, err := mcp.Roots(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(len(roots), " ", roots[0].URI), nil
	})
	mcp.AddTool(s, "learn", func(context.Context, struct{}) (string, error) {
		mcp.AddTool(s, "learned", func(context.Context, struct{}) (string, error) { return "", nil })
		s.ResourceUpdated("x://text")
		return "learned", nil
	})
	mcp.AddTool(s, "numbers", func(context.Context, struct{}) ([]int, error) { return []int{1, 2}, nil }) // older revisions have no schema for it
	s.AddText(mcp.Resource{URI: "x://text", Name: "text"}, "the text")
	mcp.AddPrompt(s, "ask", func(_ context.Context, in struct {
		About string `json:"about"`
	}) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("Tell of " + in.About)}}}, nil
	})
	s.AddCompletion(mcp.CompletionReference{Type: mcp.RefPrompt, Name: "ask"}, mcp.CompleteFrom(map[string][]string{"about": {"Oslo", "Bergen"}}))
	return s
}

// connectTo returns a Connect function that starts a new server each time.
func connectTo(server func() *mcp.Server, starts *atomic.Int64) func(context.Context, Server, string) (*Target, error) {
	return func(_ context.Context, s Server, _ string) (*Target, error) {
		if s.Name == "broken" {
			return &Target{Transport: broken{}, Kind: Stdio}, nil
		}
		if starts != nil {
			starts.Add(1)
		}
		return &Target{Transport: stream.Pipe(server()), Kind: Stdio}, nil
	}
}

// A broken server refuses connections.
type broken struct{}

func (broken) Connect(context.Context, mcp.ConnectOptions) (mcp.Conn, error) {
	return nil, errors.New("it does not start")
}
func (broken) String() string { return "broken" }

// write writes a file of cases, and loads it.
func write(t *testing.T, name, text string) *File {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func run(t *testing.T, f *File, o Options) *FileReport {
	t.Helper()
	if o.Connect == nil {
		o.Connect = connectTo(sample, nil)
	}
	return Run(t.Context(), []*File{f}, o)[0]
}

// failures returns the failures of all cases, a line each, with the case's name.
func failures(r *FileReport) []string {
	var all []string
	for _, cell := range r.Cells {
		for _, c := range cell.Cases {
			for _, text := range c.Failures {
				line, _, _ := strings.Cut(text, "\n")
				all = append(all, c.Name+" ["+cell.String()+"]: "+line)
			}
		}
	}
	return all
}

// everything has each kind of request, expectation and reply. All its cases pass.
const everything = `
server: sample
answers:
  sample: beep
cases:
- case: a value is used later
  steps:
  - tool: create
    arguments: {name: Ada}
    capture: {id: /structuredContent/id, digits: {at: /content/0/text, matches: '"id":(\d+)'}}
    expect:
      structured: {at: {/name: Ada, /id: {matches: '^\d+$'}}}
      within: 10s
  - tool: show
    arguments: {id: '{{id}}'}
    expect: {text: {contains: ['item {{digits}}', of]}}
- case: a failure of a tool
  tool: show
  arguments: {id: 1000}
  expect: {isError: true, text: there is no item 1000}
- case: an error of the protocol
  tool: nothing
  expect: {error: {code: -32602, message: {contains: nothing}, data: {absent: true}}}
- case: notifications
  tool: work
  expect:
    text: done
    notifications:
    - progress: {contains: {progress: 1, total: 3}}
    - progress: {at: {/progress: 3, /message: working}}
    - log: {at: {/level: warning, /data/n: 7}}
- case: forms
  answers: {elicit: [{accept: {name: Grace}}, decline]}
  steps:
  - {tool: greet, expect: {text: Hello Grace, asked: [{elicit: {at: {/message: 'Who are you?'}}}]}}
  - {tool: greet, expect: {text: nobody}}
- {case: a model, tool: think, expect: {text: beep, asked: {sample: {at: {/maxTokens: 10}}}}}
- case: roots
  answers: {roots: ['{{dir}}', file:///x]}
  tool: roots
  expect: {text: {matches: '^2 file:///.*'}, asked: {roots: null}}
- case: changes
  tool: learn
  expect: {notifications: [{changed: tools}, {updated: 'x://text'}]}
- {case: a resource, read: 'x://text', expect: {text: the text, result: {at: {/contents/0/uri: 'x://text'}}}}
- {case: a prompt, prompt: ask, arguments: {about: Oslo}, expect: {text: Tell of Oslo}}
- {case: a completion, complete: {prompt: ask, argument: about, value: os}, expect: {result: {at: {/completion/values: [Oslo]}}}}
- {case: a list, list: tools, expect: {result: {at: {/tools: {contains: {name: learned}, lacks: {name: nothing}}}}}}
- {case: a request, request: resources/list, params: {}, expect: {result: {contains: {resources: [{uri: 'x://text'}]}}}}
`

func TestEverythingThatCasesCanSayHoldsAtEachRevisionOverEachTransport(t *testing.T) {
	noneLeft(t)
	r := run(t, write(t, "x.yaml", everything), Options{Revisions: []string{All}, Transports: []string{All}})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if got := failures(r); len(got) > 0 {
		t.Errorf("failed:\n%s", strings.Join(got, "\n"))
	}
	var cells []string
	for _, cell := range r.Cells {
		cells = append(cells, cell.String())
		if n := len(cell.Cases); n != 13 && cell.Skipped == "" {
			t.Errorf("%s: %d cases were run", cell.String(), n)
		}
	}
	want := "2026-07-28, stdio|2026-07-28, http|2026-07-28, sse|2025-11-25, stdio|2025-11-25, http|2025-11-25, sse|2025-06-18, stdio|2025-06-18, http|2025-06-18, sse|2025-03-26, stdio|2025-03-26, http|2025-03-26, sse|2024-11-05, stdio|2024-11-05, http|2024-11-05, sse"
	if got := strings.Join(cells, "|"); got != want {
		t.Errorf("runs:\n%s\nwant\n%s", got, want)
	}
	if got := r.Cells[2].Skipped; got != "2026-07-28 has no HTTP+SSE" {
		t.Errorf("skipped: %q", got)
	}
}

func TestUnexpectedResultsFailWithTheReason(t *testing.T) {
	for text, want := range map[string]string{
		"tool: show, arguments: {id: 0}, expect: {text: \"item 0\\nof 1\\n3\\n4\\n5\\n6\"}":    "tool show: text: it is not as expected\n--- want\n+++ got\n@@ -1,6 +1,2 @@\n item 0\n-of 1\n-3\n-4\n-5\n-6\n+of 0",
		"tool: create, arguments: {name: a}, expect: {structured: {equals: {id: 2, name: a}}}": `tool create: structured: expected {"id":2,"name":"a"}, got {"id":1,"name":"a"}`,
		"tool: show, arguments: {id: 5}":                              "tool show: the tool failed (isError): there is no item 5",
		"tool: create, arguments: {name: a}, expect: {isError: true}": "tool create: expected a failure (isError), got the result: content:",
		"tool: nothing": "tool nothing: error -32602: unknown tool \"nothing\"; tools/list names those that exist",
		"tool: nothing, expect: {error: {code: 1}}":                                                 "tool nothing: the error's code: expected 1, got -32602: unknown tool",
		"tool: nothing, expect: {error: {message: other}}":                                          "tool nothing: the error's message: expected \"other\", got ",
		"tool: work, expect: {error: {}}":                                                           "tool work: expected an error, got the result: content:",
		"tool: work, expect: {within: 1ns}":                                                         "tool work: expected it within 1ns, took ",
		"tool: work, expect: {notifications: [{progress: {at: {/progress: 3}}}, {progress: null}]}": "tool work: notifications: expected progress, and none came",
		"tool: work, expect: {notifications: [{log: {at: {/level: error}}}]}":                       "tool work: notifications: expected log that fits, and there came only\n{\"data\":{\"n\":7},\"level\":\"warning\"}",
		"tool: work, expect: {notifications: [{changed: tools}]}":                                   "tool work: notifications: expected changed tools, and none came",
		"tool: greet, answers: {elicit: []}":                                                        "tool greet: the tool failed (isError): ",
		"tool: greet, answers: {elicit: [decline, cancel]}":                                         "answers: elicit has 2, but the server asked for 1",
		"tool: work, expect: {asked: {elicit: null}}":                                               "tool work: asked: expected elicit, and none came",
		"tool: work, capture: {id: /structuredContent/id}":                                          "tool work: capture id: there is nothing at /structuredContent/id in {\"content\":",
		"tool: work, capture: {id: {at: /content/0/text, matches: '\\d'}}":                          `tool work: capture id: "done" does not match \d`,
		"tool: work, expect: {meta: {absent: true}}":                                                `tool work: meta: expected nothing, got {"io.modelcontextprotocol/serverInfo":`,
		"tool: work, expect: {structured: 1}":                                                       "tool work: structured: there is nothing",
		"steps: [{tool: work}, {tool: work, expect: {text: a}}, {tool: nothing}]":                   "step 2, line 3, tool work: text: expected \"a\", got \"done\"",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			r := run(t, write(t, "x.yaml", "server: x\ncases:\n- {case: a, "+text+"}\n"), Options{late: 100 * time.Millisecond})
			if r.Err != nil || len(r.Cells) != 1 || len(r.Cells[0].Cases) != 1 {
				t.Fatalf("%+v", r)
			}
			got := r.Cells[0].Cases[0].Failures
			if len(got) == 0 || !strings.HasPrefix(got[0], want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestUnansweredRequestsFailTheCase(t *testing.T) {
	r := run(t, write(t, "x.yaml", "server: x\ncases:\n- {case: a, tool: greet, answers: {elicit: []}}\n"), Options{})
	got := r.Cells[0].Cases[0].Failures
	if len(got) != 2 || !strings.HasPrefix(got[1], "tool greet: the server asked (elicit), and the case has no answer to it: {") {
		t.Errorf("got %q", got)
	}
}

// TestAListIsLimitedInMemory covers small values, which take many times more memory than
// on the wire.
func TestAListIsLimitedInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine reads a list of 64 MiB")
	}
	h := mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		switch req.Method {
		case "server/discover":
			return mcp.Result{JSON: []byte(`{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)}, nil
		case "tools/list":
			return mcp.Result{JSON: []byte(`{"tools":[` + strings.Repeat(`{"name":"a"},`, 600_000) + `{"name":"a"}]}`)}, nil
		}
		return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "there is no %s", req.Method)
	})
	f := write(t, "x.yaml", "server: x\ncases:\n- {case: a, list: tools, expect: {result: {at: {/tools/0: {equals: {name: a}}}}}}\n")
	got := failures(run(t, f, Options{Connect: func(context.Context, Server, string) (*Target, error) {
		return &Target{Transport: stream.Pipe(h), Kind: Stdio}, nil
	}}))
	if want := []string{"a [2026-07-28, stdio]: list tools: no response: the list takes more than 64 MiB"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAFreshServerForEachFileOrCase(t *testing.T) {
	const text = "server: x\ncases:\n- {case: a, tool: create, arguments: {name: a}, expect: {structured: {at: {/id: 1}}}}\n- {case: b, tool: create, arguments: {name: a}, expect: {structured: {at: {/id: ID}}}}\n"
	for each, want := range map[string]int64{"file": 2, "case": 3} { // one start determines the transport
		var starts atomic.Int64
		id := map[string]string{"file": "2", "case": "1"}[each]
		r := run(t, write(t, "x.yaml", "each: "+each+"\n"+strings.Replace(text, "ID", id, 1)), Options{Connect: connectTo(sample, &starts)})
		if got := failures(r); len(got) > 0 || starts.Load() != want {
			t.Errorf("%s: %q, %d starts, want %d", each, got, starts.Load(), want)
		}
	}
}

func TestAServerThatEndsIsStartedAgainForTheNextCase(t *testing.T) {
	connect := func(ctx context.Context, _ Server, _ string) (*Target, error) {
		s := sample()
		one := &cuttable{}
		mcp.AddTool(s, "crash", func(ctx context.Context, _ struct{}) (string, error) {
			go func() { _ = one.conn.Load().Close() }() // which waits for this handler
			<-ctx.Done()
			return "", ctx.Err()
		})
		one.Transport = stream.Pipe(s)
		return &Target{Transport: one, Kind: Stdio}, nil
	}
	r := run(t, write(t, "x.yaml", "server: x\ncases:\n- {case: a, tool: crash}\n- {case: b, tool: work}\n"), Options{Connect: connect})
	if got := failures(r); len(got) != 1 || !strings.HasPrefix(got[0], "a [2026-07-28, stdio]: tool crash: no response: ") {
		t.Errorf("got %q", got)
	}
}

// cuttable keeps the connection, so that a test can close it.
type cuttable struct {
	mcp.Transport
	conn atomic.Pointer[held]
}

type held struct{ mcp.Conn }

func (s *cuttable) Connect(ctx context.Context, o mcp.ConnectOptions) (mcp.Conn, error) {
	c, err := s.Transport.Connect(ctx, o)
	if err == nil {
		s.conn.Store(&held{c})
	}
	return c, err
}

func TestRevisionsAndTransportsThatThereAreNot(t *testing.T) {
	only := func(revision string) func(context.Context, Server, string) (*Target, error) {
		return func(context.Context, Server, string) (*Target, error) {
			return &Target{Transport: speaks{stream.Pipe(sample()), revision}, Kind: Stdio}, nil
		}
	}
	const text = "server: x\ncases:\n- {case: a, tool: work}\n- {case: b, tool: work, revisions: [2025-06-18], transports: [stdio]}\n"
	r := run(t, write(t, "x.yaml", text), Options{Connect: only("2025-06-18"), Revisions: []string{All}})
	var said []string
	for _, cell := range r.Cells {
		said = append(said, cell.Revision+" "+cell.Skipped)
	}
	if want := []string{"2026-07-28 the server does not support 2026-07-28", "2025-11-25 the server does not support 2025-11-25", "2025-06-18 ", "2025-03-26 the server does not support 2025-03-26", "2024-11-05 the server does not support 2024-11-05"}; r.Err != nil || !slices.Equal(said, want) {
		t.Errorf("all: %q, %v", said, r.Err)
	}
	r = run(t, write(t, "x.yaml", text), Options{Connect: only("2025-06-18"), Revisions: []string{"2025-03-26"}})
	if got := failures(r); len(got) != 1 || !strings.HasPrefix(got[0], "connect [2025-03-26, stdio]: ") {
		t.Errorf("one that is not spoken: %q, %v", got, r.Err)
	}
	r = run(t, write(t, "x.yaml", text), Options{Transports: []string{"http"}})
	if c := r.Cells[0].Cases; len(failures(r)) > 0 || c[0].Skipped != "" || c[1].Skipped != "not for 2026-07-28, http" {
		t.Errorf("a case of another transport: %+v", c)
	}
	r = run(t, write(t, "x.yaml", text), Options{Connect: func(context.Context, Server, string) (*Target, error) {
		return &Target{Transport: stream.Pipe(sample()), Kind: HTTP}, nil
	}, Transports: []string{"stdio", "http"}})
	if len(r.Cells) != 2 || r.Cells[0].Skipped != "the server is reached by http" || r.Cells[1].Skipped != "" {
		t.Errorf("a transport of another server: %+v", r.Cells)
	}
}

// speaks is a server with one revision.
type speaks struct {
	mcp.Transport
	revision string
}

func (s speaks) Connect(ctx context.Context, o mcp.ConnectOptions) (mcp.Conn, error) {
	if o.Revision == "" {
		o.Revision = s.revision
	}
	if o.Revision != s.revision {
		return nil, &mcp.RevisionError{Server: "s", Revision: o.Revision}
	}
	return s.Transport.Connect(ctx, o)
}

func TestAServerThatEndsAtOneRevisionHasFailedThere(t *testing.T) {
	connect := func(context.Context, Server, string) (*Target, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			for lines := bufio.NewScanner(far); lines.Scan(); {
				var m struct {
					ID     json.RawMessage
					Method string
					Params struct{ ProtocolVersion string }
				}
				answer := `"result":{"content":[{"type":"text","text":"hi"}]}`
				switch err := json.Unmarshal(lines.Bytes(), &m); {
				case err != nil:
					return
				case m.ID == nil:
					continue
				case m.Method == "server/discover":
					answer = `"error":{"code":-32601,"message":"Method not found"}`
				case m.Method == "initialize" && m.Params.ProtocolVersion == "2025-06-18":
					return // the server crashes
				case m.Method == "initialize" && m.Params.ProtocolVersion == "2025-03-26":
					answer = `"error":{"code":-32602,"message":"Unsupported protocol version"}`
				case m.Method == "initialize" && m.Params.ProtocolVersion == "2024-11-05":
					answer = `"error":{"code":-32603,"message":"it crashes, and says so"}`
				case m.Method == "initialize":
					answer = `"result":{"protocolVersion":"` + m.Params.ProtocolVersion + `","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
				}
				if _, err := fmt.Fprintf(far, `{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer); err != nil {
					return
				}
			}
		}()
		return &Target{Transport: stream.Over(near, "s"), Kind: Stdio}, nil
	}
	r := run(t, write(t, "x.yaml", "server: x\ncases: [{case: a, tool: b, expect: {text: hi}}]\n"), Options{Connect: connect, Revisions: []string{All}})
	var said []string
	for _, cell := range r.Cells {
		one := cell.Revision + " " + cell.Skipped
		for _, c := range cell.Cases {
			one += fmt.Sprint(c.Name, " ", len(c.Failures))
		}
		said = append(said, one)
	}
	if want := []string{"2026-07-28 the server does not support 2026-07-28", "2025-11-25 a 0", "2025-06-18 connect 1", "2025-03-26 the server does not support 2025-03-26", "2024-11-05 connect 1"}; r.Err != nil || !slices.Equal(said, want) {
		t.Errorf("got %q, %v", said, r.Err)
	}
}

func TestUnreachableServersAreErrorsNotFailures(t *testing.T) {
	for _, o := range []Options{{}, {Revisions: []string{All}}, {Revisions: []string{"2025-06-18"}, Transports: []string{All}}} {
		r := run(t, write(t, "x.yaml", "server: broken\ncases: [{case: a, tool: work}]\n"), o)
		if r.Err == nil || !strings.Contains(r.Err.Error(), "it does not start") || len(failures(r)) > 0 {
			t.Errorf("%+v", r)
		}
	}
	r := run(t, write(t, "x.yaml", "cases: [{case: a, tool: work}]\n"), Options{})
	if r.Err == nil || r.Err.Error() != "no server: the file names none, and neither does the command line" {
		t.Errorf("no server: %v", r.Err)
	}
}

func TestFilesRunInParallelAndAreReportedInOrder(t *testing.T) {
	noneLeft(t)
	var files []*File
	for i := range 6 {
		files = append(files, write(t, fmt.Sprintf("%d.yaml", i), "server: x\ncases:\n- {case: a, tool: work}\n- {case: b, tool: nothing}\n"))
	}
	var heard []string
	reports := Run(t.Context(), files, Options{Connect: connectTo(sample, nil), Parallel: 3, Names: regexp.MustCompile("^a$"), OnFile: func(r *FileReport) { heard = append(heard, filepath.Base(r.Path)) }})
	if got := strings.Join(heard, " "); got != "0.yaml 1.yaml 2.yaml 3.yaml 4.yaml 5.yaml" {
		t.Errorf("heard of %s", got)
	}
	if got := Count(reports); got != (Counts{Passed: 6}) {
		t.Errorf("got %+v", got)
	}
}

// TestTheRunsOfAFileRunInParallel checks that a program is started for each run of a file, so that
// runs are concurrent.
func TestTheRunsOfAFileRunInParallel(t *testing.T) {
	noneLeft(t)
	for _, test := range []struct {
		name     string
		kind     string
		parallel int
		update   bool
		together int
	}{{"a program", Stdio, 4, false, 4}, {"a few at a time", Stdio, 2, false, 2}, {"one at a time", Stdio, 1, false, 1}, {"a server that others use", HTTP, 4, false, 1}, {"snapshots are written in order", Stdio, 4, true, 1}} {
		t.Run(test.name, func(t *testing.T) {
			var running, most atomic.Int32
			var all sync.Once
			met := make(chan struct{}) // closed when the maximum number runs
			s := sample()
			mcp.AddTool(s, "meet", func(ctx context.Context, _ struct{}) (string, error) {
				n := running.Add(1)
				defer running.Add(-1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				if n == int32(test.together) {
					all.Do(func() { close(met) })
				}
				<-met
				return "met", nil
			})
			connect := func(context.Context, Server, string) (*Target, error) {
				return &Target{Transport: stream.Pipe(s), Kind: test.kind}, nil
			}
			f := write(t, "x.yaml", "server: x\nrevisions: [2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26]\ncases: [{case: a, tool: meet}, {case: b, tool: nothing}]\n")
			r := run(t, f, Options{Connect: connect, Parallel: test.parallel, Update: test.update})
			var said []string
			for _, cell := range r.Cells {
				said = append(said, fmt.Sprint(cell.Revision, " ", len(cell.Cases)))
			}
			if want := []string{"2026-07-28 2", "2025-11-25 2", "2025-06-18 2", "2025-03-26 2"}; r.Err != nil || !slices.Equal(said, want) || len(failures(r)) != 4 {
				t.Errorf("got %q, %q, %v", said, failures(r), r.Err)
			}
			if most.Load() != int32(test.together) {
				t.Errorf("%d ran at the same time, want %d", most.Load(), test.together)
			}
		})
	}
}

func TestARunThatIsCancelledEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := sample()
	mcp.AddTool(s, "wait", func(ctx context.Context, _ struct{}) (string, error) {
		cancel()
		<-ctx.Done()
		return "", ctx.Err()
	})
	f := write(t, "x.yaml", "server: x\ncases:\n- {case: a, tool: wait}\n- {case: b, tool: work}\n")
	r := Run(ctx, []*File{f}, Options{Connect: connectTo(func() *mcp.Server { return s }, nil)})[0]
	if r.Err == nil || len(r.Cells) != 1 || len(r.Cells[0].Cases) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestPlaceholdersInCommands(t *testing.T) {
	f := write(t, "x.txtar", "-- note.txt --\nhello\n-- cases.yaml --\nserver: {command: [run, '{{dir}}/note.txt', '{{here}}'], env: {AT: '{{dir}}'}}\ncases: [{case: a, tool: work}]\n")
	var got Server
	var dir string
	var text []byte
	r := run(t, f, Options{Connect: func(_ context.Context, s Server, in string) (*Target, error) {
		got, dir = s, in
		text, _ = os.ReadFile(s.Command[1])
		return &Target{Transport: stream.Pipe(sample()), Kind: Stdio}, nil
	}})
	if len(failures(r)) > 0 || string(text) != "hello\n" || got.Command[1] != dir+"/note.txt" || got.Command[2] != filepath.Dir(f.Path) || got.Env["AT"] != dir {
		t.Errorf("%+v: %q, %+v", r, text, got)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}
