package eventstream

import (
	"bytes"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestAppendEvent(t *testing.T) {
	for _, test := range []struct {
		name string
		in   Event
		want string
	}{
		{"nothing", Event{}, ""},
		{"a message", Event{Name: "message", Data: []byte(`{"a":1}`)}, "event: message\ndata: {\"a\":1}\n\n"},
		{"several lines", Event{Data: []byte("a\nb\rc\r\nd\n\re\n")}, "data: a\ndata: b\ndata: c\ndata: d\ndata:\ndata: e\ndata:\n\n"},
		{"several lines without CR", Event{Data: []byte("a\n\nb")}, "data: a\ndata:\ndata: b\n\n"},
		{"data that begins with a space", Event{Data: []byte(" a")}, "data:  a\n\n"},
		{"empty data", Event{Data: []byte{}}, "data:\n\n"},
		{"a priming event", Event{ID: "7", HasID: true, Data: []byte{}, Retry: 2 * time.Second, HasRetry: true}, "id: 7\nretry: 2000\ndata:\n\n"},
		{"an id alone", Event{ID: "7", HasID: true}, "id: 7\n\n"},
		{"an id that is not set", Event{ID: "7", Data: []byte("a")}, "data: a\n\n"},
		{"an empty id", Event{HasID: true}, "id: \n\n"},
		{"an id with a line end", Event{ID: "7\ndata: evil", HasID: true, Data: []byte("a")}, "data: a\n\n"},
		{"an id with CR", Event{ID: "7\rdata: evil", HasID: true}, ""},
		{"an id with NUL", Event{ID: "7\x00", HasID: true}, ""},
		{"a name with a line end", Event{Name: "a\ndata: evil", Data: []byte("a")}, "data: a\n\n"},
		{"a negative retry time", Event{Retry: -1, HasRetry: true, Data: []byte("a")}, "data: a\n\n"},
		{"a retry time of nothing", Event{HasRetry: true}, "retry: 0\n\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := AppendEvent([]byte("before"), test.in)
			if string(got) != "before"+test.want {
				t.Errorf("%q, want %q behind before", got, test.want)
			}
		})
	}
}

// FuzzReader compares the events with those of a reader that splits everything first, and with
// those read after writing them again.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\ufeffdata: a\r\ndata:b\r\rid: 1\nretry: 10\nevent: x\n\n:c\n\ndata"), uint16(3))
	f.Add([]byte("data\n\rid: \x00\r\n\r\n"), uint16(1))
	f.Add([]byte("retry:01\rretry:0\n\n"), uint16(69)) // the last one counts
	f.Fuzz(func(t *testing.T, in []byte, chunk uint16) {
		want := slowRead(string(in))
		got, err := readAll(&chunks{src: in, size: int(chunk) + 1}, 0)
		if err != io.EOF || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
		var again []byte
		for _, e := range got {
			again = AppendEvent(again, e)
		}
		second, err := readAll(bytes.NewReader(again), 0)
		if err != io.EOF || !reflect.DeepEqual(second, got) {
			t.Fatalf("written again %+v, %v\nwant %+v", second, err, got)
		}
		limited, err := readAll(bytes.NewReader(in), 20)
		bytewise, bytewiseErr := readAll(iotest.OneByteReader(bytes.NewReader(in)), 20)
		if !reflect.DeepEqual(limited, bytewise) || err.Error() != bytewiseErr.Error() {
			t.Fatalf("with a limit %+v, %v\nbyte by byte %+v, %v", limited, err, bytewise, bytewiseErr)
		}
		for _, size := range []int{1, int(chunk) + 1} {
			strict, unended := dataLines(got), 0
			early, err := readUnended(&chunks{src: in, size: size}, func(data []byte) bool { return bytes.HasSuffix(data, []byte("b")) }, &unended)
			if lines := dataLines(early); err != io.EOF || len(lines) < len(strict) || !slices.Equal(lines[:len(strict)], strict) {
				t.Fatalf("with events that need no blank line, %d bytes at a time: %+v, %v\nwant what begins with %+v", size, early, err, got)
			}
			never, err := readUnended(&chunks{src: in, size: size}, func([]byte) bool { return false }, &unended)
			if err != io.EOF || !reflect.DeepEqual(never, want) {
				t.Fatalf("with events that all need one, %d bytes at a time: %+v, %v\nwant %+v", size, never, err, want)
			}
		}
	})
}

// readUnended reads src to its end, accepting events without a blank line, and counts those.
func readUnended(src io.Reader, whole func([]byte) bool, unended *int) (events []Event, err error) {
	r := NewReader(src, 0)
	r.AcceptUnended(whole, func() { *unended++ })
	for {
		e, err := r.Next()
		if err != nil {
			return events, err
		}
		events = append(events, e)
	}
}

// dataLines returns the lines of data of all events.
func dataLines(events []Event) (lines []string) {
	for _, e := range events {
		if e.Data != nil {
			lines = append(lines, strings.Split(string(e.Data), "\n")...)
		}
	}
	return lines
}

// slowRead is the standard's algorithm, word for word.
func slowRead(in string) (events []Event) {
	in = strings.TrimPrefix(in, "\ufeff")
	in = strings.ReplaceAll(strings.ReplaceAll(in, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(in, "\n")
	var e Event
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if e.Data != nil || e.HasID || e.HasRetry {
				e.Data = bytes.TrimSuffix(e.Data, []byte("\n"))
				events = append(events, e)
			}
			e = Event{}
		case field == "event":
			e.Name = value
		case field == "data":
			e.Data = append(append(e.Data, value...), '\n')
		case field == "id" && !strings.Contains(value, "\x00"):
			e.ID, e.HasID = value, true
		case field == "retry" && value != "" && strings.Trim(value, "0123456789") == "":
			e.HasRetry, e.Retry = true, 0
			for _, digit := range value {
				if e.Retry = e.Retry*10 + time.Duration(digit-'0'); e.Retry > maxRetry {
					e.Retry = maxRetry
				}
			}
			e.Retry *= time.Millisecond
		}
	}
	return events
}

const maxRetry = (1<<63 - 1) / time.Millisecond

// chunks returns size bytes at a time.
type chunks struct {
	src  []byte
	size int
}

func (c *chunks) Read(b []byte) (int, error) {
	if len(c.src) == 0 {
		return 0, io.EOF
	}
	n := copy(b, c.src[:min(c.size, len(c.src))])
	c.src = c.src[n:]
	return n, nil
}

func BenchmarkRead(b *testing.B) {
	for name, size := range map[string]int{"200B": 200, "10KiB": 10 << 10, "1MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			event := AppendEvent(nil, Event{Name: "message", ID: "1", HasID: true, Data: bytes.Repeat([]byte("x"), size)})
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			r := NewReader(&repeated{text: event}, 0)
			for b.Loop() {
				if _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// repeated returns the same text without end, at most 32 KiB at a time, like a connection.
type repeated struct {
	text []byte
	at   int
}

func (r *repeated) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), 32<<10)], r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

func BenchmarkAppend1MiB(b *testing.B) {
	event := Event{Name: "message", Data: bytes.Repeat([]byte("x"), 1<<20)}
	b.SetBytes(1 << 20)
	b.ReportAllocs()
	var buf []byte
	for b.Loop() {
		buf = AppendEvent(buf[:0], event)
	}
}

// The reader's work on a hostile stream is linear in its length.
func BenchmarkReadOnlyCR(b *testing.B) {
	stream := bytes.Repeat([]byte("\r"), 1<<20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		readAll(bytes.NewReader(stream), 0)
	}
}
