package live

import (
	"testing"
	"time"

	"github.com/junction-mcp/junction/traffic"
)

// A modern client may hold a subscription for hours.
func TestHiddenRequestsDoNotTick(t *testing.T) {
	u := New(Options{})
	u.Event(Event{PID: 1, Shown: true, Event: traffic.Event{Call: 1, Time: time.Now(), Hop: traffic.Client, ToServer: true, Kind: traffic.Request, Method: "subscriptions/listen"}})
	m := newModel(t.Context(), u)
	if rows := m.rows(); len(rows) != 0 {
		t.Fatal(rows)
	}
	if m.tick() != nil {
		t.Error("the screen is drawn each second though no running call is on it")
	}
}

// The last progress and result of a call are kept after its events are not.
func TestTextsOfCallsAreBounded(t *testing.T) {
	u := New(Options{})
	text := make([]byte, 1<<20)
	for i := range text {
		text[i] = 'x'
	}
	for n := range uint64(60) {
		at := traffic.Event{Call: n + 1, Time: time.Now(), Hop: traffic.Client, ToServer: true, Kind: traffic.Request, Method: "tools/call", Message: []byte(`{}`)}
		u.Event(Event{PID: 1, Shown: true, Event: at})
		at.ToServer, at.Kind, at.Method, at.Message = false, traffic.Notification, "notifications/progress", []byte(`{"params":{"progress":1}}`)
		for range maxCallEvents {
			u.Event(Event{PID: 1, Shown: true, Event: at})
		}
		at.Kind, at.Message = traffic.Response, []byte(`{"result":{"content":[{"type":"text","text":"`+string(text)+`"}]}}`)
		u.Event(Event{PID: 1, Shown: true, Event: at})
	}
	held := 0
	for _, c := range u.calls.all {
		held += len(c.result) + len(c.progress) + len(c.arguments)
	}
	if held > maxCallBytes {
		t.Errorf("%d bytes are held, and at most %d should be; %d are counted", held, maxCallBytes, u.calls.size)
	}
}
