package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/console"
	"github.com/junction-mcp/junction/console/live"
	"github.com/junction-mcp/junction/traffic"
)

// consoleWithRing serves a console with a ring of messages until the test ends, and returns the link to it.
func consoleWithRing(t testing.TB) (ring *live.Ring, link string) {
	t.Helper()
	ring = live.Open(live.Options{Dir: t.TempDir()})
	c := console.New()
	ring.Mount(c.Handle)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := c.Serve(ctx, l, log.New(io.Discard, "", 0)); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		serving.Wait()
		if err := ring.Close(); err != nil {
			t.Error(err)
		}
	})
	return ring, c.Link("http://"+l.Addr().String(), "")
}

// fill adds messages of calls, four each, through three servers.
func fill(ring *live.Ring, messages int) {
	began := time.Now().Add(-time.Hour)
	for n := range messages {
		call, part := uint64(n/4+1), n%4
		e := &traffic.Event{Time: began.Add(time.Duration(n) * 20 * time.Millisecond), Hop: traffic.Client, Client: fmt.Sprintf("assistant-%d/1.0", call%4), Revision: modern, Call: call, Method: "tools/call",
			Name: fmt.Sprintf("weather__forecast_%d", call%50), Size: 1000, Message: json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"text":"%0900d"}`, call, n))}
		e.ToServer = part < 2
		if e.Kind = traffic.Request; !e.ToServer {
			e.Kind, e.Took = traffic.Response, time.Duration(part)*20*time.Millisecond
			if call%97 == 0 {
				e.Kind = traffic.Error
			}
		}
		if part == 1 || part == 2 {
			e.Hop, e.Server, e.Client = traffic.Server, fmt.Sprintf("server-%d", call%3), ""
		}
		ring.Add(4711, e)
	}
}

// 100,000 messages are there at once, and no frame is late while somebody scrolls through them: none has more to do than the
// processor does in 50 ms. By the clock it may take longer, where other programs keep the processors busy.
func TestTheConsoleShows100000Messages(t *testing.T) {
	argv := nodeScript(t, "page", "page/traffic_speed.mjs")
	browser := program(t, "chromium")
	ring, link := consoleWithRing(t)
	const messages = 100_000
	fill(ring, messages)
	type scrolled struct {
		Frames, Rows, Tasks                      int
		SlowestFrame, Frame99, SlowestTask, Work float64 // milliseconds: of frames by the clock, of tasks the processor's
	}
	var got struct {
		FirstPaint       float64 // milliseconds by the clock
		FirstWork        float64 // milliseconds of the processor until then
		Forms            map[string]scrolled
		Places           [][3]int
		UsedHeap, Memory int
		Faults           []string
	}
	line := run(t, nodeEnv(t), append(argv, link, browser)...)
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	t.Logf("first paint after %.0f ms, of them %.0f ms of work; JavaScript's heap is %d MB, the page's process %d MB", got.FirstPaint, got.FirstWork, got.UsedHeap>>20, got.Memory>>20)
	if got.FirstWork <= 0 || got.FirstWork > 500 || got.Memory > 300<<20 || got.UsedHeap > 100<<20 || len(got.Faults) > 0 {
		t.Errorf("%+v", got)
	}
	for _, form := range []string{"diagram", "list"} {
		s := got.Forms[form]
		t.Logf("%s: %d frames, each %.1f ms of work, the longest task %.1f ms; by the clock the slowest frame took %.1f ms, 99 percent up to %.1f ms; at most %d rows in the document",
			form, s.Frames, s.Work/float64(s.Frames), s.SlowestTask, s.SlowestFrame, s.Frame99, s.Rows)
		if s.Frames < 290 || s.Tasks < s.Frames || s.SlowestTask > 50 || s.Work/float64(s.Frames) > 33 || s.Rows > 200 {
			t.Errorf("%s: %+v", form, s)
		}
	}
	if len(got.Places) != 3 {
		t.Fatalf("not all places of the stream have rows: %v", got.Places)
	}
	for i, want := range []int{1, messages / 2, messages} {
		first, last, n := got.Places[i][0], got.Places[i][1], got.Places[i][2]
		if last-first+1 != n || want < first-3 || want > last+3 {
			t.Errorf("at place %d there are %d to %d, %d rows", i, first, last, n)
		}
	}
}
