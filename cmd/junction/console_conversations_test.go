package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
)

// storedTalk stores a conversation with these entries, and returns its id.
func storedTalk(t *testing.T, entries ...host.Entry) string {
	t.Helper()
	path, err := clitest.PlaceOf(t).State("conversations.db")
	if err != nil {
		t.Fatal(err)
	}
	stored, err := archive.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer stored.Close()
	c := stored.New(archive.Meta{Model: "scripted", Folder: "/home/ada"})
	for _, e := range entries {
		if err := c.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return c.Meta().ID
}

func TestTheConsoleReadsConversations(t *testing.T) {
	clitest.Alone(t)
	clitest.Setenv(t, "JUNCTION_STATE", t.TempDir())
	ask := consoleServed(t)
	if status, text := ask("GET", "conversations", ""); status != http.StatusOK || text != `{"conversations":[]}`+"\n" {
		t.Errorf("with none it says %d: %s", status, text)
	}
	flow := json.RawMessage(`{"sources":[{"server":"mail","tool":"read","labels":"untrusted","prints":"AAAA","reads":2}],"consents":[{"server":"x","reason":1,"sources":null}]}`)
	id := storedTalk(t, clitest.Said("what is new?"), host.Entry{At: time.Unix(2, 0).UTC(), Flow: flow}, host.Entry{At: time.Unix(3, 0).UTC(), Note: "remember this"})
	storedTalk(t, clitest.Said("another matter"))

	status, text := ask("GET", "conversations?search=new", "")
	var list struct{ Conversations []archive.Meta }
	if err := json.Unmarshal([]byte(text), &list); status != http.StatusOK || err != nil || len(list.Conversations) != 1 || list.Conversations[0].ID != id || list.Conversations[0].Questions != 1 {
		t.Errorf("a search gives %d %v %s", status, err, text)
	}
	status, text = ask("GET", "conversations/"+id, "")
	var page watch.ConversationPage
	if err := json.Unmarshal([]byte(text), &page); status != http.StatusOK || err != nil {
		t.Fatalf("it gives %d %v %s", status, err, text)
	}
	want := []string{
		`{"at":"1970-01-01T00:00:01Z","message":{"role":"user","parts":[{"text":"what is new?"}]}}`,
		`{"at":"1970-01-01T00:00:02Z","flow":{"sources":[{"server":"mail","tool":"read","labels":"untrusted","reads":2}]}}`,
		`{"at":"1970-01-01T00:00:03Z","note":"remember this"}`,
	}
	for i, entry := range page.Entries {
		if string(entry) != want[i] {
			t.Errorf("entry %d is %s, want %s", i, entry, want[i])
		}
	}
	if page.Meta.ID != id || page.Next != 0 || len(page.Entries) != len(want) {
		t.Errorf("the page is %+v", page)
	}
	for path, want := range map[string]int{"conversations/zzzzzzzz": http.StatusNotFound, "conversations/" + id + "?from=-1": http.StatusBadRequest, "conversations?limit=x": http.StatusBadRequest} {
		if status, text := ask("GET", path, ""); status != want || !strings.HasPrefix(text, `{"error":"`) {
			t.Errorf("%s gets %d %s, want %d", path, status, text, want)
		}
	}
}
