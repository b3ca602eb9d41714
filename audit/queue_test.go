package audit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// openedLog returns a log in a new folder, with its key.
func openedLog(t *testing.T) (l *Log, dir string, key *Key) {
	t.Helper()
	key, err := ReadKey(filepath.Join(t.TempDir(), "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if l, err = Open(dir, Options{Key: key, NoSync: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, dir, key
}

// taken returns the lines of events and notes of a log, in short.
func taken(t *testing.T, l *Log, dir string) (all []string) {
	t.Helper()
	if err := l.Flush(); err != nil {
		t.Fatal(err)
	}
	for line, err := range Read(dir, Filter{Kind: "admin,note"}) {
		if err != nil {
			t.Fatal(err)
		}
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, strings.TrimSpace(r.Event+" "+r.Name+r.Reason))
	}
	return all
}

func TestAQueuePassesEventsToEachLogOnce(t *testing.T) {
	l, dir, key := openedLog(t)
	path := filepath.Join(t.TempDir(), "audit.queue")
	q := NewQueue(path, key)
	add := func(name string) {
		t.Helper()
		if err := q.Add(t.Context(), &Record{Event: EventKeyCreate, Name: name, Operator: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	take := func(l *Log) {
		t.Helper()
		if err := l.Take(q); err != nil {
			t.Fatal(err)
		}
	}
	take(l) // there is no file yet
	add("a")
	add("b")
	take(l)
	take(l)
	add("c")
	take(l)
	if got, want := taken(t, l, dir), []string{"key.create a", "key.create b", "key.create c"}; !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir, Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	add("d")
	take(again)
	if got := taken(t, again, dir); len(got) != 4 || got[3] != "key.create d" {
		t.Errorf("after a restart the log has %q", got)
	}
	if report, err := Verify(dir, key); err != nil || report.Count != 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may open it: %v, %v", info.Mode(), err)
	}
}

func TestForgedAndMissingEntriesOfAQueueAreNoted(t *testing.T) {
	l, dir, key := openedLog(t)
	path := filepath.Join(t.TempDir(), "audit.queue")
	q := NewQueue(path, key)
	for _, name := range []string{"a", "b", "c", "d"} {
		if err := q.Add(t.Context(), &Record{Event: EventKeyCreate, Name: name}); err != nil {
			t.Fatal(err)
		}
		if name == "a" {
			if err := l.Take(q); err != nil {
				t.Fatal(err)
			}
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	forged := strings.Replace(lines[3], `"name":"d"`, `"name":"e"`, 1)
	if err := os.WriteFile(path, []byte(lines[0]+lines[2]+forged), 0o600); err != nil { // without b, and d says e
		t.Fatal(err)
	}
	if err := l.Take(q); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := q.Add(t.Context(), &Record{Event: EventKeyCreate, Name: "f"}); err != nil {
		t.Fatal(err)
	}
	if err := l.Take(q); err != nil {
		t.Fatal(err)
	}
	want := []string{"key.create a", "1 lines of " + path + " are not of this installation, and are ignored", "1 events of " + path + " are missing here", "key.create c",
		path + " was replaced: events after its entry 3 may be missing", "key.create f"}
	if got := taken(t, l, dir); !slices.Equal(got, want) {
		t.Errorf("the log has\n%q, want\n%q", got, want)
	}
}

func TestAQueueIsBounded(t *testing.T) {
	_, _, key := openedLog(t)
	path := filepath.Join(t.TempDir(), "audit.queue")
	q := NewQueue(path, key)
	q.most = 64 << 10
	long := strings.Repeat("x", maxWords)
	const most = 50
	for n := range most {
		r := Record{Event: EventRevoke, Name: long, Principal: long, Client: fmt.Sprint(n), Issuer: long, Address: long, Reason: long}
		if err := q.Add(t.Context(), &r); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	all, foreign, err := q.read()
	if err != nil || foreign != 0 || info.Size() > 2*int64(q.most) || len(all) == 0 || all[0].Number == 1 || all[len(all)-1].Number != most {
		t.Errorf("%d entries in %d bytes, %d foreign: %v", len(all), info.Size(), foreign, err)
	}
}

func TestLinesOfEventsHaveTheirMembersOnly(t *testing.T) {
	l, dir, _ := openedLog(t)
	for name, r := range map[string]Record{
		"an unknown event":         {Event: "party"},
		"a member of other events": {Event: EventStop, Scopes: []string{"a"}},
		"arguments":                {Event: EventLogin, Arguments: json.RawMessage(`{}`)},
	} {
		if err := l.Admin(&r); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	for _, e := range Events() {
		r := fullRecord()
		r.Event, r.Operator, r.Address, r.Files, r.Outcome = e.Name, "o", "a", json.RawMessage(`{"f":"h"}`), ""
		for _, f := range records.Fields() { // a line that has all members of the event
			if !slices.Contains(e.Members, f.Name) && !slices.Contains(adminMembers, f.Name) {
				clearMember(&r, f.Name)
			}
		}
		if err := l.Admin(&r); err != nil {
			t.Errorf("%s: %v", e.Name, err)
		}
	}
	if got := taken(t, l, dir); len(got) != len(Events()) {
		t.Errorf("%d lines of %d events", len(got), len(Events()))
	}
}

// clearMember removes a member of lines from a record.
func clearMember(r *Record, name string) {
	var all map[string]json.RawMessage
	text, _ := json.Marshal(r)
	_ = json.Unmarshal(text, &all)
	delete(all, name)
	text, _ = json.Marshal(all)
	*r = Record{}
	_ = json.Unmarshal(text, r)
}

// A caller without a login has one line a second, and their number.
func TestRefusedLoginsAreFolded(t *testing.T) {
	l, dir, key := openedLog(t)
	for range 1_000 {
		if err := l.AdminByAnyone(&Record{Event: EventLogin, Outcome: "error", Principal: "ann", Reason: "wrong"}, "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.AdminByAnyone(&Record{Event: EventLogin, Outcome: "error", Principal: "ann"}, "192.0.2.2"); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	counts := map[string][]int{}
	for line, err := range Read(dir, Filter{Kind: KindAdmin, Event: EventLogin, Outcome: "error"}) {
		if err != nil {
			t.Fatal(err)
		}
		var r Record
		_ = json.Unmarshal(line, &r)
		counts[r.Address] = append(counts[r.Address], r.Refused)
	}
	if got := counts["192.0.2.1"]; len(got) < 2 || len(got) > 4 || got[len(got)-1] == 0 {
		t.Errorf("lines count %v", got)
	}
	if got := counts["192.0.2.2"]; !slices.Equal(got, []int{0}) {
		t.Errorf("lines of another address count %v", got)
	}
	if report, err := Verify(dir, key); err != nil || report.Refused != 999 {
		t.Errorf("%+v, %v", report, err)
	}
}

// Strangers from many addresses do not displace lines of calls.
func TestEventsOfStrangersLeaveRoom(t *testing.T) {
	key, err := ReadKey(filepath.Join(t.TempDir(), "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l, err := Open(dir, Options{Key: key, NoSync: true, MaxFile: 50_000, Keep: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append(&Record{Kind: KindCall, Name: "deed"}); err != nil {
		t.Fatal(err)
	}
	for n := range 5_000 {
		address := fmt.Sprintf("192.0.%d.%d", n/250, n%250)
		_ = l.AdminByAnyone(&Record{Event: EventLogin, Outcome: "error", Principal: fmt.Sprint(n)}, address)
		_ = l.AdminByAnyone(&Record{Event: EventClient, Client: fmt.Sprint(n), Name: fmt.Sprint(n)}, address)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, err := range Read(dir, Filter{Name: "deed"}) {
		found = err == nil
	}
	if !found {
		t.Error("the line of the call is gone")
	}
}

func TestALogKnowsHowLongItKeepsLines(t *testing.T) {
	l, dir, key := openedLog(t)
	if kept, _ := l.Retention(); kept != 0 {
		t.Errorf("a new log keeps lines for %v", kept)
	}
	if err := l.Append(&Record{Kind: KindCall, Time: time.Now().Add(-48 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Append(&Record{Kind: KindCall, Reason: strings.Repeat("x", 10_000)}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		options  Options
		from, to time.Duration
	}{
		{Options{Key: key, Keep: 30_000}, 4 * 24 * time.Hour, 6 * 24 * time.Hour},
		{Options{Key: key, Keep: 30_000, KeepFor: 72 * time.Hour}, 72 * time.Hour, 72 * time.Hour},
	} {
		l, err := Open(dir, tt.options)
		if err != nil {
			t.Fatal(err)
		}
		kept, measured := l.Retention()
		if kept < tt.from || kept > tt.to || measured.Round(time.Hour) != 48*time.Hour {
			t.Errorf("it keeps lines for %v, measured in %v", kept, measured)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
