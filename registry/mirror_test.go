package registry

import (
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

var firstDay = sync.OnceValue(func() time.Time { return time.Now().UTC().Truncate(time.Second).AddDate(0, 0, -100) })

// day returns the time n days after the first day, which is in the past.
func day(n int) time.Time { return firstDay().AddDate(0, 0, n) }

func mirrorOf(t *testing.T, path string, sources ...Source) *Mirror {
	t.Helper()
	m, err := OpenMirror(t.Context(), path, MirrorOptions{Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func newMirror(t *testing.T, sources ...Source) *Mirror {
	t.Helper()
	return mirrorOf(t, filepath.Join(t.TempDir(), "registry.db"), sources...)
}

func syncAll(t *testing.T, m *Mirror) []SourceState {
	t.Helper()
	if err := m.Sync(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	states, err := m.Sources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// names returns the names that a search finds, the best first.
func names(t *testing.T, m *Mirror, words string) []string {
	t.Helper()
	found, err := m.Search(t.Context(), Search{Words: words})
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, e := range found.Entries {
		all = append(all, e.Server.Name)
	}
	return all
}

func wantNames(t *testing.T, m *Mirror, words string, want ...string) {
	t.Helper()
	if got := names(t, m, words); !reflect.DeepEqual(got, append([]string{}, want...)) {
		t.Errorf("%q finds %q, want %q", words, got, want)
	}
}

func TestSyncReadsAllPagesThenChanges(t *testing.T) {
	f := newFake(t)
	for i := range 7 {
		f.publish(day(i), serverJSON(fmt.Sprintf("org.example/tool%d", i), "1.0.0", "A tool for testing", ""))
	}
	m := newMirror(t, Source{Name: "fake", URL: f.URL})
	if s := syncAll(t, m)[0]; s.Servers != 7 || s.Fault != "" || s.Synced.IsZero() {
		t.Errorf("after the first sync: %+v", s)
	}
	if got := f.questions(); len(got) != 3 || got[0] != "/v0.1/servers?include_deleted=true&limit=100" || !strings.Contains(got[2], "cursor=org.example%2Ftool5%3A1.0.0") {
		t.Errorf("asked %q", got)
	}
	f.publish(day(20), serverJSON("org.example/tool3", "1.1.0", "A better tool", ""))
	f.set(day(21), "org.example/tool1", "1.0.0", Deprecated, "use tool3")
	f.set(day(22), "org.example/tool2", "1.0.0", Deleted, "spam")
	if s := syncAll(t, m)[0]; s.Servers != 6 {
		t.Errorf("after a deletion: %+v", s)
	}
	since := day(6).Add(-overlapTime).Format(time.RFC3339)
	if got := f.questions(); len(got) != 2 || !strings.HasPrefix(got[0], "/v0.1/servers?limit=100&updated_since="+strings.ReplaceAll(since, ":", "%3A")) {
		t.Errorf("asked %q, want what changed since %s", got, since)
	}
	e, err := m.Lookup(t.Context(), "org.example/tool3")
	if err != nil {
		t.Fatal(err)
	}
	versions := []Version{{"1.1.0", Active, true, day(20).Local()}, {"1.0.0", Active, false, day(3).Local()}}
	if e.Server.Version != "1.1.0" || !e.IsLatest || e.Source != "fake" || !reflect.DeepEqual(e.Versions, versions) {
		t.Errorf("looked up %+v", e)
	}
	if e, err = m.LookupVersion(t.Context(), "org.example/tool3", "1.0.0"); err != nil || e.IsLatest || e.Server.Description != "A tool for testing" {
		t.Errorf("looked up 1.0.0: %+v, %v", e, err)
	}
	if e, err = m.Lookup(t.Context(), "org.example/tool1"); err != nil || e.Status != Deprecated || e.StatusMessage != "use tool3" {
		t.Errorf("looked up a deprecated one: %+v, %v", e, err)
	}
	if e, err = m.Lookup(t.Context(), "org.example/tool2"); err != nil || e.Status != Deleted || e.StatusMessage != "spam" {
		t.Errorf("looked up a deleted one: %+v, %v", e, err)
	}
	if _, err = m.Lookup(t.Context(), "org.example/none"); !errors.Is(err, ErrNotFound) || err.Error() != "server org.example/none is not in any of the registries" {
		t.Errorf("looked up an unknown one: %v", err)
	}
	if _, err = m.LookupVersion(t.Context(), "org.example/tool3", "9.9.9"); !errors.Is(err, ErrNotFound) {
		t.Errorf("looked up an unknown version: %v", err)
	}
}

// TestADeletedLatestVersionGivesWayToTheOneBefore covers a registry that deletes the latest
// version. It marks no other version as the latest, or does so without a new time of the change.
func TestADeletedLatestVersionGivesWayToTheOneBefore(t *testing.T) {
	f := newFake(t)
	f.publish(day(1), serverJSON("org.example/tool", "1.0.0", "old", ""))
	f.publish(day(2), serverJSON("org.example/tool", "1.10.0", "new", ""))
	m := newMirror(t, Source{Name: "fake", URL: f.URL})
	syncAll(t, m)
	f.set(day(3), "org.example/tool", "1.10.0", Deleted, "broken")
	syncAll(t, m)
	e, err := m.Lookup(t.Context(), "org.example/tool")
	if err != nil || e.Server.Version != "1.0.0" || !e.IsLatest || len(e.Versions) != 2 || e.Versions[0].Status != Deleted {
		t.Errorf("looked up %+v, %v", e, err)
	}
	wantNames(t, m, "old", "org.example/tool")
	wantNames(t, m, "new")
}

func TestAChangeOfTheFutureHidesNoOther(t *testing.T) {
	f := newFake(t)
	f.publish(time.Now().AddDate(50, 0, 0), serverJSON("org.example/z", "1.0.0", "from the future", ""))
	m := newMirror(t, Source{Name: "fake", URL: f.URL})
	syncAll(t, m)
	f.publish(time.Now(), serverJSON("org.example/a", "1.0.0", "of today", ""))
	syncAll(t, m)
	wantNames(t, m, "today", "org.example/a")
}

// TestAServerThatAppearsDuringASyncIsReadByTheNext covers a server that is published during a sync,
// on a page that was read before.
func TestAServerThatAppearsDuringASyncIsReadByTheNext(t *testing.T) {
	f := newFake(t)
	for i := range 7 {
		f.publish(day(i), serverJSON(fmt.Sprintf("org.example/tool%d", i), "1.0.0", "A tool", ""))
	}
	pages := 0
	f.answer = func(http.ResponseWriter, *http.Request) bool {
		if pages++; pages == 2 {
			now := time.Now()
			f.rows = append([]fakeRow{{name: "org.example/early", version: "1.0.0", server: serverJSON("org.example/early", "1.0.0", "Early", ""), status: Active, latest: true, published: now, updated: now}}, f.rows...)
			f.rows[len(f.rows)-1].updated = now.Add(time.Hour) // from a clock that is ahead, or long after
		}
		return false
	}
	m := newMirror(t, Source{Name: "fake", URL: f.URL})
	syncAll(t, m)
	wantNames(t, m, "early")
	syncAll(t, m)
	wantNames(t, m, "early", "org.example/early")
}

func TestASourceThatFailsChangesNothing(t *testing.T) {
	garbage := func(text string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool { fmt.Fprint(w, text); return true }
	}
	for name, test := range map[string]struct {
		answer func(http.ResponseWriter, *http.Request) bool
		want   string
	}{
		"a page":          {garbage("<html>Welcome to the hotel</html>"), `does not answer like a registry`},
		"another API":     {garbage(`{"data":[]}`), `there is no list "servers"`},
		"half an answer":  {garbage(`{"servers":[{"server":{"name":"a/b"`), "does not answer like a registry"},
		"nothing":         {garbage(""), "does not answer like a registry"},
		"null":            {garbage(`{"servers":null}`), `there is no list "servers"`},
		"an empty list":   {garbage(`{"servers":[],"metadata":{"count":0}}`), "lists 0 versions of servers, and listed 4 before"},
		"only nonsense":   {garbage(`{"servers":[1,2,{},{"server":{"name":"../..","version":"1"}}],"metadata":{}}`), "none of 4 entries can be read"},
		"an endless list": {garbage(`{"servers":[{"server":{"name":"a/b","version":"1"}}],"metadata":{"nextCursor":"x"}}`), "repeats the same page"},
		"an endless page": {garbage(`{"servers":[` + strings.Repeat(" ", maxPage) + `]}`), "more than 16 MiB"},
		"a refusal":       {func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusForbidden); return true }, "needs a token with access"},
		"a bad request": {func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"detail":"no \u001b[31m"}`)
			return true
		}, `answers 400 Bad Request: no \x1b[31m`},
		"a cut connection": {func(w http.ResponseWriter, _ *http.Request) bool { panic(http.ErrAbortHandler) }, "cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake(t)
			for i := range 4 {
				f.publish(day(i), serverJSON(fmt.Sprintf("org.example/tool%d", i), "1.0.0", "A tool", ""))
			}
			m := newMirror(t, Source{Name: "fake", URL: f.URL})
			synced := syncAll(t, m)[0].Synced
			if _, err := m.file.DB.Exec(`UPDATE sources SET whole = 1`); err != nil { // long ago
				t.Fatal(err)
			}
			f.mu.Lock()
			f.answer = test.answer
			f.mu.Unlock()
			s := syncAll(t, m)[0]
			if !strings.Contains(s.Fault, test.want) || s.Servers < 4 || !s.Synced.Equal(synced) || !s.Tried.After(synced) {
				t.Errorf("after garbage: %+v\nwant a fault with %q", s, test.want)
			}
			wantNames(t, m, "tool2", "org.example/tool2")
			f.mu.Lock()
			f.answer = nil
			f.mu.Unlock()
			if s := syncAll(t, m)[0]; s.Fault != "" || s.Servers != 4 {
				t.Errorf("when all is well again: %+v", s)
			}
		})
	}
}
