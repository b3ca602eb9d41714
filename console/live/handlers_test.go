package live

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/junction-mcp/junction/traffic"
)

// routes returns the routes of a ring.
func routes(r *Ring) http.Handler {
	mux := http.NewServeMux()
	r.Mount(mux.Handle)
	return mux
}

// asked returns the body of the response to a request.
func asked(t *testing.T, r *Ring, method, path string, status int) string {
	t.Helper()
	w := httptest.NewRecorder()
	routes(r).ServeHTTP(w, httptest.NewRequest(method, path, nil))
	if w.Code != status {
		t.Fatalf("%s %s: status %d, want %d: %s", method, path, w.Code, status, w.Body)
	}
	return w.Body.String()
}

// read decodes the response to a request.
func read[T any](t *testing.T, r *Ring, path string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(asked(t, r, "GET", path, http.StatusOK)), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// conversation adds messages of two calls: one of Claude that leads to files and fails, and one of
// Cursor that leads nowhere.
func conversation(r *Ring) {
	at := began
	add := func(pid int, e traffic.Event) {
		at = at.Add(time.Millisecond)
		if e.Time.IsZero() {
			e.Time = at
		}
		if e.Took > 0 {
			e.Time = at
		}
		e.Size = len(e.Message)
		r.Add(pid, &e)
	}
	const call = "tools/call"
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	add(7, traffic.Event{Kind: traffic.Request, Hop: traffic.Client, ToServer: true, Client: "Claude/1", Method: call, Name: "files__read", Call: 1, ID: raw(`1`), Message: raw(`{"params":{"arguments":{"path":"Notes \"x\""}}}`)})
	add(7, traffic.Event{Kind: traffic.Note, Hop: traffic.Client, Method: call, Name: "files__read", Call: 1, Note: "policy", Message: raw(`{"effect":"allow","rule":"all"}`)})
	add(7, traffic.Event{Kind: traffic.Request, Hop: traffic.Server, ToServer: true, Server: "files", Method: call, Name: "read", Call: 1, ID: raw(`9`), Message: raw(`{"params":{}}`)})
	add(7, traffic.Event{Kind: traffic.Response, Hop: traffic.Server, Server: "files", Method: call, Name: "read", Call: 1, ID: raw(`9`), Took: time.Millisecond, Message: raw(`{"result":{"isError":true}}`)})
	add(7, traffic.Event{Kind: traffic.Response, Hop: traffic.Client, Client: "Claude/1", Method: call, Name: "files__read", Call: 1, ID: raw(`1`), Took: 4 * time.Millisecond, Message: raw(`{"result":{"isError":true}}`)})
	add(8, traffic.Event{Kind: traffic.Request, Hop: traffic.Client, ToServer: true, Client: "Cursor/2", Method: "tools/list", Call: 1, ID: raw(`"a"`), Message: raw(`{"params":{}}`)})
	add(8, traffic.Event{Kind: traffic.Response, Hop: traffic.Client, Client: "Cursor/2", Method: "tools/list", Call: 1, ID: raw(`"a"`), Took: time.Millisecond, Message: raw(`{"result":{"tools":[]}}`)})
	add(8, traffic.Event{Kind: traffic.Failure, Hop: traffic.Server, Server: "web", Fault: "dial: Refused"})
	add(8, traffic.Event{Kind: traffic.Dropped, Count: 3})
}

func numbers(items []summary) (all []uint64) {
	for _, one := range items {
		all = append(all, one.Seq)
	}
	return all
}

func TestListsAreFiltered(t *testing.T) {
	r := opened(t, Options{})
	conversation(r)
	for query, want := range map[string][]uint64{
		"":                              {9, 8, 7, 6, 5, 4, 3, 2, 1},
		"after=0":                       {1, 2, 3, 4, 5, 6, 7, 8, 9},
		"after=7":                       {8, 9},
		"after=9":                       nil,
		"before=3":                      {2, 1},
		"before=1":                      nil,
		"before=99":                     {9, 8, 7, 6, 5, 4, 3, 2, 1},
		"limit=2":                       {9, 8},
		"after=0&limit=2":               {1, 2},
		"client=claude":                 {9, 5, 4, 3, 2, 1},
		"client=CURSOR":                 {9, 7, 6},
		"client=nobody":                 {9},
		"server=files":                  {9, 5, 4, 3, 2, 1},
		"server=web":                    {9, 8},
		"server=file":                   {9},
		"server=files&client=cursor":    {9},
		"method=tools/list":             {9, 7, 6},
		"method=tools":                  {9},
		"name=READ&method=tools/call":   {9, 5, 4, 3, 2, 1},
		"name=files":                    {9, 5, 2, 1},
		"errors=true":                   {9, 8, 5, 4},
		"errors=0&pid=8":                {9, 8, 7, 6},
		"pid=7&call=1":                  {5, 4, 3, 2, 1},
		"call=1&kind=note":              {2},
		"kind=request":                  {6, 3, 1},
		"text=notes":                    {9, 1},
		"text=" + `Notes+%22x%22`:       {9, 1},
		"text=iserror":                  {9, 5, 4},
		"text=iserror&limit=2":          {9, 5},
		"after=0&text=iserror&limit=1":  {4},
		"text=refused":                  {9, 8},
		"text=tools/list":               {9},
		"text=allow":                    {9, 2},
		"text=params&errors=true":       {9},
		"before=4&text=params&limit=10": {3, 1},
	} {
		p := read[page](t, r, "/traffic?"+query)
		if got := numbers(p.Items); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
		if p.First != 1 || p.Last != 9 {
			t.Errorf("%s: %d to %d", query, p.First, p.Last)
		}
	}
}

func TestListsShowDecisions(t *testing.T) {
	r := opened(t, Options{})
	for _, message := range []string{`{"effect":"deny"}`, `{"effect":"ask"}`, `{"effect":"something"}`, `[]`} {
		r.Add(7, &traffic.Event{Kind: traffic.Note, Note: "policy", Message: json.RawMessage(message)})
	}
	r.Add(7, &traffic.Event{Kind: traffic.Note, Note: "retry", Message: json.RawMessage(`{"effect":"deny"}`)})
	var got []string
	for _, one := range read[page](t, r, "/traffic?after=0").Items {
		got = append(got, one.Effect)
	}
	if want := []string{"deny", "ask", "", "", ""}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAListIsWithoutPings(t *testing.T) {
	r := opened(t, Options{})
	for _, method := range []string{"tools/list", "ping", "ping", "ping/other"} {
		r.Add(7, &traffic.Event{Kind: traffic.Request, Hop: traffic.Client, Method: method})
	}
	r.Add(7, &traffic.Event{Kind: traffic.Failure, Hop: traffic.Client, Method: "ping", Fault: "it ended"})
	for query, want := range map[string][]uint64{"after=0&ping=false": {1, 4, 5}, "after=0&ping=true": {1, 2, 3, 4, 5}, "afterRow=1&ping=false": {4, 5}} {
		if got := numbers(read[page](t, r, "/traffic?"+query).Items); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
}

func TestAListContinues(t *testing.T) {
	r := opened(t, Options{Messages: 3_000})
	for n := 1; n <= 5_000; n++ {
		r.Add(7, message(n, n%50))
	}
	for _, query := range []string{"", "&text=tool", "&text=" + strings.Repeat("x", 40), "&name=tool3"} {
		for way, at := range map[string]uint64{"after": 0, "before": 5_001} {
			var got []uint64
			for p := (page{Next: at, More: true}); p.More; {
				p = read[page](t, r, fmt.Sprintf("/traffic?%s=%d&limit=70%s", way, p.Next, query))
				got = append(got, numbers(p.Items)...)
			}
			if way == "before" {
				slices.Reverse(got)
			}
			var want []uint64
			for n := uint64(2_001); n <= 5_000; n++ {
				if query == "" || query == "&text=tool" || strings.HasPrefix(query, "&text=x") && n%50 >= 40 || query == "&name=tool3" && strings.HasPrefix(fmt.Sprint(n), "3") {
					want = append(want, n)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s%s: %d messages, want %d", way, query, len(got), len(want))
			}
		}
	}
}

func TestInvalidRequestsAreErrors(t *testing.T) {
	r := opened(t, Options{})
	for path, want := range map[string]string{
		"/traffic?before=x":         `before: expected a number, got "x"`,
		"/traffic?after=-1":         `after: expected a number, got "-1"`,
		"/traffic?before=1&after=1": `before and after: expected one of them`,
		"/traffic?limit=many":       `limit: expected a number, got "many"`,
		"/traffic?pid=99999999999":  `pid: expected a number, got "99999999999"`,
		"/traffic?errors=some":      `errors: expected true or false, got "some"`,
		"/traffic?kind=x":           `kind: expected one of request, notification, response, error, failure, dropped, note, got "x"`,
		"/traffic?text=" + strings.Repeat("x", maxFilterText+1): `text: expected at most 1000 bytes, got 1001`,
		"/traffic/x":                       `expected the number of a message`,
		"/traffic/calls/x/1":               `expected the number of a process`,
		"/traffic/calls/1/x":               `expected the number of a call`,
		"/traffic/stream?after=x":          `after: expected a number, got "x"`,
		"/traffic/stream?call=x":           `call: expected a number, got "x"`,
		"/traffic/export?format=pdf":       `format: expected jsonl, har, svg or mermaid, got "pdf"`,
		"/traffic/export?format=har&pid=x": `pid: expected a number, got "x"`,
	} {
		var fault struct{ Error string }
		if err := json.Unmarshal([]byte(asked(t, r, "GET", path, http.StatusBadRequest)), &fault); err != nil || fault.Error != want {
			t.Errorf("%s: %q, want %q", path, fault.Error, want)
		}
	}
	asked(t, r, "GET", "/traffic/1", http.StatusNotFound)
	asked(t, r, "GET", "/traffic/calls/1/1", http.StatusNotFound)
}

func TestMessagesAreComplete(t *testing.T) {
	r := opened(t, Options{})
	conversation(r)
	got := asked(t, r, "GET", "/traffic/5", http.StatusOK)
	want := `{"seq":5,"time":"2026-11-25T12:00:00.005Z","pid":7,"kind":"response","hop":"client","client":"Claude/1","method":"tools/call","name":"files__read","call":1,"took":4000000,"size":27,"error":true,"row":5,"id":1,"message":{"result":{"isError":true}},"tokens":4}` + "\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestACallHasAllItsMessagesAndTimes(t *testing.T) {
	r := opened(t, Options{})
	conversation(r)
	d := read[callDetail](t, r, "/traffic/calls/7/1")
	if d.Client != "Claude/1" || !slices.Equal(d.Servers, []string{"files"}) || d.Method != "tools/call" || d.Name != "files__read" || d.Rounds != 1 || !d.Error || d.Took != 4*time.Millisecond || d.More {
		t.Errorf("%+v", d)
	}
	want := []span{
		{Seq: 1, Answer: 5, Hop: "client", Method: "tools/call", Name: "files__read", Took: 4 * time.Millisecond, Error: true},
		{Seq: 3, Answer: 4, Hop: "server", Server: "files", Method: "tools/call", Name: "read", Start: 2 * time.Millisecond, Took: time.Millisecond, Error: true},
	}
	if !slices.Equal(d.Spans, want) {
		t.Errorf("got %+v\nwant %+v", d.Spans, want)
	}
	if len(d.Messages) != 5 || d.Messages[2].Client != "Claude/1" || string(d.Messages[1].Message) != `{"effect":"allow","rule":"all"}` {
		t.Errorf("%+v", d.Messages)
	}
}

func TestClearRemovesMessagesAndContinuesNumbers(t *testing.T) {
	r := opened(t, Options{})
	conversation(r)
	asked(t, r, "DELETE", "/traffic", http.StatusNoContent)
	if p := read[page](t, r, "/traffic"); len(p.Items) != 0 || p.First != 10 || p.Last != 9 {
		t.Errorf("%+v", p)
	}
	conversation(r)
	if p := read[page](t, r, "/traffic"); len(p.Items) != 9 || p.First != 10 || p.Items[0].Seq != 18 {
		t.Errorf("%+v", p)
	}
}

var hostile = []string{"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "a\nparticipant evil", "#lt;b;", "]]>&amp;<!--", "\x00\x1b[2J", "}}]},{\"a\":\"", "--\u2028x; Note over p0: y", "end", "%%{init: {}}%%", "\u202egnp.exe", "\xff\xfe"}

// hostileRing returns a ring of messages with hostile texts only.
func hostileRing(t *testing.T) *Ring {
	r := opened(t, Options{})
	for i, text := range hostile {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		e := traffic.Event{Time: began.Add(time.Duration(i) * time.Second), Kind: traffic.Request, Hop: traffic.Client, ToServer: true, Client: text, Method: text, Name: text, Call: uint64(i + 1), ID: quoted, Message: quoted, Size: 1}
		r.Add(7, &e)
		e.Hop, e.Server, e.Client = traffic.Server, text, ""
		r.Add(7, &e)
		e.Kind, e.Note, e.Fault = traffic.Note, text, text
		r.Add(7, &e)
		e.Kind, e.ToServer, e.Took, e.Time = traffic.Failure, false, time.Second, e.Time.Add(time.Second)
		r.Add(7, &e)
	}
	return r
}

func TestNoTextEndsAPicture(t *testing.T) {
	text := asked(t, hostileRing(t), "GET", "/traffic/export?format=svg", http.StatusOK)
	known := map[string]bool{"svg": true, "rect": true, "line": true, "path": true, "text": true, "style": true, "g": true, "title": true}
	texts := 0
	for tokens := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := tokens.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if !known[token.Name.Local] {
				t.Errorf("there is an element %s", token.Name.Local)
			}
			if token.Name.Local == "text" {
				texts++
			}
			for _, a := range token.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "script") {
					t.Errorf("there is an attribute %v", a)
				}
			}
		case xml.Comment, xml.ProcInst, xml.Directive:
			t.Errorf("there is %T", token)
		}
	}
	if texts < 5*len(hostile) {
		t.Errorf("%d texts", texts)
	}
}

func TestNoTextEndsALineOfMermaid(t *testing.T) {
	text := asked(t, hostileRing(t), "GET", "/traffic/export?format=mermaid", http.StatusOK)
	line := regexp.MustCompile(`^    (participant p\d+ as |p\d+(->>|-->>)p\d+: |Note over p\d+: )(#\d+;|[\pL\pN .,_()=/'!?*…⚠·→-])+$`)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "sequenceDiagram" || len(lines) < 5*len(hostile) || !utf8.ValidString(text) {
		t.Errorf("%d lines", len(lines))
	}
	for _, one := range lines[1:] {
		if !line.MatchString(one) {
			t.Errorf("%q", one)
		}
	}
}

func TestLinesAreMessagesAsTheyAreServed(t *testing.T) {
	r := opened(t, Options{})
	conversation(r)
	lines := strings.SplitAfter(asked(t, r, "GET", "/traffic/export?format=jsonl&pid=7", http.StatusOK), "\n")
	if len(lines) != 6 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines[:5] {
		if want := asked(t, r, "GET", fmt.Sprintf("/traffic/%d", i+1), http.StatusOK); line != want {
			t.Errorf("%s, want %s", line, want)
		}
	}
}

func TestADiagramHasAtMostSomeMessagesAndLanes(t *testing.T) {
	r := opened(t, Options{})
	for n := 1; n <= maxDrawn+100; n++ {
		e := message(n, 10)
		e.Client = fmt.Sprint("client ", n)
		r.Add(7, e)
	}
	d := r.draw(&filter{})
	if len(d.Items) != maxDrawn || d.MaxLanes != maxLanes || d.Items[0].Title != "#101 tools/call tool101" {
		t.Errorf("%d arrows between at most %d lanes, the first is %+v", len(d.Items), d.MaxLanes, d.Items[0])
	}
}

func TestRefusedDiscoveryOfALegacyServer(t *testing.T) {
	r := opened(t, Options{Messages: 100})
	r.Add(7, &traffic.Event{Time: began, Kind: traffic.Error, Hop: traffic.Server, Server: "files", Method: "server/discover", Call: 1, Legacy: true, Message: json.RawMessage(`{"error":{"code":-32601}}`)})
	all := read[page](t, r, "/traffic").Items
	if len(all) != 1 || !all[0].Legacy || all[0].Error {
		t.Errorf("it is shown as %+v", all)
	}
	if errors := read[page](t, r, "/traffic?errors=true").Items; len(errors) > 0 {
		t.Errorf("it is among the errors: %+v", errors)
	}
	if d := read[detail](t, r, "/traffic/1"); !d.Legacy {
		t.Errorf("what is known of it is %+v", d)
	}
	if drawn := asked(t, r, "GET", "/traffic/export?format=mermaid", http.StatusOK); !strings.Contains(drawn, "legacy server#58; server/discover") {
		t.Errorf("it is drawn as %s", drawn)
	}
}
