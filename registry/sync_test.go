package registry

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// content returns all data of a mirror about its servers.
func content(t *testing.T, m *Mirror) map[string]string {
	t.Helper()
	all := map[string]string{}
	got, err := m.Names(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range got {
		e, err := m.Lookup(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = fmt.Sprint(e.Server.Version, " ", e.Status, " ", e.IsLatest, " ", len(e.Versions))
		if found := names(t, m, strings.ReplaceAll(name, "/", " ")); len(found) == 0 || found[0] != name {
			t.Errorf("%s is in the list, and its search finds %q", name, found)
		}
	}
	return all
}

// TestASyncThatIsCutOffAnywhereIsEndedByTheNext interrupts a sync after any number of pages. The
// mirror must be usable, and the next sync must complete it. It covers the first sync, one of
// changes, and one that reads all again after entries were lost.
func TestASyncThatIsCutOffAnywhereIsEndedByTheNext(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine syncs many times")
	}
	f := newFake(t)
	for i := range 8 {
		for v := range 3 {
			f.publish(day(i+v), serverJSON(fmt.Sprintf("org.example/tool%d", i), fmt.Sprintf("1.%d.0", v*5), "A tool", ""))
		}
	}
	const pages = 8
	whole := newMirror(t, Source{Name: "fake", URL: f.URL})
	syncAll(t, whole)
	for cut := range pages {
		m := newMirror(t, Source{Name: "fake", URL: f.URL})
		cutOff(t, m, f, cut)
		content(t, m)
		syncAll(t, m)
		if got, want := content(t, m), content(t, whole); !reflect.DeepEqual(got, want) {
			t.Errorf("cut off after %d pages, then synced: %v, want %v", cut, got, want)
		}
	}
	f.set(day(50), "org.example/tool1", "1.10.0", Deleted, "")
	f.publish(day(51), serverJSON("org.example/tool2", "2.0.0", "A new tool", ""))
	f.mu.Lock()
	f.rows = f.rows[:len(f.rows)-4] // the registry loses entries
	f.mu.Unlock()
	if _, err := whole.file.DB.Exec(`UPDATE sources SET whole = 1`); err != nil {
		t.Fatal(err)
	}
	path := whole.file.Path()
	for cut := range pages - 1 {
		m := mirrorOf(t, path, Source{Name: "fake", URL: f.URL})
		cutOff(t, m, f, cut)
		if got := content(t, m); got["org.example/tool7"] != "1.10.0 active true 3" {
			t.Errorf("cut off after %d pages: %v", cut, got)
		}
	}
	syncAll(t, whole)
	fresh := newMirror(t, Source{Name: "fake", URL: f.URL})
	syncAll(t, fresh)
	if got, want := content(t, whole), content(t, fresh); !reflect.DeepEqual(got, want) || want["org.example/tool7"] != "" {
		t.Errorf("at last: %v, want %v", got, want)
	}
}

// cutOff syncs, and cancels after some pages.
func cutOff(t *testing.T, m *Mirror, f *fakeRegistry, pages int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read := 0
	f.mu.Lock()
	f.answer = func(http.ResponseWriter, *http.Request) bool {
		if read++; read > pages {
			cancel()
		}
		return false
	}
	f.mu.Unlock()
	if err := m.Sync(ctx, 0); err == nil {
		t.Fatalf("the sync came to its end, and was to be cut off after %d pages", pages)
	}
	f.mu.Lock()
	f.answer = nil
	f.mu.Unlock()
}

func TestSeveralProcessesSyncOneMirror(t *testing.T) {
	f := newFake(t)
	for i := range 12 {
		f.publish(day(i), serverJSON(fmt.Sprintf("org.example/tool%d", i), "1.0.0", "A tool", ""))
	}
	path := filepath.Join(t.TempDir(), "registry.db")
	var group sync.WaitGroup
	for range 4 {
		m := mirrorOf(t, path, Source{Name: "fake", URL: f.URL})
		group.Go(func() {
			for range 3 {
				if err := m.Sync(t.Context(), 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	m := mirrorOf(t, path, Source{Name: "fake", URL: f.URL})
	if got := content(t, m); len(got) != 12 {
		t.Errorf("there are %v", got)
	}
}

func TestRemovedSourcesAreForgotten(t *testing.T) {
	old, current := newFake(t), newFake(t)
	old.publish(day(1), serverJSON("org.example/old", "1.0.0", "An old tool", ""))
	current.publish(day(1), serverJSON("org.example/new", "1.0.0", "A new tool", ""))
	m := newMirror(t, Source{Name: "old", URL: old.URL})
	syncAll(t, m)
	next := mirrorOf(t, m.file.Path(), Source{Name: "new", URL: current.URL})
	syncAll(t, next)
	wantNames(t, m, "tool", "org.example/old")
	if _, err := m.file.DB.Exec(`UPDATE sources SET tried = ? WHERE key LIKE ?`, time.Now().Add(-forgetTime-time.Hour).UnixNano(), "%"+old.URL); err != nil {
		t.Fatal(err)
	}
	syncAll(t, next)
	var rows, texts int
	if err := m.file.DB.QueryRow(`SELECT (SELECT count(*) FROM versions), (SELECT count(*) FROM texts)`).Scan(&rows, &texts); err != nil || rows != 1 || texts != 1 {
		t.Errorf("there are %d versions and %d texts (%v), want those of the new one", rows, texts, err)
	}
}

func TestAListThatNeverEndsIsLeft(t *testing.T) {
	one := &Page{Unread: 1}
	for name, test := range map[string]struct {
		page func(i int) *Page
		want string
	}{
		"new cursors forever": {func(i int) *Page { p := *one; p.Next = fmt.Sprint(i, strings.Repeat("x", 100)); return &p }, fmt.Sprintf("has more than %d pages", maxPages)},
		"a long circle":       {func(i int) *Page { p := *one; p.Next = fmt.Sprint(i % 40_000); return &p }, "repeats the same page"},
		"empty pages":         {func(i int) *Page { return &Page{Next: fmt.Sprint(i)} }, "repeats the same page"},
	} {
		pages := trail{}
		var err error
		read := 0
		for ; err == nil && read <= maxPages+1; read++ {
			err = pages.follow(test.page(read))
		}
		if err == nil || err.Error() != test.want || len(pages) > maxPages {
			t.Errorf("%s: after %d pages, of which %d are remembered: %v, want %q", name, read, len(pages), err, test.want)
		}
	}
}
