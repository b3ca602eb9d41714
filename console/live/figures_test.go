package live

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/junction-mcp/junction/traffic"
)

func TestFiguresCoverRecentResponses(t *testing.T) {
	r := opened(t, Options{})
	answer := func(pid int, server, kind, method string, after, took time.Duration, message string) {
		r.Add(pid, &traffic.Event{Time: began.Add(after), Kind: kind, Hop: traffic.Server, Server: server, Method: method, Took: took, Message: json.RawMessage(message)})
	}
	answer(1, "old", traffic.Response, "tools/call", 0, time.Second, `{}`)
	for n := range 100 {
		answer(1, "files", traffic.Response, "tools/call", time.Minute, time.Duration(n+1)*time.Millisecond, `{"result":{}}`)
	}
	answer(1, "files", traffic.Response, "tools/call", time.Minute, time.Millisecond, `{"result":{"isError":true}}`)
	answer(1, "files", traffic.Error, "resources/read", time.Minute, time.Millisecond, `{"error":{}}`)
	answer(1, "files", traffic.Failure, "prompts/get", time.Minute, time.Millisecond, ``)
	answer(1, "files", traffic.Response, "tools/list", time.Minute, time.Hour, `{"result":{}}`)
	answer(2, "files", traffic.Response, "tools/call", time.Minute, 7*time.Millisecond, `{"result":{}}`)
	r.Add(1, &traffic.Event{Time: began.Add(time.Minute), Kind: traffic.Response, Hop: traffic.Client, Client: "me/1", Method: "tools/call", Took: time.Hour})

	var got []figures
	for _, f := range r.figuresOf(began.Add(time.Second)) {
		f.times = nil
		got = append(got, *f)
	}
	want := []figures{
		{PID: 2, Server: "files", Calls: 1, P50: 7 * time.Millisecond, P95: 7 * time.Millisecond},
		{PID: 1, Server: "files", Calls: 103, Errors: 3, P50: 49 * time.Millisecond, P95: 95 * time.Millisecond},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}
