package host

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/picture"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/policy"
)

// drawing is a PNG of a size, and so many bytes more behind it.
func drawing(t testing.TB, width, height, more int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), make([]byte, more)...)
}

func TestAPictureThatIsAttachedIsShownToTheModel(t *testing.T) {
	cat := drawing(t, 3, 4, 0)
	s := play(t, Options{}, scripted.Say("a cat"), scripted.Say("a dog"))
	var stored tape
	c := s.Conversation(&stored)
	if _, err := c.Ask(t.Context(), Question{Text: "what is it?", Attach: []Attachment{{URI: "my\ncat\x1b.png", Picture: cat}}}); err != nil {
		t.Fatal(err)
	}
	parts := s.last(t).Messages[0].Parts
	if len(parts) != 3 || parts[1].Text != `[attached: picture my cat\x1b.png (3x4, 75 bytes)]` || parts[2].Media == nil || parts[2].Media.Type != "image/png" || !bytes.Equal(parts[2].Media.Data, cat) {
		t.Errorf("the model gets %+v", parts)
	}
	for _, e := range s.events {
		if e.Asked != nil && e.Asked.Tokens < model.PictureTokens {
			t.Errorf("a picture is free: %+v", e.Asked)
		}
	}
	for what, test := range map[string]struct {
		attach []Attachment
		want   string
	}{
		"no picture":    {[]Attachment{{URI: "a.png", Picture: []byte("text")}}, "a.png is no picture"},
		"empty":         {[]Attachment{{URI: "a.png", Picture: []byte{}}}, "a.png is no picture"},
		"damaged":       {[]Attachment{{URI: "a.png", Picture: cat[:20]}}, "a.png begins as a PNG picture, and is damaged"},
		"too large":     {[]Attachment{{URI: "a.png", Picture: drawing(t, 3, 4, picture.MaxBytes)}}, "more than 3.75 MiB"},
		"too many":      {[]Attachment{{Picture: drawing(t, 3, 4, 3<<20)}, {Picture: drawing(t, 3, 4, 3<<20)}, {Picture: drawing(t, 3, 4, 3<<20)}, {Picture: drawing(t, 3, 4, 3<<20)}}, "more than 12 MiB"},
		"too many tall": {[]Attachment{{URI: "a.png", Picture: drawing(t, 1, picture.MaxSide+1, 0)}}, "each side may have at most 8000"},
	} {
		if _, err := c.Ask(t.Context(), Question{Text: "and this?", Attach: test.attach}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	// The record has it, so a conversation that continues from there sends it again.
	ask(t, s.Conversation(nil, stored...), "and now?")
	if first := s.last(t).Messages[0]; seen([]model.Message{first}) != len(cat) {
		t.Errorf("resumed, the model gets %+v", first.Parts)
	}
}

// A picture can show an order as well as a text can hold one.
func TestAPictureThatIsAttachedIsAStrangers(t *testing.T) {
	notes := mcp.NewServer("notes", "1")
	var written []string
	mcp.AddToolWith(notes, mcp.Tool{Name: "write", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(false), OpenWorldHint: new(false)}}, func(_ context.Context, in struct{ Text string }) (string, error) {
		written = append(written, in.Text)
		return "written", nil
	})
	rules, err := policy.Compile([]policy.Rule{{Effect: policy.Allow, Server: "notes"}}, policy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var cards []ApprovalCard
	careful := &desk{consent: func(c ApprovalCard) Verdict { cards = append(cards, c); return Verdict{} }}
	s := play(t, Options{Servers: []Server{{Name: "notes", Handler: notes, Trusted: true}}, Policy: rules, Person: careful},
		scripted.Call("notes__write", `{"Text":"as the picture says"}`), scripted.Say("done"))
	if _, err := s.Conversation(nil).Ask(t.Context(), Question{Text: "Do it", Attach: []Attachment{{URI: "page.png", Picture: drawing(t, 3, 4, 0)}}}); err != nil {
		t.Fatal(err)
	}
	if len(written) > 0 || len(cards) != 1 || !strings.Contains(strings.Join(cards[0].Reasons, " "), "what was attached") {
		t.Errorf("written %q, asked %+v", written, cards)
	}
}

// A summary replaces a picture, and is written by a model that reads its name.
func TestAPictureThatIsAttachedIsSummarized(t *testing.T) {
	m := talkative(0, scripted.Say("A cat was shown."))
	s := play(t, Options{Model: m})
	var stored tape
	c := s.Conversation(&stored)
	cat := drawing(t, 3, 4, 5_000)
	if _, err := c.Ask(t.Context(), Question{Text: "what is it?", Attach: []Attachment{{URI: "cat.png", Picture: cat}}}); err != nil {
		t.Fatal(err)
	}
	ask(t, c, "and then?")
	before := c.view.Tokens()
	if err := c.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seen(c.Messages()) != 0 || seen(c.view.Seen()) != 0 || before-c.view.Tokens() < model.PictureTokens {
		t.Errorf("%d bytes of pictures are held, %d tokens became %d", seen(c.Messages()), before, c.view.Tokens())
	}
	if seen(spoken(stored)) != len(cat) {
		t.Error("the record has lost the picture")
	}
	if n := len(m.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
	for _, req := range m.Requests() {
		if text := req.Messages[0].Text(); isSummary(req) && !strings.Contains(text, "[attached: picture cat.png (3x4, 5 KB)]\nuser: [image/png]") {
			t.Errorf("the summary is made of %q", text)
		}
	}
}

// In base64 it has more than 5 MiB, which a provider refuses in this request and in every
// one that follows.
func TestUnsupportedPicturesOfResultsAreNotSent(t *testing.T) {
	large := mcp.Content{Type: "image", Data: make([]byte, picture.MaxBytes+1), MIMEType: "image/png"}
	server := looking(&mcp.CallToolResult{Content: []mcp.Content{large}})
	s := play(t, Options{Model: talkative(1, nil), Servers: []Server{server}})
	c := s.Conversation(nil)
	ask(t, c, "look")
	if n := seen(c.Messages()); n != 0 {
		t.Errorf("%d bytes are sent", n)
	}
}
