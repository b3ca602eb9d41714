package eventstream

import (
	"bytes"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// readAll reads src to its end.
func readAll(src io.Reader, maxEvent int) (events []Event, err error) {
	r := NewReader(src, maxEvent)
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

func data(lines ...string) Event { return Event{Data: []byte(strings.Join(lines, "\n"))} }

func TestReaderFollowsTheStandard(t *testing.T) {
	withID := func(e Event, id string) Event { e.ID, e.HasID = id, true; return e }
	named := func(e Event, name string) Event { e.Name = name; return e }
	for _, test := range []struct {
		name, in string
		want     []Event
	}{
		{"nothing", "", nil},
		{"one line", "data: hello\n\n", []Event{data("hello")}},
		{"lines end in CR", "data: hello\r\rdata: world\r\r", []Event{data("hello"), data("world")}},
		{"lines end in CRLF", "data: hello\r\n\r\ndata: world\r\n\r\n", []Event{data("hello"), data("world")}},
		{"line ends are mixed", "data: a\rdata: b\ndata: c\r\n\rdata: d\n\r\n", []Event{data("a", "b", "c"), data("d")}},
		{"LF CR is two line ends", "data: a\n\rdata: b\n\n", []Event{data("a"), data("b")}},
		{"several lines of data", "data: YHOO\ndata: +2\ndata: 10\n\n", []Event{data("YHOO", "+2", "10")}},
		{"only one space is removed", "data:  a\ndata:b\ndata: \tc\n\n", []Event{data(" a", "b", "\tc")}},
		{"a field without colon is empty", "data\n\ndata\ndata\n\n", []Event{data(""), data("", "")}},
		{"an empty data field is an event", "data:\n\ndata: \n\n", []Event{data(""), data("")}},
		{"a colon in the value stays", "data: a:b: c\n\n", []Event{data("a:b: c")}},
		{"comments are nothing", ": hi\n\n:\ndata: a\n: in between\ndata: b\n\n:", []Event{data("a", "b")}},
		{"unknown fields are nothing", "foo: bar\nDATA: a\n data: b\ndata : c\n\ndata: d\n\n", []Event{data("d")}},
		{"the last event is unfinished", "data: a\n\ndata: b\n", []Event{data("a")}},
		{"the last line is unfinished", "data: a\n\ndata: b", []Event{data("a")}},
		{"the last line end is a CR", "data: a\n\r", []Event{data("a")}},
		{"a byte order mark at the start", "\ufeffdata: a\n\n", []Event{data("a")}},
		{"a byte order mark alone", "\ufeff\n\ndata: a\n\n", []Event{data("a")}},
		{"a second byte order mark", "\ufeff\ufeffdata: a\n\ndata: b\n\n", []Event{data("b")}},
		{"a byte order mark later", "\n\ufeffdata: a\n\ndata: \ufeffb\n\n", []Event{data("\ufeffb")}},
		{"a name", "event: add\ndata: 1\n\nevent\ndata: 2\n\n", []Event{named(data("1"), "add"), data("2")}},
		{"the last name counts", "event: a\nevent: b\ndata: 1\n\n", []Event{named(data("1"), "b")}},
		{"a name without data is dropped", "event: a\n\ndata: 1\n\n", []Event{data("1")}},
		{"an id", "id: 1\ndata: a\n\ndata: b\n\n", []Event{withID(data("a"), "1"), data("b")}},
		{"an id between the data", "data: a\nid: 1\ndata: b\n\n", []Event{withID(data("a", "b"), "1")}},
		{"an empty id", "data: a\nid\n\n", []Event{withID(data("a"), "")}},
		{"an id with NUL is ignored", "id: 1\nid: a\x00b\ndata: a\n\n", []Event{withID(data("a"), "1")}},
		{"an id without data", "id: 1\n\n", []Event{withID(Event{}, "1")}},
		{"an id with empty data, which primes", "id: 1\ndata:\n\n", []Event{withID(data(""), "1")}},
		{"a retry time", "retry: 1500\n\n", []Event{{Retry: 1500 * time.Millisecond, HasRetry: true}}},
		{"a retry time of nothing", "retry: 0\ndata: a\n\n", []Event{{Retry: 0, HasRetry: true, Data: []byte("a")}}},
		{"no retry times", "retry: 1s\nretry: -1\nretry: +1\nretry: 1.5\nretry: 1_0\nretry:  1\nretry\nretry: ٣\ndata: a\n\n", []Event{data("a")}},
		{"a retry time that is too long", "retry: 99999999999999999999999\n\nretry: 9223372036855\n\n", []Event{
			{Retry: math.MaxInt64 / time.Millisecond * time.Millisecond, HasRetry: true},
			{Retry: math.MaxInt64 / time.Millisecond * time.Millisecond, HasRetry: true}}},
		{"blank lines between events", "\n\n\ndata: a\n\n\n\n\r\r\rdata: b\n\n", []Event{data("a"), data("b")}},
		{"invalid UTF-8 stays", "data: \xff\n\n", []Event{data("\xff")}},
		{"NUL in data stays", "data: \x00\n\n", []Event{data("\x00")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for way, src := range map[string]io.Reader{
				"at once":              strings.NewReader(test.in),
				"byte by byte":         iotest.OneByteReader(strings.NewReader(test.in)),
				"with the end at once": iotest.DataErrReader(strings.NewReader(test.in)),
				"in halves":            iotest.HalfReader(strings.NewReader(test.in)),
			} {
				got, err := readAll(src, 0)
				if err != io.EOF {
					t.Errorf("%s: error %v, want EOF", way, err)
				}
				if !reflect.DeepEqual(got, test.want) {
					t.Errorf("%s:\n got %+v\nwant %+v", way, got, test.want)
				}
			}
		})
	}
}

// An event must not wait for input after its blank line, which may not come for hours.
func TestEventIsDeliveredAtItsBlankLine(t *testing.T) {
	for _, in := range []string{"data: a\n\n", "data: a\r\r", "data: a\r\n\r", "data: a\r\n\r\n"} {
		r := NewReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(errors.New("read on"))), 0)
		if e, err := r.Next(); err != nil || string(e.Data) != "a" {
			t.Errorf("%q: %+v, %v", in, e, err)
		}
	}
}

func TestUnendedEvents(t *testing.T) {
	whole := func(data []byte) bool { return bytes.HasSuffix(data, []byte("}")) }
	cut := errors.New("cut")
	for _, test := range []struct {
		name, in string
		open     bool // the stream stays open after in
		want     []string
		unended  int
	}{
		{"ended", "data: {}\n\n", true, []string{"{}"}, 0},
		{"ended in another piece", "data: {}\n|\n", true, []string{"{}"}, 0},
		{"ended in another piece, in CRLF", "data: {}\r|\n|\r|\n", true, []string{"{}"}, 0},
		{"the stream ends behind it", "data: {}\n", false, []string{"{}"}, 1},
		{"the stream ends within its last line", "data: {}", false, []string{"{}"}, 1},
		{"the stream ends in its data", "data: {", false, nil, 0},
		{"the stream ends in the name of a field", "data: {}\n\ndata", false, []string{"{}"}, 0},
		{"the stream stays open", "data: {}\n", true, []string{"{}"}, 0},
		{"the stream stays open within its last line", "data: {}", true, nil, 0},
		{"the next event begins", "data: {}\n|event: message\ndata: {1}\n", true, []string{"{}", "{1}"}, 1},
		{"an id comes behind it", "data: {}\n|id: 1\n\n", true, []string{"{}", "id 1"}, 1},
		{"a comment comes behind it", "data: {}\n|:\n\n", true, []string{"{}"}, 1},
		{"more data comes in one piece", "data: {}\ndata: {1}\n", true, []string{"{}\n{1}"}, 0},
		{"lines that are whole together", "data: {\n|data: }\n", true, []string{"{\n}"}, 0},
		{"data that is not whole", "data: a\n", false, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			var pieces []io.Reader
			for piece := range strings.SplitSeq(test.in, "|") {
				pieces = append(pieces, strings.NewReader(piece))
			}
			if test.open {
				pieces = append(pieces, iotest.ErrReader(cut))
			}
			unended := 0
			r := NewReader(io.MultiReader(pieces...), 0)
			asked := func(data []byte) bool {
				if r.err == cut {
					return false // no further input comes
				}
				return whole(data)
			}
			r.AcceptUnended(asked, func() { unended++ })
			var got []string
			for {
				e, err := r.Next()
				if err != nil {
					break
				}
				if got = append(got, string(e.Data)); e.HasID {
					got[len(got)-1] = "id " + e.ID
				}
			}
			if !slices.Equal(got, test.want) || unended != test.unended {
				t.Errorf("got %q, %d without their blank line; want %q, %d", got, unended, test.want, test.unended)
			}
		})
	}
}

func TestErrorOfTheStreamIsReturnedBehindItsEvents(t *testing.T) {
	cut := errors.New("cut")
	src := io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(cut))
	r := NewReader(iotest.DataErrReader(src), 0)
	if e, err := r.Next(); err != nil || string(e.Data) != "a" {
		t.Errorf("%+v, %v", e, err)
	}
	for range 2 {
		if _, err := r.Next(); err != cut {
			t.Errorf("error %v, want %v", err, cut)
		}
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

func TestReaderThatGivesNothingIsGivenUp(t *testing.T) {
	if _, err := NewReader(emptyReader{}, 0).Next(); err != io.ErrNoProgress {
		t.Errorf("error %v, want %v", err, io.ErrNoProgress)
	}
}

func TestLimitIsExact(t *testing.T) {
	const limit = 100
	fill := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		name, in string
		events   int
		tooLarge bool
	}{
		{"one line of the limit", "data: " + fill(93) + "\n\n", 1, false},
		{"one line above it", "data: " + fill(94) + "\n\n", 0, true},
		{"two lines above it", "data: " + fill(40) + "\ndata: " + fill(47) + "\n\n", 0, true},
		{"two lines of the limit", "data: " + fill(40) + "\ndata: " + fill(46) + "\n\n", 1, false},
		{"a line without end", "data: " + fill(1000), 0, true},
		{"CRLF counts as two", "data: " + fill(92) + "\r\n\r\n", 1, false},
		{"an event behind another", "data: " + fill(93) + "\n\ndata: " + fill(94) + "\n\n", 1, true},
		{"a long comment", ":" + fill(100) + "\n", 0, true},
		{"many comments", strings.Repeat(": "+fill(90)+"\n", 10) + "data: a\n\n", 1, false},
		{"many unknown fields", strings.Repeat("foo: "+fill(90)+"\n", 10) + "data: a\n\n", 1, false},
		{"many comments within an event", "data: a\n" + strings.Repeat(":\n", 50) + "\n", 0, true},
		{"many names", strings.Repeat("event: a\n", 20) + "\n", 0, true},
		{"many events", strings.Repeat("data: "+fill(80)+"\n\n", 1000), 1000, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			for way, src := range map[string]io.Reader{
				"at once":      strings.NewReader(test.in),
				"byte by byte": iotest.OneByteReader(strings.NewReader(test.in)),
			} {
				got, err := readAll(src, limit)
				if len(got) != test.events || errors.Is(err, ErrTooLarge) != test.tooLarge {
					t.Errorf("%s: %d events, then %v", way, len(got), err)
				}
			}
		})
	}
}

// An endless line needs no more memory than the limit.
func TestMemoryIsBounded(t *testing.T) {
	r := NewReader(endless{}, 1<<20)
	if _, err := r.Next(); !errors.Is(err, ErrTooLarge) {
		t.Fatal(err)
	}
	if r.buf.bytes != nil {
		t.Error("the buffer is kept after an error")
	}
	got := testing.AllocsPerRun(1, func() { NewReader(endless{}, 1<<20).Next() })
	if got > 30 {
		t.Errorf("%v allocations", got)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

func TestDataBelongsToTheCaller(t *testing.T) {
	for _, size := range []int{10, 5 << 10, 100 << 10, 1 << 20} {
		var stream []byte
		for i := range 5 {
			stream = AppendEvent(stream, Event{Data: bytes.Repeat([]byte{'a' + byte(i)}, size)})
		}
		events, _ := readAll(bytes.NewReader(stream), 0)
		if len(events) != 5 {
			t.Fatalf("%d events", len(events))
		}
		for i, e := range events {
			if !bytes.Equal(e.Data, bytes.Repeat([]byte{'a' + byte(i)}, size)) {
				t.Errorf("event %d of %d bytes was changed by later ones", i, size)
			}
			if cap(e.Data) > size+size/4+64 {
				t.Errorf("event %d of %d bytes has capacity %d", i, size, cap(e.Data))
			}
		}
	}
}

func TestLargeEventDoesNotLeaveALargeBuffer(t *testing.T) {
	stream := AppendEvent(nil, Event{Data: bytes.Repeat([]byte("x"), 1<<20)})
	stream = AppendEvent(stream, Event{Data: bytes.Repeat([]byte("many\n"), 1<<18)})
	stream = AppendEvent(stream, Event{Data: []byte("small")})
	r := NewReader(&chunks{src: stream, size: 16 << 10}, 0)
	for _, want := range []int{1 << 20, 5 << 18, 5} {
		e, err := r.Next()
		if err != nil || len(e.Data) != want {
			t.Fatalf("event of %d bytes, %v; want %d", len(e.Data), err, want)
		}
		if len(r.buf.bytes) > keptBuffer {
			t.Errorf("buffer of %d bytes after an event of %d", len(r.buf.bytes), want)
		}
	}
}
