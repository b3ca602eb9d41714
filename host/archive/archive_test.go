package archive

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/model"
)

func open(t testing.TB, path string) *Archive {
	t.Helper()
	a, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func fresh(t testing.TB) *Archive {
	t.Helper()
	return open(t, filepath.Join(t.TempDir(), "junction", "conversations.db"))
}

var noon = time.Date(2030, 5, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }

func asked(minute int, text string) host.Entry {
	message := model.UserText(text)
	return host.Entry{At: at(minute), Message: &message}
}

func answered(minute int, text string) host.Entry {
	return host.Entry{At: at(minute), Message: &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: text}}}}
}

// script is a conversation with everything that an entry can hold.
func script() []host.Entry {
	return []host.Entry{
		asked(0, "Which alarm types are there?\nCount them."),
		{At: at(1), Found: []host.ToolRef{{Server: "db", Tool: "query"}}},
		{At: at(1), Message: &model.Message{
			Role: model.RoleAssistant,
			Parts: []model.Part{
				{Reasoning: &model.Reasoning{Text: "SQL it is", Provider: "p", Raw: json.RawMessage(`{"sig":"<&>","sig2":1e400}`)}},
				{Text: "I look."},
				{Call: &model.Call{ID: "c1", Name: "db__query", Arguments: json.RawMessage(`{"sql":"SELECT type FROM alarm","sql":"twice"}`),
					Extra: map[string]map[string]json.RawMessage{"p": {"thought_signature": json.RawMessage(`"x"`)}}}},
			},
			Extra: map[string]map[string]json.RawMessage{"p": {"refusal": json.RawMessage("null")}},
		}},
		{At: at(2), Message: &model.Message{Role: model.RoleTool, Parts: []model.Part{{Result: &model.Result{
			CallID: "c1", Name: "db__query", Parts: []model.Part{{Text: "Überlast 7\n火災 3"}, {Media: &model.Media{Type: "image/png", Data: []byte{0, 1, 0xff}}}},
		}}}}},
		{At: at(2), LongResult: &host.LongResult{URI: "junction://kept/1", Server: "db", Tool: "query", Type: "text/csv", Text: "a,b"}},
		{At: at(3), Flow: json.RawMessage(`{"read":["db"]}`)},
		{At: at(3), Summary: &host.Summary{Messages: 1, Text: "They count alarms."}},
		{At: at(3), Note: "the table is called alarm"},
		answered(4, "Two: **Überlast** and 火災."),
		{At: at(4), Totals: &host.Totals{Usage: model.Usage{Input: 100, Output: 11}, Cost: 0.25, Requests: 2, Calls: 1, Duration: 1500 * time.Millisecond}},
	}
}

func record(t testing.TB, a *Archive, meta Meta, entries ...host.Entry) *Conversation {
	t.Helper()
	c := a.New(meta)
	for i := range entries {
		if err := c.Append(entries[i]); err != nil {
			t.Fatalf("entry %d: %v", i+1, err)
		}
	}
	return c
}

func load(t testing.TB, a *Archive, id string) (*Conversation, []host.Entry) {
	t.Helper()
	c, entries, err := a.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return c, entries
}

func TestAConversationIsRestoredUnchanged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?c#d%", "conversations.db")
	first := open(t, path)
	want := script()
	c := record(t, first, Meta{Model: "m-1", Folder: "/home/ada"}, want...)
	first.Close()

	again := open(t, path)
	loaded, got := load(t, again, c.Meta().ID)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	meta := loaded.Meta()
	want2 := Meta{
		ID: c.Meta().ID, Model: "m-1", Folder: "/home/ada", Title: "Which alarm types are there?",
		Created: meta.Created, Changed: meta.Changed, Entries: 10, Questions: 1, Calls: 1, Tokens: 111, Cost: 0.25,
	}
	if meta != want2 || !meta.Changed.Equal(at(4)) {
		t.Errorf("got  %+v\nwant %+v, changed at %v", meta, want2, at(4))
	}
	if err := loaded.Append(asked(5, "and now?")); err != nil {
		t.Fatal(err)
	}
	if _, got = load(t, again, c.Meta().ID); len(got) != 11 || got[10].Message.Text() != "and now?" {
		t.Errorf("what was appended after loading is not there: %d entries", len(got))
	}
}

func TestTheFileBelongsToItsOwnerAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "conversations.db")
	a := open(t, path)
	record(t, a, Meta{}, asked(0, "hello"))
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("its folder: %v, %v", info.Mode(), err)
	}
	a.Close()
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path)
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("a file that others could read is left so: %v", info.Mode())
	}
}

func TestNothingIsStoredBeforeTheFirstEntry(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	c := a.New(Meta{Title: "empty"})
	list, err := a.List(t.Context(), Filter{})
	if err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if _, _, err := a.Load(t.Context(), c.Meta().ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestAnIDCanBeShortened(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	one := record(t, a, Meta{}, asked(1, "one"))
	two := record(t, a, Meta{}, asked(2, "two"))
	exec(t, a, `PRAGMA foreign_keys = off`)
	for _, c := range []struct{ from, to string }{{one.Meta().ID, "abcd2345"}, {two.Meta().ID, "abce2345"}} {
		exec(t, a, `UPDATE conversations SET id = ? WHERE id = ?`, c.to, c.from)
		exec(t, a, `UPDATE entries SET conversation = ? WHERE conversation = ?`, c.to, c.from)
	}
	for _, c := range []struct {
		id, want string
		err      error
	}{
		{"abcd2345", "one", nil}, {"abcd", "one", nil}, {"abce", "two", nil}, {Last, "two", nil},
		{"abc", "", ErrAmbiguous}, {"x", "", ErrNotFound}, {"", "", ErrNotFound}, {"abcd23456", "", ErrNotFound},
		{"%", "", ErrNotFound}, {"ABCD", "", ErrNotFound}, {"abcd' OR 1", "", ErrNotFound},
	} {
		got, _, err := a.Load(t.Context(), c.id)
		if !errors.Is(err, c.err) || err == nil && got.Meta().Title != c.want {
			t.Errorf("%q: %v, %v", c.id, got, err)
		}
		if err != nil && (!strings.Contains(err.Error(), a.Path()) || !strings.Contains(err.Error(), ";")) {
			t.Errorf("%q: the error does not name the file and what to do: %v", c.id, err)
		}
	}
}

func exec(t testing.TB, a *Archive, query string, args ...any) {
	t.Helper()
	if _, err := a.file.DB.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func TestConcurrentContinuationsAreDistinguished(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.db")
	here, there := open(t, path), open(t, path)
	id := record(t, here, Meta{}, asked(0, "hello")).Meta().ID
	one, _ := load(t, here, id)
	two, _ := load(t, there, id)
	if err := one.Append(answered(1, "first")); err != nil {
		t.Fatal(err)
	}
	if err := two.Append(answered(2, "second")); !errors.Is(err, ErrContinued) {
		t.Errorf("got %v, want ErrContinued", err)
	}
	if err := one.Append(answered(3, "third")); err != nil {
		t.Fatal(err)
	}
	if _, entries := load(t, there, id); len(entries) != 3 || entries[1].Message.Text() != "first" {
		t.Errorf("%+v", entries)
	}
	if err := there.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := one.Append(answered(4, "fourth")); !errors.Is(err, ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestManyCanOpenAndAppendAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.db")
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			a, err := Open(context.Background(), path)
			if err != nil {
				t.Error(err)
				return
			}
			defer a.Close()
			c := a.New(Meta{Title: fmt.Sprint(i)})
			for n := range 5 {
				if err := c.Append(asked(n, "hello")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	list, err := open(t, path).List(t.Context(), Filter{})
	if err != nil || len(list) != 6 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, m := range list {
		if m.Entries != 5 {
			t.Errorf("%+v", m)
		}
	}
}

func TestForeignFilesAreNotArchives(t *testing.T) {
	t.Parallel()
	newer := filepath.Join(t.TempDir(), "newer.db")
	a := open(t, newer)
	exec(t, a, `PRAGMA user_version = 99`)
	a.Close()

	foreign := filepath.Join(t.TempDir(), "foreign.db")
	db, err := sql.Open("sqlite", foreign)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE passwords (id)`); err != nil {
		t.Fatal(err)
	}
	db.Close()

	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("no database ", 500)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{newer: ErrNewer, foreign: ErrForeign, text: ErrForeign} {
		a, err := Open(t.Context(), path)
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, %v", filepath.Base(path), a, err)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("the error does not name the file: %v", err)
		}
	}
	if got, _ := os.ReadFile(text); !strings.HasPrefix(string(got), "no database") {
		t.Error("a file that is no archive was changed")
	}
	if _, err := Open(t.Context(), t.TempDir()); err == nil {
		t.Error("a folder was opened")
	}
}
