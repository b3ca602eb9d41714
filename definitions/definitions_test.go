package definitions_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/definitions"
)

func open(t *testing.T, dir string) *definitions.Store {
	t.Helper()
	s, err := definitions.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sample() *definitions.Definitions {
	return &definitions.Definitions{
		Server: json.RawMessage(`{"name":"weather","version":"1"}`), Capabilities: json.RawMessage(`{"tools":{}}`),
		Instructions: "Ask for \"cities\".\n", Revision: "2025-06-18", Read: time.Date(2026, 11, 28, 12, 30, 15, 0, time.UTC),
		Tools:     []json.RawMessage{json.RawMessage(`{"name":"a","inputSchema":{"type":"object"}}`), json.RawMessage(`{"name":"b"}`)},
		Templates: []json.RawMessage{json.RawMessage(`{"uriTemplate":"x://{y}"}`)},
	}
}

func TestSavedDefinitionsAreLoadedByAnotherProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	origin := definitions.Origin{Command: "weather", Args: []string{"--all"}}
	if d := open(t, dir).Entry(origin).Load(); d != nil {
		t.Errorf("before anything was saved: %+v", d)
	}
	if err := open(t, dir).Entry(origin).Save(sample()); err != nil {
		t.Fatal(err)
	}
	d := open(t, dir).Entry(origin).Load()
	if !d.Equal(sample()) {
		t.Errorf("loaded %+v", d)
	}
	if !d.Read.Equal(sample().Read) {
		t.Errorf("read at %v, want %v", d.Read, sample().Read)
	}
	d.Read = d.Read.Add(time.Hour)
	if !d.Equal(sample()) {
		t.Error("the same, read later, is not equal")
	}
	d.Tools = d.Tools[:1]
	if d.Equal(sample()) || d.Equal(nil) {
		t.Error("what differs is equal")
	}
	if err := open(t, dir).Entry(origin).Save(nil); err != nil {
		t.Fatal(err)
	}
	if d := open(t, dir).Entry(origin).Load(); d != nil {
		t.Errorf("after it was forgotten: %+v", d)
	}
}

func TestEveryPartOfAnOriginCounts(t *testing.T) {
	s := open(t, t.TempDir())
	origins := []definitions.Origin{
		{Command: "a"},
		{Command: "a", Args: []string{"b"}},
		{Command: "a", Args: []string{"b", ""}},
		{Command: "a", Args: []string{"b:1:c"}},
		{Command: "a", Args: []string{"b", "c"}},
		{Command: "a", Dir: "/tmp"},
		{Command: "a", Env: map[string]string{"KEY": "1"}},
		{Command: "a", Env: map[string]string{"KEY": "2"}},
		{Command: "a", Unset: []string{"KEY"}},
		{URL: "a"},
		{URL: "a", Headers: map[string]string{"KEY": "1"}},
		{URL: "a", Client: `{"roots":{}}`},
	}
	for i, o := range origins {
		d := sample()
		d.Instructions = fmt.Sprint(i)
		if err := s.Entry(o).Save(d); err != nil {
			t.Fatal(err)
		}
	}
	for i, o := range origins {
		if d := s.Entry(o).Load(); d == nil || d.Instructions != fmt.Sprint(i) {
			t.Errorf("%+v: %+v", o, d)
		}
	}
}

func TestRememberedDefinitionsOfOtherClients(t *testing.T) {
	s := open(t, t.TempDir())
	own, plain, full := definitions.Origin{Command: "a", Client: "own"}, definitions.Origin{Command: "a"}, definitions.Origin{Command: "a", Client: "full"}
	e := s.Entry(own, plain, full)
	for _, o := range []definitions.Origin{full, plain, own} {
		d := sample()
		d.Instructions = o.Client
		if err := s.Entry(o).Save(d); err != nil {
			t.Fatal(err)
		}
		if got := e.Load(); got == nil || got.Instructions != o.Client {
			t.Errorf("%q: %+v", o.Client, got)
		}
	}
	if err := e.Save(nil); err != nil || s.Entry(own).Load() != nil || s.Entry(plain).Load() == nil {
		t.Errorf("Save is about the others, too: %v", err)
	}
}

func TestNothingOfAnOriginIsWrittenAndOnlyTheUserReads(t *testing.T) {
	dir := t.TempDir()
	o := definitions.Origin{Command: "/opt/hunter1", Args: []string{"hunter2"}, Env: map[string]string{"KEY": "hunter3"}, Headers: map[string]string{"A": "hunter4"}}
	if err := open(t, dir).Entry(o).Save(sample()); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || bytes.Contains(data, []byte("hunter")) || strings.Contains(f.Name(), "hunter") {
			t.Errorf("%s: %s, %v", f.Name(), data, err)
		}
		if info, _ := f.Info(); runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", f.Name(), info.Mode())
		}
	}
}

func TestDamagedAndForeignFilesAreIgnored(t *testing.T) {
	dir := t.TempDir()
	entry := open(t, dir).Entry(definitions.Origin{Command: "a"})
	if err := entry.Save(sample()); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	good, err := os.ReadFile(names[0])
	if err != nil {
		t.Fatal(err)
	}
	for what, data := range map[string][]byte{
		"empty":           nil,
		"cut off":         good[:len(good)-1],
		"cut off inside":  good[:len(good)/2],
		"a later format":  bytes.Replace(good, []byte(`"format":1`), []byte(`"format":2`), 1),
		"another's key":   bytes.Replace(good, []byte(`"key":"`), []byte(`"key":"0`), 1),
		"a list missing":  bytes.Replace(good, []byte(`"prompts"`), []byte(`"promptz"`), 1),
		"no list":         bytes.Replace(good, []byte(`"prompts":[]`), []byte(`"prompts":{}`), 1),
		"invalid inside":  bytes.Replace(good, []byte(`"type":"object"`), []byte(`"type":object`), 1),
		"more behind it":  append(bytes.Clone(good), '}'),
		"zeros":           make([]byte, 1000),
		"larger than all": append(bytes.Clone(good), bytes.Repeat([]byte(" "), 4<<20)...),
	} {
		if err := os.WriteFile(names[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		if d := entry.Load(); d != nil {
			t.Errorf("%s: loaded %+v", what, d)
		}
	}
	if err := entry.Save(sample()); err != nil || entry.Load() == nil {
		t.Errorf("it is not mended: %v", err)
	}
}

func TestTooLargeDefinitionsAreNotKept(t *testing.T) {
	entry := open(t, t.TempDir()).Entry(definitions.Origin{Command: "a"})
	if err := entry.Save(sample()); err != nil {
		t.Fatal(err)
	}
	large := sample()
	large.Instructions = strings.Repeat("x", 5<<20)
	if err := entry.Save(large); err == nil || !strings.Contains(err.Error(), "at most 4194304") {
		t.Errorf("the error is %v", err)
	}
	if d := entry.Load(); d != nil {
		t.Error("what was remembered before is still there")
	}
}

func TestOfTooManyTheOnesNotUsedAreForgotten(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	entry := func(i int) *definitions.Entry { return s.Entry(definitions.Origin{Command: fmt.Sprint(i)}) }
	save := func(i int) {
		t.Helper()
		if err := entry(i).Save(sample()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 256 {
		save(i)
	}
	hourAgo := time.Now().Add(-time.Hour)
	names, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for i, name := range names {
		at := hourAgo.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if entry(7).Load() == nil {
		t.Fatal("it is not there")
	}
	for i := 256; i < 300; i++ {
		save(i)
	}
	names, _ = filepath.Glob(filepath.Join(dir, "*.json"))
	if len(names) != 256 || entry(7).Load() == nil || entry(299).Load() == nil {
		t.Errorf("%d files are left", len(names))
	}
}

func TestProcessesThatStartAtOnceShareOneKey(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	stores := make([]*definitions.Store, 16)
	for i := range stores {
		wg.Go(func() { stores[i], _ = definitions.Open(dir) })
	}
	wg.Wait()
	o := definitions.Origin{Command: "a"}
	if err := stores[0].Entry(o).Save(sample()); err != nil {
		t.Fatal(err)
	}
	for i, s := range stores {
		if s.Entry(o).Load() == nil {
			t.Errorf("process %d does not find it", i)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".new-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func BenchmarkLoad(b *testing.B) {
	s, err := definitions.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	d := sample()
	for i := range 20 {
		d.Tools = append(d.Tools, json.RawMessage(fmt.Sprintf(`{"name":"tool%d","description":%q,"inputSchema":{"type":"object","properties":{"a":{"type":"string","description":%q}}}}`,
			i, strings.Repeat("does things ", 40), strings.Repeat("an argument ", 20))))
	}
	entry := s.Entry(definitions.Origin{Command: "a"})
	if err := entry.Save(d); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if entry.Load() == nil {
			b.Fatal("not there")
		}
	}
}
