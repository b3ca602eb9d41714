package hostconfig

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Changes of Junction's own files are tested with 1,000 files. No other byte may change except
// blanks and commas.
func TestGeneratedFilesOfOurOwnGetEntriesAndLoseThem(t *testing.T) {
	for i := range uint64(1_000) {
		w := &writer{Rand: rand.New(rand.NewPCG(i, 2))}
		data := []byte(w.json())
		fail := func(what string, err error, now []byte) {
			t.Helper()
			t.Fatalf("round %d: %s: %v\n%s\nof\n%s", i, what, err, now, data)
		}
		more, err := AddServer(data, "new", NewServer{Command: w.text() + "x", Args: []string{w.text(), w.text()}, Env: map[string]string{"A": w.text()}})
		if err != nil {
			fail("an entry more", err, more)
		}
		if back, err := RemoveServer(more, "new"); err != nil || bare(back) != bare(data) {
			fail("and without it again", err, back)
		}
		set, err := SetMember(data, []string{"mcpServers", "deep", "in", "it"}, []byte(`{"a": [1, {"b": null}], "c": "`+"é"+`"}`))
		if err != nil {
			fail("a member more", err, set)
		}
		if back, err := SetMember(set, []string{"mcpServers", "deep"}, nil); err != nil || bare(back) != bare(data) {
			fail("and without it again", err, back)
		}
		d, err := document(Host{}, "", data)
		if err != nil {
			fail("reading", err, nil)
		}
		for _, e := range d.Entries {
			rest := string(data[:d.places[0].in.get(e.Name).start]) + string(data[e.full.end:])
			name := quoted(e.Name)
			if now, err := RemoveServer(data, e.Name); err != nil || comments(string(now)) != comments(rest) || strings.Contains(string(now), name) {
				fail("without "+name, err, now)
			}
			if e.Command == "" || e.fault != nil {
				continue
			}
			old := append([]string{e.Command}, e.Args...)
			now, err := ReplaceWords(data, e.Name, old, append([]string{"w0"}, old[1:]...))
			if want := string(data[:e.at.get("command").value.start]) + `"w0"` + string(data[e.at.get("command").value.end:]); err != nil || string(now) != want {
				fail("another command of "+name, err, now)
			}
			now, err = ReplaceWords(data, e.Name, old[:1], []string{"w0", "w1", "w2"})
			if err != nil {
				fail("more words of "+name, err, now)
			}
			if other, err := document(Host{}, "", now); err != nil || fmt.Sprint(other.own(e.Name).Args) != fmt.Sprint(append([]string{"w1", "w2"}, e.Args...)) {
				fail("more words of "+name, err, now)
			}
		}
	}
}

// bare returns a file without the bytes that may change.
func bare(data []byte) string {
	return strings.Join(strings.FieldsFunc(string(data), func(r rune) bool { return strings.ContainsRune(" \t\r\n,", r) }), "")
}

// comments counts each of the comments of [writer.blank].
func comments(data string) string {
	return fmt.Sprint(strings.Count(data, "/* c, "), strings.Count(data, "// c }"))
}
