package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/host"
)

// What a crash leaves is the log up to some byte. Whichever it is, the
// conversation is there, up to some entry.
func TestACrashAtAnyByteLeavesAWholeConversation(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.db")
	a := open(t, path)
	want := script()
	c := record(t, a, Meta{}, want[0])
	exec(t, a, `PRAGMA wal_checkpoint(TRUNCATE)`)
	for _, e := range want[1:] {
		if err := c.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	file, log := read(t, path), read(t, path+"-wal")
	longest := 0
	for size := 0; size <= len(log); size += max(1, len(log)/40) {
		crashed := filepath.Join(t.TempDir(), "conversations.db")
		write(t, crashed, file)
		write(t, crashed+"-wal", log[:size])
		b := open(t, crashed)
		again, got := load(t, b, Last)
		if len(got) < max(1, longest) || !reflect.DeepEqual(got, want[:len(got)]) || again.Meta().Entries != len(got) {
			t.Fatalf("after %d bytes of the log: %+v", size, got)
		}
		longest = len(got)
		if err := again.Append(asked(9, "go on")); err != nil {
			t.Errorf("after %d bytes of the log: %v", size, err)
		}
		b.Close()
	}
	if longest < len(want)-1 {
		t.Errorf("the longest that was read has %d entries", longest)
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFailedWritesChangeNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breakIt, mendIt string
		want            error
	}{
		"a full disk":        {`PRAGMA max_page_count = 1`, `PRAGMA max_page_count = 1000000`, ErrFull},
		"a read-only medium": {`PRAGMA query_only = on`, `PRAGMA query_only = off`, ErrReadOnly},
	} {
		a := fresh(t)
		conversation := record(t, a, Meta{}, asked(0, "hello"))
		exec(t, a, c.breakIt)
		large := answered(1, strings.Repeat("long ", 20_000))
		err := conversation.Append(large)
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), a.Path()) {
			t.Errorf("%s: %v", name, err)
		}
		exec(t, a, c.mendIt)
		if _, entries := load(t, a, Last); len(entries) != 1 || conversation.Meta().Entries != 1 {
			t.Errorf("%s: half of an entry is there: %d", name, len(entries))
		}
		if err := conversation.Append(large); err != nil {
			t.Errorf("%s: it cannot go on afterwards: %v", name, err)
		}
	}
}

func TestAFileThatIsLockedSaysSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "conversations.db")
	a, b := open(t, path), open(t, path)
	c := record(t, a, Meta{}, asked(0, "hello"))
	exec(t, a, `PRAGMA busy_timeout = 1`)
	tx, err := b.file.DB.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Append(answered(1, "hi")); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	if _, entries := load(t, a, Last); len(entries) != 1 {
		t.Errorf("who only reads need not wait: %d", len(entries))
	}
	tx.Rollback()
	if err := c.Append(answered(1, "hi")); err != nil {
		t.Error(err)
	}
}

func TestADamagedEntrySaysHowFarTheRestGoes(t *testing.T) {
	t.Parallel()
	for name, statement := range map[string]string{
		"no entry": `UPDATE entries SET entry = '{"message":7}' WHERE number = 3`,
		"missing":  `DELETE FROM entries WHERE number = 3`,
	} {
		a := fresh(t)
		id := record(t, a, Meta{}, script()...).Meta().ID
		exec(t, a, statement)
		_, _, err := a.Load(t.Context(), id)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "entry 3 of "+id) || !strings.Contains(err.Error(), "fork the conversation at 2") {
			t.Errorf("%s: %v", name, err)
		}
		fork, err := a.Fork(t.Context(), id, 2)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, entries := load(t, a, fork.ID); !reflect.DeepEqual(entries, script()[:2]) {
			t.Errorf("%s: %+v", name, entries)
		}
	}
}

func TestAConversationHasLimits(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	c := record(t, a, Meta{}, asked(0, "hello"))
	before := c.Meta()
	check := func(what string, e host.Entry) {
		t.Helper()
		if err := c.Append(e); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", what, err)
		}
		c.meta.Entries, c.bytes = before.Entries, 100
	}
	check("a large entry", host.Entry{Note: strings.Repeat("x", maxEntry)})
	c.meta.Entries = maxEntries
	check("many entries", host.Entry{Note: "x"})
	c.bytes = maxConversation
	check("many bytes", host.Entry{Note: "x"})
	if err := c.Append(answered(1, "hi")); err != nil {
		t.Error(err)
	}
	if err := c.Append(host.Entry{Flow: json.RawMessage(`{`)}); err == nil {
		t.Error("an entry that is no JSON was stored")
	}
	if _, entries := load(t, a, Last); len(entries) != 2 {
		t.Errorf("%d entries", len(entries))
	}
}

func TestForksAreIndependent(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	origin := record(t, a, Meta{Model: "m", Folder: "/f"}, script()...).Meta()
	fork, err := a.Fork(t.Context(), origin.ID[:7], 4)
	if err != nil {
		t.Fatal(err)
	}
	c, entries := load(t, a, fork.ID)
	if !reflect.DeepEqual(entries, script()[:4]) {
		t.Errorf("%+v", entries)
	}
	m := c.Meta()
	if m.Parent != origin.ID || m.Model != "m" || m.Folder != "/f" || m.Title != origin.Title || m.Calls != 1 || m.Cost != 0 || m.Entries != 4 {
		t.Errorf("%+v", m)
	}
	if err := c.Append(answered(5, "another way")); err != nil {
		t.Fatal(err)
	}
	if _, entries := load(t, a, origin.ID); len(entries) != len(script()) {
		t.Errorf("the origin has %d entries", len(entries))
	}
	whole, err := a.Fork(t.Context(), origin.ID, 0)
	if err != nil || whole.Entries != origin.Entries || whole.Cost != origin.Cost {
		t.Errorf("%+v, %v", whole, err)
	}
	for _, upto := range []int{-1, 11} {
		if m, err := a.Fork(t.Context(), origin.ID, upto); err == nil {
			t.Errorf("forked at %d: %+v", upto, m)
		}
	}
	if err := a.Delete(t.Context(), origin.ID); err != nil {
		t.Fatal(err)
	}
	if _, entries := load(t, a, fork.ID); len(entries) != 5 {
		t.Errorf("the fork has %d entries after its origin was deleted", len(entries))
	}
	if got := titles(t, a, Filter{Search: "another way"}); len(got) != 1 {
		t.Errorf("%q", got)
	}
}

// A copy ends before it, but what the person took back is none of the text. A later entry that
// cannot be read is no reason not to have the copy.
func TestForksKeepGrantsThatAreWithdrawnLater(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	off := host.Entry{ServerSwitched: &host.ServerSwitched{Server: "files", Off: true}}
	withdrawn := host.Entry{Withdrawn: &guard.Approval{Server: "files", Origin: "built-in", Tool: "write", Reason: guard.Tainted, Sources: []guard.Source{{Server: "web"}}}}
	id := record(t, a, Meta{}, asked(0, "one"), answered(1, "1"), asked(2, "two"), off, answered(3, "2"), withdrawn).Meta().ID
	if _, err := a.file.DB.Exec(`UPDATE entries SET entry = '{"message":7}' WHERE number = 5`); err != nil {
		t.Fatal(err)
	}
	fork, err := a.Fork(t.Context(), id, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, entries := load(t, a, fork.ID); fork.Entries != 4 || !reflect.DeepEqual(entries[2:], []host.Entry{off, withdrawn}) {
		t.Errorf("%+v has %+v", fork, entries)
	}
}

func TestDeletedTextIsNotInTheFile(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	record(t, a, Meta{}, asked(0, "stays"))
	id := record(t, a, Meta{}, asked(0, "the password is swordfish"), answered(1, strings.Repeat("swordfish ", 5_000))).Meta().ID
	if err := a.Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if err := a.Delete(t.Context(), id); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	for _, suffix := range []string{"", "-wal"} {
		if text := read(t, a.Path()+suffix); strings.Contains(string(text), "swordfish") {
			t.Errorf("conversations.db%s still holds it", suffix)
		}
	}
	if got := titles(t, a, Filter{}); len(got) != 1 || got[0] != "stays" {
		t.Errorf("%q", got)
	}
}

func TestTheMemoryKeepsSmallValues(t *testing.T) {
	t.Parallel()
	a := fresh(t)
	m, ctx := a.Memory(), t.Context()
	if v, err := m.Get(ctx, ToolQueries); v != nil || err != nil {
		t.Errorf("%s, %v", v, err)
	}
	put := func(key string, value json.RawMessage) error {
		return m.Update(ctx, key, func(json.RawMessage) (json.RawMessage, error) { return value, nil })
	}
	for _, v := range []string{`{"a":1}`, `[]`} {
		if err := put(ToolQueries, json.RawMessage(v)); err != nil {
			t.Fatal(err)
		}
		if got, err := a.Memory().Get(ctx, ToolQueries); string(got) != v || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	}
	refused := fmt.Errorf("no")
	if err := m.Update(ctx, ToolQueries, func(v json.RawMessage) (json.RawMessage, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("%v", err)
	}
	if err := put(ToolQueries, nil); err != nil {
		t.Fatal(err)
	}
	if v, err := m.Get(ctx, ToolQueries); v != nil || err != nil {
		t.Errorf("%s, %v", v, err)
	}
	for key, value := range map[string]string{"": "1", strings.Repeat("k", maxKey+1): "1", "broken": "{", "large": `"` + strings.Repeat("x", maxValue) + `"`} {
		if err := put(key, json.RawMessage(value)); err == nil {
			t.Errorf("%.10q was kept", key)
		}
	}
}
