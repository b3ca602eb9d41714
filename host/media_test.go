package host

import (
	"bytes"
	"testing"

	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// seen is how many bytes of images messages hold.
func seen(messages []model.Message) int {
	bytes := 0
	var count func([]model.Part)
	count = func(parts []model.Part) {
		for _, p := range parts {
			if p.Media != nil {
				bytes += len(p.Media.Data)
			}
			if p.Result != nil {
				count(p.Result.Parts)
			}
		}
	}
	for _, m := range messages {
		count(m.Parts)
	}
	return bytes
}

func spoken(entries []Entry) (messages []model.Message) {
	for _, e := range entries {
		if e.Message != nil {
			messages = append(messages, *e.Message)
		}
	}
	return messages
}

// A conversation of days does not hold every screenshot in memory; its record does.
func TestImagesThatASummaryReplacedAreDropped(t *testing.T) {
	picture := mcp.Content{Type: "image", Data: bytes.Repeat([]byte{7}, 5_000), MIMEType: "image/png"}
	server := looking(&mcp.CallToolResult{Content: []mcp.Content{picture}})
	m := talkative(1, scripted.Say("There was a picture."))
	s := play(t, Options{Model: m, Servers: []Server{server}})
	var stored tape
	c := s.Conversation(&stored)
	ask(t, c, "look")
	ask(t, c, "and then?")
	if seen(c.Messages()) != 5_000 {
		t.Fatalf("%d bytes of images are held before", seen(c.Messages()))
	}
	if err := c.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, entries := seen(c.Messages()), seen(spoken(c.Entries())); n != 0 || entries != 0 {
		t.Errorf("%d and %d bytes of images are held after", n, entries)
	}
	if seen(spoken(stored)) != 5_000 {
		t.Error("the record has lost the image")
	}
	resumed := s.Conversation(nil, stored...)
	ask(t, resumed, "still there?")
	if seen(resumed.Messages()) != 0 || seen(spoken(stored)) != 5_000 {
		t.Error("resumed, the conversation holds the image, or took it from the record")
	}
	if len(resumed.Messages()) != len(c.Messages())+2 {
		t.Errorf("%d messages, want %d", len(resumed.Messages()), len(c.Messages())+2)
	}
}

// A tape is a record in memory.
type tape []Entry

func (t *tape) Append(e Entry) error {
	*t = append(*t, e)
	return nil
}
