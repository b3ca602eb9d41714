package live

import (
	"fmt"
	"testing"

	"github.com/junction-mcp/junction/traffic"
)

// Notes of headers have no row, so that other messages can be found by their rows.
func TestMessagesAreFoundByTheirRow(t *testing.T) {
	r := opened(t, Options{Messages: 50})
	if p := read[page](t, r, "/traffic?headers=false"); p.FirstRow != 1 || p.LastRow != 0 {
		t.Errorf("without messages: %+v", p)
	}
	for n := 1; n <= 40; n++ {
		r.Add(7, message(n, 10))
		r.Add(7, &traffic.Event{Time: began, Kind: traffic.Note, Note: "http", Call: uint64(n)})
	}
	// Of 80 messages the last 50 are kept, which have the rows 16 to 40.
	for after, want := range map[int]string{0: "16 17 18", 15: "16 17 18", 20: "21 22 23", 38: "39 40", 40: "", 99: ""} {
		p := read[page](t, r, fmt.Sprintf("/traffic?headers=false&afterRow=%d&limit=3", after))
		got := ""
		for i, one := range p.Items {
			if i > 0 {
				got += " "
			}
			got += fmt.Sprint(one.Row)
			if one.Seq != 2*one.Row-1 || one.Kind != traffic.Request {
				t.Errorf("row %d is message %d, a %s", one.Row, one.Seq, one.Kind)
			}
		}
		if got != want || p.FirstRow != 16 || p.LastRow != 40 {
			t.Errorf("after row %d there are %q of %d to %d, want %q", after, got, p.FirstRow, p.LastRow, want)
		}
	}
	if p := read[page](t, r, "/traffic?kind=note"); len(p.Items) != 25 || p.Items[0].Row != 0 {
		t.Errorf("%d notes, the newest has row %d", len(p.Items), p.Items[0].Row)
	}
	for range 3 { // pings have no row, either
		r.Add(7, &traffic.Event{Time: began, Kind: traffic.Request, Hop: traffic.Server, Method: "ping", ToServer: true})
		r.Add(7, &traffic.Event{Time: began, Kind: traffic.Response, Hop: traffic.Server, Method: "ping", Took: 1})
	}
	if p := read[page](t, r, "/traffic?ping=true&afterRow=38"); p.LastRow != 40 || len(p.Items) != 10 || p.Items[9].Row != 0 || p.Items[2].Row != 40 {
		t.Errorf("with pings: %+v", p)
	}
	if p := read[page](t, r, "/traffic?ping=false&headers=false&afterRow=38"); p.FirstRow != 19 || p.LastRow != 40 || len(p.Items) != 2 || p.Items[1].Row != 40 {
		t.Errorf("without pings: %+v", p)
	}
	r.Add(7, message(41, 10)) // makes a note the oldest one
	r.Clear()
	if p := read[page](t, r, "/traffic?headers=false"); p.FirstRow != 42 || p.LastRow != 41 {
		t.Errorf("after all were removed: %+v", p)
	}
	asked(t, r, "GET", "/traffic?headers=maybe", 400)
	asked(t, r, "GET", "/traffic?before=1&afterRow=1", 400)
}
