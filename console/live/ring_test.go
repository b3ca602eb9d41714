package live

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/traffic"
)

var began = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// opened returns a Ring that is closed when the test ends.
func opened(t testing.TB, o Options) *Ring {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	r := Open(o)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// message returns message number n of the given size.
func message(n, size int) *traffic.Event {
	text := fmt.Sprintf(`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"tool%d","arguments":{"text":"%s"}}}`, n, strings.Repeat("x", size))
	return &traffic.Event{Time: began.Add(time.Duration(n) * time.Millisecond), Kind: traffic.Request, Hop: traffic.Client, ToServer: true, Client: "me/1", Method: "tools/call",
		Name: fmt.Sprintf("tool%d", n), Call: uint64(n), ID: json.RawMessage(fmt.Sprint(n)), Size: len(text), Message: json.RawMessage(text)}
}

// holds fails unless the ring has exactly the messages from first to last with their content.
func holds(t *testing.T, r *Ring, first, last uint64, size int) {
	t.Helper()
	if r.index.First != first || r.index.Next != last+1 {
		t.Fatalf("it has messages %d to %d, want %d to %d", r.index.First, r.index.Next-1, first, last)
	}
	for n := first; n <= last; n++ {
		want := message(int(n), size)
		d, known := r.wholeOf(n)
		if !known || string(d.Message) != string(want.Message) || d.Name != want.Name || !d.Time.Equal(want.Time) || string(d.ID) != string(want.ID) || d.Missing != "" {
			t.Fatalf("message %d is %+v", n, d)
		}
	}
	if len(r.calls) != int(last-first+1) {
		t.Errorf("%d calls are remembered", len(r.calls))
	}
}

func TestTheOldestMessagesGoFirst(t *testing.T) {
	r := opened(t, Options{Messages: 10})
	for n := 1; n <= 25; n++ {
		r.Add(7, message(n, 10))
	}
	holds(t, r, 16, 25, 10)
	if _, known := r.wholeOf(15); known {
		t.Error("message 15 is there still")
	}
}

func TestTheFileHasALimitInBytes(t *testing.T) {
	const size = 100_000
	dir := t.TempDir()
	r := opened(t, Options{Dir: dir, Bytes: 1})
	for n := 1; n <= 500; n++ {
		r.Add(7, message(n, size))
		if info, err := r.file.Stat(); err != nil || info.Size() > minBytes {
			t.Fatal(info.Size(), err)
		}
	}
	kept := r.index.Next - r.index.First
	if kept < minBytes/(size+1000)-1 || kept > minBytes/size {
		t.Errorf("%d messages of %d bytes are kept in %d", kept, size, minBytes)
	}
	holds(t, r, 501-kept, 500, size)
}

// Messages have all lengths, so that each is written over parts of others, also at the end of the
// file.
func TestMessagesOfAllLengthsAreKeptWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine keeps and reads many messages")
	}
	r := opened(t, Options{Bytes: 1})
	size := func(n int) int { return n * 7919 % 300_000 }
	for n := 1; n <= 600; n++ {
		r.Add(7, message(n, size(n)))
		if n%50 == 0 {
			for at := r.index.First; at < r.index.Next; at++ {
				if d, known := r.wholeOf(at); !known || string(d.Message) != string(message(int(at), size(int(at))).Message) {
					t.Fatalf("message %d after %d: %v, %s", at, n, known, d.Missing)
				}
			}
		}
	}
}

func TestNamesHaveALimitInBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine adds many messages")
	}
	r := opened(t, Options{})
	for n := 1; n <= 20_000; n++ {
		e := message(n, 10)
		e.Name = fmt.Sprint(n) + strings.Repeat("名", 2_000)
		r.Add(7, e)
	}
	if kept := r.index.Next - r.index.First; r.table.bytes > maxWords || kept < 10_000 || kept > 11_000 { // each has a little over 1,500
		t.Errorf("%d messages have names of %d bytes", kept, r.table.bytes)
	}
	r.Clear()
	if len(r.table.numbers) != 0 || r.table.bytes != 0 || len(r.calls) != 0 {
		t.Errorf("left are %d names of %d bytes, and %d calls", len(r.table.numbers), r.table.bytes, len(r.calls))
	}
}

func TestLongNamesDoNotDisplaceOtherMessages(t *testing.T) {
	r := opened(t, Options{})
	for n := 1; n <= 1_000; n++ {
		r.Add(7, message(n, 10))
	}
	long := strings.Repeat("é", 1<<20-300)
	for _, e := range []traffic.Event{{Client: long}, {Server: long}, {Method: long}, {Name: long}, {Note: long}} {
		e.Time, e.Kind, e.Hop = time.Now(), traffic.Request, traffic.Client
		r.Add(8, &e)
	}
	p := r.list(&filter{}, 0, true, 1_005)
	if len(p.Items) != 1_005 || p.First != 1 {
		t.Fatalf("%d of 1005 messages are left, the first %d", len(p.Items), p.First)
	}
	want := long[:2*maxWord]
	if all := p.Items[1_000:]; all[0].Client != want || all[1].Server != want || all[2].Method != want || all[3].Name != want || all[4].Note != want {
		t.Errorf("they are not cut to %d characters", maxWord)
	}
	f, err := filterOf(url.Values{"method": {long}})
	if err != nil {
		t.Fatal(err)
	}
	if p := r.list(&f, 0, true, 10); len(p.Items) != 1 || p.Items[0].Seq != 1_003 {
		t.Errorf("by its method there is %+v", p.Items)
	}
}

func TestTheIndexWorksWithoutAFile(t *testing.T) {
	r := opened(t, Options{})
	r.Add(7, message(1, 10))
	full, err := os.Open(os.DevNull) // cannot be written
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	file := r.file
	r.file = full
	r.Add(7, message(2, 10))
	p := r.list(&filter{}, 0, false, 10)
	r.file = file
	if len(p.Items) != 2 || p.Items[0].Name != "tool2" || !strings.HasPrefix(p.Fault, "messages are not kept: ") {
		t.Errorf("%+v", p)
	}
	if d, known := r.wholeOf(2); !known || d.Message != nil || d.Missing != "it was not kept" || d.Size == 0 {
		t.Errorf("%v, %+v", known, d)
	}
	r.Add(7, message(3, 10))
	if p := r.list(&filter{}, 0, false, 10); p.Fault != "" || len(p.Items) != 3 {
		t.Errorf("%+v", p)
	}
	if d, _ := r.wholeOf(1); d.Missing != "" {
		t.Errorf("%+v", d)
	}
	if d, _ := r.wholeOf(3); d.Missing != "" {
		t.Errorf("%+v", d)
	}
}

func TestServingWithoutAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := opened(t, Options{Dir: filepath.Join(file, "folder")})
	r.Add(7, message(1, 10))
	p := r.list(&filter{}, 0, false, 10)
	if len(p.Items) != 1 || !strings.HasPrefix(p.Fault, "messages are not kept: ") {
		t.Errorf("%+v", p)
	}
	if d, _ := r.wholeOf(1); d.Missing != "it was not kept" {
		t.Errorf("%+v", d)
	}
	if p := r.list(&filter{texts: [][]byte{[]byte("x")}}, 0, false, 10); len(p.Items) != 0 {
		t.Errorf("%+v", p)
	}
}

func TestManyMessagesCostLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine adds many messages, to measure what they take")
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	r := opened(t, Options{})
	for n := range defaultMessages + 10_000 { // four messages a call, and each call is of the next of a hundred tools
		e := message(n/4, 10)
		e.Name = fmt.Sprint("tool", n/4%100)
		r.Add(7, e)
	}
	if held := heap() - before; held > 30<<20 || r.index.Next-r.index.First != defaultMessages {
		t.Errorf("%d messages cost %d KiB", r.index.Next-r.index.First, held>>10)
	} else {
		t.Logf("%d KiB", held>>10)
	}
	runtime.KeepAlive(r)
}

// A killed process left a file behind.
func TestNoFileIsLeft(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	left, other := filepath.Join(dir, "killed.ring"), filepath.Join(dir, "other")
	for _, path := range []string{left, other} {
		if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, second := Open(Options{Dir: dir}), Open(Options{Dir: dir})
	r.Add(7, message(1, 10))
	if _, err := os.Stat(left); err == nil {
		t.Error("what a process left that was killed is there still")
	}
	if info, err := r.file.Stat(); runtime.GOOS != "windows" && (err != nil || info.Mode().Perm() != 0o600) {
		t.Error(info.Mode(), err)
	}
	if d, _ := r.wholeOf(1); d.Missing != "" {
		t.Errorf("the second one took the file of the first: %+v", d)
	}
	for _, one := range []*Ring{r, second} {
		if err := one.Close(); err != nil {
			t.Error(err)
		}
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(names) != 1 || names[0] != other {
		t.Error(names, err)
	}
}

func FuzzRecord(f *testing.F) {
	record, head := appendRecord(nil, message(1, 10))
	f.Add(record, head)
	f.Add([]byte("{}\n"), 3)
	f.Add([]byte("{\"id\":17}\n{"), 10)
	f.Add([]byte("\n"), 1)
	f.Add([]byte{}, 0)
	f.Fuzz(func(t *testing.T, record []byte, head int) {
		s, err := decode(record, head)
		if err != nil {
			return
		}
		again, head := appendRecord(nil, &traffic.Event{ID: s.ID, Revision: s.Revision, Transport: s.Transport, Fault: s.Fault, Message: s.Message})
		same, err := decode(again, head)
		if err != nil || string(same.Message) != string(s.Message) || string(same.ID) != string(s.ID) || same.Revision != s.Revision || same.Transport != s.Transport || same.Fault != s.Fault {
			t.Errorf("%+v becomes %+v: %v", s, same, err)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	for _, together := range []int{1, 100} {
		b.Run(fmt.Sprint(together), func(b *testing.B) {
			r := opened(b, Options{})
			events := slices.Repeat([]*traffic.Event{message(1, 1_000)}, together)
			b.ReportAllocs()
			for n := 0; n < b.N; n += together {
				r.Add(7, events...)
			}
		})
	}
}

// filled returns a ring of 100,000 messages of about 1 KB.
func filled(b *testing.B) *Ring {
	r := opened(b, Options{})
	for n := 1; n <= 100_000; n++ {
		e := message(n, 800)
		e.Name = fmt.Sprintf("tool%d", n%100)
		r.Add(7, e)
	}
	return r
}

func BenchmarkList(b *testing.B) {
	r := filled(b)
	for _, test := range []struct {
		name string
		f    filter
	}{
		{"all", filter{}},
		{"errors, of which there are none", filter{errors: true}},
		{"a name", filter{name: "tool77"}},
		{"a text that is in each", filter{texts: [][]byte{[]byte("xxx")}}},
		{"a text that is nowhere", filter{texts: [][]byte{[]byte("nowhere")}}},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.list(&test.f, 0, false, 200)
			}
		})
	}
}

// A message that many events share is in the index once. It is found like any other, and removed
// with the last of these events.
func TestMessagesThatManyHaveAreKeptOnce(t *testing.T) {
	const note = `{"url":"http://h.example/mcp","requestHeaders":{"Mcp-Name":["needle"]}}`
	r := opened(t, Options{Messages: 100})
	event := func(n int, text string) *traffic.Event {
		return &traffic.Event{Kind: traffic.Note, Note: "http", Hop: traffic.Client, Call: uint64(n), ID: json.RawMessage(fmt.Sprint(n)), Message: json.RawMessage(text), Size: len(text), Shared: true}
	}
	for n := 1; n <= 10; n++ {
		r.Add(7, event(n, note))
	}
	long := strings.Repeat(" ", maxShared) + note
	r.Add(7, event(11, long))
	if got := r.table.bytes; got > 2*(len(note)+textsSize) {
		t.Errorf("the index has %d bytes of texts", got)
	}
	for n := uint64(1); n <= 11; n++ {
		want := note
		if n == 11 {
			want = long
		}
		d, known := r.wholeOf(n)
		if !known || string(d.Message) != want || string(d.ID) != fmt.Sprint(n) || d.Missing != "" {
			t.Errorf("message %d: %+v", n, d)
		}
	}
	f, err := filterOf(url.Values{"text": {"needle"}})
	if err != nil {
		t.Fatal(err)
	}
	if p := r.list(&f, 0, true, 100); len(p.Items) != 11 {
		t.Errorf("%d are found", len(p.Items))
	}
	for n := range 200 {
		r.Add(7, message(n+1, 10))
	}
	for kept := range r.table.numbers {
		if kept.shared != "" {
			t.Error("it is in the index still")
		}
	}
}

// A shared message counts in a search for each event that has it, so that a page does not take
// longer than with other messages.
func TestASearchIsLimitedInSharedMessages(t *testing.T) {
	r := opened(t, Options{})
	note := json.RawMessage(`{"a":"` + strings.Repeat("x", maxShared-10) + `"}`)
	const count = 3 * maxSearched / maxShared
	for n := range count {
		r.Add(7, &traffic.Event{Kind: traffic.Note, Note: "review", Hop: traffic.Client, Call: uint64(n + 1), Message: note, Size: len(note), Shared: true})
	}
	f, err := filterOf(url.Values{"text": {"needle"}})
	if err != nil {
		t.Fatal(err)
	}
	p := r.list(&f, 0, false, 100)
	if looked := count - p.Next; !p.More || looked > count/2 {
		t.Errorf("%d of %d messages are looked at", looked, count)
	}
}
