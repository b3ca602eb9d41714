package live

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/threadtime"
	"github.com/junction-mcp/junction/traffic"
)

func TestNoTextEndsAnArchive(t *testing.T) {
	type archive struct {
		Log struct {
			Version string
			Entries []struct {
				Time     float64
				Request  struct{ Method, URL string }
				Response struct{ Status int }
				Fault    string `json:"_error"`
			}
		}
	}
	a := read[archive](t, hostileRing(t), "/traffic/export?format=har")
	if a.Log.Version != "1.2" || len(a.Log.Entries) != 2*len(hostile) {
		t.Fatalf("%d entries", len(a.Log.Entries))
	}
	if e := a.Log.Entries[1]; e.Time != 1000 || e.Response.Status != 0 || e.Fault != hostile[0] || e.Request.Method != "POST" {
		t.Errorf("%+v", e)
	}
	r := opened(t, Options{})
	if a := read[archive](t, r, "/traffic/export?format=har"); len(a.Log.Entries) != 0 {
		t.Errorf("%+v", a)
	}
	conversation(r)
	if a := read[archive](t, r, "/traffic/export?format=har&server=files"); len(a.Log.Entries) != 2 || a.Log.Entries[0].Time != 4 || a.Log.Entries[0].Response.Status != 200 || a.Log.Entries[0].Request.URL != "mcp://client/tools/call?name=files__read" {
		t.Errorf("%+v", a)
	}
}

// An archive has the HTTP headers of a message as they are shown: without secrets.
func TestAnArchiveHasTheHeaders(t *testing.T) {
	type pair struct{ Name, Value string }
	type archive struct {
		Log struct {
			Entries []struct {
				Request struct {
					Method, URL, HTTPVersion string
					Headers, QueryString     []pair
				}
				Response struct {
					Status                  int
					StatusText, HTTPVersion string
					Headers                 []pair
				}
			}
		}
	}
	r := opened(t, Options{})
	note := func(hop, id, message string) traffic.Event {
		return traffic.Event{Kind: traffic.Note, Note: "http", Hop: hop, ID: json.RawMessage(id), Message: json.RawMessage(message)}
	}
	for n, e := range []traffic.Event{
		{Kind: traffic.Request, Hop: traffic.Client, ToServer: true, ID: json.RawMessage("1"), Message: json.RawMessage(`{"id":1}`)},
		note(traffic.Client, "1", `{"method":"POST","url":"http://127.0.0.1:7717/mcp?a=1&a=2","requestHeaders":{"Content-Type":["application/json"],"Authorization":["***"],"Accept":["a","b"]}}`),
		{Kind: traffic.Request, Hop: traffic.Server, Server: "far", ToServer: true, ID: json.RawMessage("7"), Message: json.RawMessage(`{"id":7}`)},
		note(traffic.Server, "8", `{"method":"POST","url":"http://far/of-another","requestHeaders":{},"status":500,"responseHeaders":{}}`),
		note(traffic.Server, "7", `{"method":"POST","url":"http://far/mcp","requestHeaders":{},"status":401,"responseHeaders":{}}`), // before a login
		note(traffic.Server, "7", `{"method":"POST","url":"http://far/mcp","requestHeaders":{"Mcp-Name":["add"]},"status":202,"responseHeaders":{"Date":["today"]}}`),
		{Kind: traffic.Response, Hop: traffic.Server, Server: "far", ID: json.RawMessage("7"), Message: json.RawMessage(`{"id":7}`)},
		{Kind: traffic.Notification, Hop: traffic.Client, Message: json.RawMessage(`{}`)},
	} {
		e.Time, e.Call, e.Method, e.Name = began.Add(time.Duration(n)), 3, "tools/call", "add"
		if e.Hop == traffic.Server {
			e.Server = "far"
		}
		r.Add(7, &e)
	}
	got := read[archive](t, r, "/traffic/export?format=har").Log.Entries
	if len(got) != 3 {
		t.Fatalf("%d entries", len(got))
	}
	for i, want := range []string{
		`{{POST http://127.0.0.1:7717/mcp?a=1&a=2 HTTP/1.1 [{Accept a} {Accept b} {Authorization ***} {Content-Type application/json}] [{a 1} {a 2}]} {0  MCP []}}`,
		`{{POST http://far/mcp HTTP/1.1 [{Mcp-Name add}] []} {202 Accepted HTTP/1.1 [{Date today}]}}`,
		`{{POST mcp://client/tools/call?name=add MCP [] [{name add}]} {0  MCP []}}`,
	} {
		if text := fmt.Sprint(got[i]); text != want {
			t.Errorf("entry %d:\n%s\nwant\n%s", i, text, want)
		}
	}
}

// A call that lasts all day has very many messages, and an archive looks for the headers after each
// of them.
func TestLaterMessagesOfALongCallAreFound(t *testing.T) {
	const many = 100_000
	r := opened(t, Options{})
	for range many {
		r.Add(1, &traffic.Event{Time: time.Now(), Kind: traffic.Notification, Hop: traffic.Client, Call: 7})
	}
	took := threadtime.Of(func() {
		for range many {
			if notes := r.headersAfter(&summary{Seq: many, PID: 1, Call: 7, Hop: traffic.Client}); len(notes) > 0 {
				t.Fatalf("behind the last message are %v", notes)
			}
		}
	})
	if took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
}
