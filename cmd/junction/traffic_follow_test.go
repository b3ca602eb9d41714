package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/traffic"
)

// follows follows the calls that lead to the server mine.
func follows() *followed {
	return &followed{filter: &trafficFilter{servers: []string{"mine"}}, calls: map[callOf]*followedCall{}}
}

// asks is the request of a client that begins a call.
func asks(pid int, call uint64, message json.RawMessage) shownEvent {
	return shownEvent{PID: pid, Event: traffic.Event{Kind: traffic.Request, Hop: traffic.Client, ToServer: true, Method: "tools/call", Call: call, Message: message}}
}

// leads is the request by which a call leads to the server.
func leads(pid int, call uint64) shownEvent {
	return shownEvent{PID: pid, Event: traffic.Event{Kind: traffic.Request, Hop: traffic.Server, ToServer: true, Server: "mine", Method: "tools/call", Call: call}}
}

func calls(shown []shownEvent) (all []uint64) {
	for _, e := range shown {
		all = append(all, e.Call)
	}
	return all
}

func TestCallsWithoutAResponseHideNoneThatComesLater(t *testing.T) {
	f := follows()
	for call := range uint64(3 * maxFollowed) {
		if got := f.shown(asks(7, call+1, nil)); len(got) != 0 {
			t.Fatalf("shown is %+v", got)
		}
	}
	f.shown(asks(8, 5_000, nil))
	if got := calls(f.shown(leads(8, 5_000))); !slices.Equal(got, []uint64{5_000, 5_000}) {
		t.Errorf("of a new call there is %v", got)
	}
	if got := calls(f.shown(leads(7, 2_500))); !slices.Equal(got, []uint64{2_500, 2_500}) {
		t.Errorf("of one of the newest calls there is %v", got)
	}
	if got := calls(f.shown(leads(7, 1))); !slices.Equal(got, []uint64{1}) {
		t.Errorf("of the oldest call there is %v", got)
	}
	if len(f.calls) != maxFollowed {
		t.Errorf("%d calls are remembered", len(f.calls))
	}
}

func TestMessagesThatWaitHaveALimitInBytes(t *testing.T) {
	f := follows()
	message := json.RawMessage(`"` + string(bytes.Repeat([]byte("x"), 1<<20-2)) + `"`)
	for call := range uint64(100) {
		f.shown(asks(7, call+1, message))
		f.shown(asks(7, call+1, message))
	}
	held, bytes := 0, 0
	for _, c := range f.calls {
		held += len(c.held)
		for _, e := range c.held {
			bytes += len(e.Message)
		}
	}
	if held != 30 || bytes > maxHeldBytes || f.bytes < bytes || f.bytes > maxHeldBytes {
		t.Errorf("%d messages of %d bytes are held, and %d are counted", held, bytes, f.bytes)
	}
	if got := calls(f.shown(leads(7, 100))); !slices.Equal(got, []uint64{100, 100, 100}) {
		t.Errorf("of the newest call there is %v", got)
	}
	if got := calls(f.shown(leads(7, 1))); !slices.Equal(got, []uint64{1}) { // which is followed, though what waited is gone
		t.Errorf("of the oldest call there is %v", got)
	}
	for call := range uint64(100) {
		f.shown(shownEvent{PID: 7, Event: traffic.Event{Kind: traffic.Response, Hop: traffic.Client, Call: call + 1, Took: 1}})
	}
	if len(f.calls) != 0 || f.bytes != 0 {
		t.Errorf("%d calls and %d bytes are left", len(f.calls), f.bytes)
	}
}

func TestTheMessageThatTellsWhereACallLeadsIsShownHoweverManyWait(t *testing.T) {
	f := follows()
	for range maxHeld + 10 {
		f.shown(asks(7, 1, nil))
	}
	if got := f.shown(leads(7, 1)); len(got) != maxHeld+1 || got[maxHeld].Hop != traffic.Server {
		t.Errorf("%d messages are shown", len(got))
	}
}

func TestTheCallsOfAProcessThatEndsAreForgotten(t *testing.T) {
	f := follows()
	for pid := range 3 {
		f.shown(asks(pid+1, 1, json.RawMessage(fmt.Sprint(pid))))
	}
	f.ended(2)
	if len(f.calls) != 2 || f.calls[callOf{2, 1}] != nil || f.bytes != f.calls[callOf{1, 1}].bytes+f.calls[callOf{3, 1}].bytes {
		t.Errorf("left are %d calls of %d bytes", len(f.calls), f.bytes)
	}
}
