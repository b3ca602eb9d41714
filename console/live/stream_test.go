package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A reader reads a stream.
type reader struct {
	*httptest.ResponseRecorder
	held   chan struct{} // blocks writes until it is closed
	leave  context.CancelFunc
	ended  chan struct{}
	broken bool
}

func (r *reader) Write(part []byte) (int, error) {
	if r.held != nil {
		<-r.held
	}
	if r.broken {
		return 0, errors.New("gone")
	}
	return r.ResponseRecorder.Write(part)
}

func (r *reader) Unwrap() http.ResponseWriter { return r.ResponseRecorder }

// reads begins to read a stream, in a bubble.
func reads(t *testing.T, r *Ring, query, last string) *reader {
	ctx, leave := context.WithCancel(t.Context())
	one := &reader{ResponseRecorder: httptest.NewRecorder(), leave: leave, ended: make(chan struct{})}
	req := httptest.NewRequestWithContext(ctx, "GET", "/traffic/stream?"+query, nil)
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	go func() {
		defer close(one.ended)
		routes(r).ServeHTTP(one, req)
	}()
	synctest.Wait()
	return one
}

// batches returns the batches that a reader got, and the id of the last one.
func (r *reader) batches(t *testing.T) (all []batch, id string) {
	t.Helper()
	for event := range strings.SplitSeq(r.Body.String(), "\n\n") {
		var b batch
		for line := range strings.Lines(event) {
			switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": "); name {
			case "id":
				id = value
			case "event":
				if value != "messages" {
					t.Errorf("event %s", value)
				}
			case "data":
				if err := json.Unmarshal([]byte(value), &b); err != nil {
					t.Fatal(err)
				}
				all = append(all, b)
			}
		}
	}
	return all, id
}

// seen returns the numbers that a reader got, and how many it missed.
func (r *reader) seen(t *testing.T) (all []uint64, skipped uint64) {
	t.Helper()
	batches, _ := r.batches(t)
	for _, b := range batches {
		all, skipped = append(all, numbers(b.Items)...), skipped+b.Skipped
	}
	return all, skipped
}

func upTo(from, to uint64) (all []uint64) {
	for ; from <= to; from++ {
		all = append(all, from)
	}
	return all
}

func TestNewMessagesComeInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := opened(t, Options{})
		r.Add(7, message(1, 10))
		one := reads(t, r, "", "")
		defer func() { one.leave(); <-one.ended }()
		if got := one.Body.String(); got != "retry: 1000\n\n" || one.Result().Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%q", got)
		}
		begin := time.Now()
		for n := 2; n <= 101; n++ {
			r.Add(7, message(n, 10))
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		time.Sleep(batchPause)
		synctest.Wait()
		all, id := one.batches(t)
		if got, skipped := one.seen(t); !slices.Equal(got, upTo(2, 101)) || skipped != 0 || id != "101" {
			t.Errorf("%v, %d skipped, id %s", got, skipped, id)
		}
		if most := int(time.Since(begin)/batchPause) + 1; len(all) > most || len(all) < 10 {
			t.Errorf("%d batches, at most %d", len(all), most)
		}
		if all[0].First != 1 || all[len(all)-1].Last != 101 {
			t.Errorf("%+v", all)
		}
	})
}

func TestAStreamResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := opened(t, Options{Messages: 100})
		for n := 1; n <= 50; n++ {
			r.Add(7, message(n, 10))
		}
		for _, test := range []struct {
			query, last string
			want        []uint64
		}{
			{"", "", nil},
			{"after=40", "", upTo(41, 50)},
			{"", "45", upTo(46, 50)},
			{"after=40", "48", upTo(49, 50)},
			{"after=0", "", upTo(1, 50)},
			{"after=0&name=tool4", "", append([]uint64{4}, upTo(40, 49)...)},
			{"", "no number", nil},
			{"", "999", nil},
		} {
			one := reads(t, r, test.query, test.last)
			time.Sleep(batchPause)
			synctest.Wait()
			if got, skipped := one.seen(t); !slices.Equal(got, test.want) || skipped != 0 {
				t.Errorf("%+v: %v, %d skipped", test, got, skipped)
			}
			one.leave()
			<-one.ended
		}
		for n := 51; n <= 170; n++ {
			r.Add(7, message(n, 10))
		}
		one := reads(t, r, "", "50")
		if got, skipped := one.seen(t); !slices.Equal(got, upTo(71, 170)) || skipped != 20 {
			t.Errorf("%v, %d skipped", got, skipped)
		}
		one.leave()
		<-one.ended
	})
}

func TestSlowReadersSeeGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := opened(t, Options{Messages: 8_000})
		slow := &reader{ResponseRecorder: httptest.NewRecorder(), held: make(chan struct{}), ended: make(chan struct{})}
		var ctx context.Context
		ctx, slow.leave = context.WithCancel(t.Context())
		go func() {
			defer close(slow.ended)
			routes(r).ServeHTTP(slow, httptest.NewRequestWithContext(ctx, "GET", "/traffic/stream", nil))
		}()
		synctest.Wait()
		begin := time.Now()
		for n := 1; n <= 20_000; n++ { // does not wait for the reader
			r.Add(7, message(n, 10))
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("it waited for %v", took)
		}
		close(slow.held)
		time.Sleep(time.Minute)
		synctest.Wait()
		got, skipped := slow.seen(t)
		if uint64(len(got))+skipped != 20_000 || !slices.Equal(got, upTo(20_000-maxBatch+1, 20_000)) {
			t.Errorf("%d messages, the first %d, and %d skipped", len(got), got[0], skipped)
		}
		slow.leave()
		<-slow.ended
	})
}

func TestReadersSeeThatAllWasRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := opened(t, Options{})
		r.Add(7, message(1, 10))
		one := reads(t, r, "after=0", "")
		r.Add(7, message(2, 10))
		r.Clear()
		r.Add(7, message(3, 10))
		time.Sleep(time.Second)
		synctest.Wait()
		all, _ := one.batches(t)
		if last := all[len(all)-1]; !last.Cleared || last.First != 3 || last.Skipped != 0 || !slices.Equal(numbers(last.Items), []uint64{3}) {
			t.Errorf("%+v", all)
		}
		one.leave()
		<-one.ended
	})
}

func TestReturningReadersSeeThatAllWasRemoved(t *testing.T) {
	for _, test := range []struct {
		last    string
		cleared bool
		want    []uint64
	}{
		{"3", true, []uint64{6}}, // it shows 1 to 3, and never got 4 and 5
		{"0", true, []uint64{6}},
		{"5", false, []uint64{6}}, // it was notified
		{"", false, []uint64{6}},  // it shows nothing
		{"6", false, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := opened(t, Options{})
			for n := 1; n <= 5; n++ {
				r.Add(7, message(n, 10))
			}
			r.Clear()
			if test.last == "6" {
				r.Add(7, message(6, 10))
			}
			one := reads(t, r, "", test.last)
			if test.last != "6" {
				r.Add(7, message(6, 10))
			}
			time.Sleep(time.Second)
			synctest.Wait()
			all, _ := one.batches(t)
			var got []uint64
			cleared, skipped := 0, uint64(0)
			for _, b := range all {
				got = append(got, numbers(b.Items)...)
				if skipped += b.Skipped; b.Cleared {
					cleared++
				}
			}
			if cleared > 1 || (cleared == 1) != test.cleared || skipped != 0 || !slices.Equal(got, test.want) {
				t.Errorf("after %q: %+v", test.last, all)
			}
			one.leave()
			<-one.ended
		})
	}
}

func TestAStreamShowsThatItLivesAndEndsWithItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := opened(t, Options{})
		one := reads(t, r, "", "")
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if got := strings.Count(one.Body.String(), ": alive\n\n"); got != 4 {
			t.Errorf("%d signs of life", got)
		}
		one.broken = true
		r.Add(7, message(1, 10))
		<-one.ended
	})
}

func TestThereAreAtMostSomeStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := opened(t, Options{})
		for range 2 { // streams that end, or are refused, make room
			var all []*reader
			for range maxStreams {
				all = append(all, reads(t, r, "", ""))
			}
			if got := asked(t, r, "GET", "/traffic/stream", http.StatusServiceUnavailable); got != fmt.Sprintf("{\"error\":\"%d pages watch already; close one\"}\n", maxStreams) {
				t.Error(got)
			}
			for _, one := range all {
				one.leave()
				if <-one.ended; one.Code != http.StatusOK {
					t.Errorf("status %d", one.Code)
				}
			}
		}
	})
}

func TestReadersSeeWhichProcessesEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := opened(t, Options{Messages: 100})
		conversation(r)
		r.End(7)
		if p := read[page](t, r, "/traffic"); !slices.Equal(p.Ended, []int32{7}) {
			t.Errorf("the list says that %v ended", p.Ended)
		}
		one := reads(t, r, "after=9", "")
		r.End(8)
		time.Sleep(time.Second)
		conversation(r) // both numbers belong to other processes now
		time.Sleep(time.Second)
		one.leave()
		<-one.ended
		all, _ := one.batches(t)
		var said [][]int32
		for _, b := range all {
			if b.Ended != nil {
				said = append(said, b.Ended)
			}
		}
		if len(said) < 3 || !slices.Equal(said[0], []int32{7}) || !slices.Equal(said[1], []int32{7, 8}) || len(said[len(said)-1]) > 0 {
			t.Errorf("the stream says that %v ended", said)
		}
	})
}

func TestOnlyTheNewestProcessesThatEndedAreKept(t *testing.T) {
	r := opened(t, Options{Messages: 100})
	for pid := range 2 * maxEnded {
		r.End(pid)
	}
	if len(r.ended) != maxEnded || r.ended[maxEnded-1] != 2*maxEnded-1 {
		t.Errorf("%d are kept, the newest is %d", len(r.ended), r.ended[len(r.ended)-1])
	}
}
