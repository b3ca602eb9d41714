package host

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/junction-mcp/junction/host/internal/window"
	"github.com/junction-mcp/junction/internal/scripted"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/model"
)

// looking is a trusted server with a tool that returns always the same.
func looking(result *mcp.CallToolResult) Server {
	srv := mcp.NewServer("s", "1")
	srv.AddTool(mcp.Tool{Name: "look", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: readOnly},
		func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return result, nil })
	return Server{Name: "s", Handler: srv, Trusted: true}
}

func read(uri string, offset int, find string) scripted.Turn {
	arguments, _ := json.Marshal(map[string]any{"uri": uri, "offset": offset, "find": find})
	return scripted.Call(readName, string(arguments))
}

func TestALongResultIsKeptAndReadPageByPage(t *testing.T) {
	var whole strings.Builder
	for i := range 3_000 {
		fmt.Fprintf(&whole, "row %d: Grüße, 世界 🎉\n", i)
	}
	const uri = "junction://result/1"
	pages := ""
	offset := 0
	turns := []scripted.Turn{scripted.Call("s__look", "")}
	note := func(text string) string {
		page, note, _ := strings.Cut(text, "\n[characters ")
		pages += page
		return note
	}
	next := scripted.Func(func(req *model.Request) (*model.Response, error) {
		text := req.Messages[len(req.Messages)-1].Parts[0].Result.Text()
		if !utf8.ValidString(text) || len(text) > 8_000+300 {
			t.Errorf("a page of %d bytes, valid UTF-8: %v", len(text), utf8.ValidString(text))
		}
		about := note(text)
		if !strings.Contains(about, "offset") {
			return &model.Response{Message: model.Message{Parts: []model.Part{{Text: "all read"}}}}, nil
		}
		if _, err := fmt.Sscanf(about, "%d to %d of", new(int), &offset); err != nil {
			t.Fatalf("the note is %q", about)
		}
		return &model.Response{Message: model.Message{Parts: []model.Part{scripted.Calling(readName, fmt.Sprintf(`{"uri":%q,"offset":%d}`, uri, offset))}}}, nil
	})
	for range 30 {
		turns = append(turns, next)
	}
	s := play(t, Options{WindowShares: WindowShares{Result: 2_000, Window: 200_000}, Servers: []Server{looking(&mcp.CallToolResult{Content: []mcp.Content{mcp.Text(whole.String())}})}}, turns...)
	answer := ask(t, s.Conversation(nil), "read it all")
	if answer.Text != "all read" || pages != whole.String() {
		t.Errorf("%q: %d bytes were read of %d", answer.Text, len(pages), whole.Len())
	}
	returned := s.eventsOf(func(e Event) bool { return e.Returned != nil })[0].Returned
	if returned.Kept != uri || returned.Bytes != whole.Len() || returned.Tokens > 2_100 {
		t.Errorf("reported %d tokens, %d bytes, kept as %q", returned.Tokens, returned.Bytes, returned.Kept)
	}
}

func TestKeptResultsHaveLimits(t *testing.T) {
	s := new(keptResults)
	for range maxKept + 5 {
		s.put(LongResult{URI: s.name(), Text: "x"})
	}
	if _, found := s.get(keptScheme + "5"); found || len(s.all) != maxKept {
		t.Errorf("%d results are kept", len(s.all))
	}
	if _, found := s.get(fmt.Sprintf("%s%d", keptScheme, maxKept+5)); !found {
		t.Error("the newest is not kept")
	}
	big := strings.Repeat("x", maxKeptEach)
	for range 3 + maxKeptBytes/maxKeptEach {
		s.put(LongResult{URI: s.name(), Text: big})
	}
	if s.bytes > maxKeptBytes || len(s.all) != maxKeptBytes/maxKeptEach {
		t.Errorf("%d bytes are kept in %d results", s.bytes, len(s.all))
	}
}

func TestResultsThatComeTogetherShareTheRoom(t *testing.T) {
	long := strings.Repeat("all work and no play\n", 4_000)
	calls := make([]model.Part, 8)
	for i := range calls {
		calls[i] = scripted.Calling("s__look", fmt.Sprintf(`{"n":%d}`, i))
	}
	info := model.Info{Language: true, Window: 16_000}
	m := scripted.New(scripted.Reply(calls...), scripted.Say("done")).As(info)
	s := play(t, Options{Model: m, Servers: []Server{looking(&mcp.CallToolResult{Content: []mcp.Content{mcp.Text(long)}})}})
	ask(t, s.Conversation(nil), "look eight times")
	last := m.Requests()[1]
	if got := window.TokensOfRequest(last); got > 16_000/2 {
		t.Errorf("eight long results make a request of %d tokens in a window of 16,000", got)
	}
	for i, p := range last.Messages[2].Parts {
		if want := fmt.Sprintf("junction://result/%d", i+1); !strings.Contains(p.Result.Text(), "junction://result/") || p.Result.Text() == "" {
			t.Errorf("result %d does not say where the rest is (%s): %.80s", i, want, p.Result.Text())
		}
	}
}

func TestResultsForTheModel(t *testing.T) {
	png := []byte{0x89, 'P', 'N', 'G'}
	rows := json.RawMessage(`{"rows":[1,2]}`)
	tests := []struct {
		name   string
		result mcp.CallToolResult
		want   string
		images int
		media  int
	}{
		{"texts", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("one"), mcp.Text("two")}}, "one\ntwo", 0, 0},
		{"nothing", mcp.CallToolResult{}, "(no content)", 0, 0},
		{"an image", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("see"), mcp.Image(png, "image/png")}}, "see\n[image/png of 4 bytes, attached]", 1, 1},
		{"an empty image", mcp.CallToolResult{Content: []mcp.Content{mcp.Image([]byte{}, "image/png")}}, "[image/png of 0 bytes, which the user can see and you cannot]", 0, 1},
		{"a sound", mcp.CallToolResult{Content: []mcp.Content{mcp.Audio(png, "audio/wav")}}, "[audio/wav of 4 bytes, which the user can see and you cannot]", 0, 1},
		{"a file", mcp.CallToolResult{Content: []mcp.Content{mcp.Embed(mcp.ResourceContents{URI: "f://x", MIMEType: "application/zip", Blob: png})}}, "[resource f://x] [application/zip of 4 bytes, which the user can see and you cannot]", 0, 1},
		{"an embedded text", mcp.CallToolResult{Content: []mcp.Content{mcp.Embed(mcp.TextContents("f://y", "text/plain", "inside"))}}, "[resource f://y]\ninside", 0, 0},
		{"a link", mcp.CallToolResult{Content: []mcp.Content{mcp.Link(mcp.Resource{URI: "f://z", Name: "zed", Description: "the last"})}}, "[resource f://z: zed, the last]", 0, 0},
		{"a structure alone", mcp.CallToolResult{StructuredContent: rows}, `{"rows":[1,2]}`, 0, 0},
		{"a structure and its text", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("{\n \"rows\": [1, 2]\n}")}, StructuredContent: rows}, "{\n \"rows\": [1, 2]\n}", 0, 0},
		{"a structure and another text", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("two rows")}, StructuredContent: rows}, "two rows\n" + `{"rows":[1,2]}`, 0, 0},
		{"a wrapped text", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("forty-two")}, StructuredContent: json.RawMessage(`{"result":"forty-two"}`)}, "forty-two", 0, 0},
		{"a wrapped number", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("42")}, StructuredContent: json.RawMessage(`{"result":42}`)}, "42", 0, 0},
		{"a text wrapped under another name", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("one\ntwo\n")}, StructuredContent: json.RawMessage(`{"content":"one\ntwo\n"}`)}, "one\ntwo\n", 0, 0},
		{"a wrapped text with more than it", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("sent")}, StructuredContent: json.RawMessage(`{"result":"sent","id":5}`)}, "sent\n" + `{"result":"sent","id":5}`, 0, 0},
		{"what nobody would see", mcp.CallToolResult{Content: []mcp.Content{mcp.Text("a\u200bb\U000E0041c")}}, "abc", 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := play(t, Options{Servers: []Server{looking(&test.result)}}, scripted.Call("s__look", ""), scripted.Say("ok"))
			ask(t, s.Conversation(nil), "look")
			got := s.results(t)[0]
			images := 0
			for _, p := range got.Parts {
				if p.Media != nil {
					images++
				}
			}
			if got.Text() != test.want || images != test.images {
				t.Errorf("the model reads %q and sees %d images, want %q and %d", got.Text(), images, test.want, test.images)
			}
			if reported := s.eventsOf(func(e Event) bool { return e.Returned != nil })[0].Returned; len(reported.Media) != test.media {
				t.Errorf("the person gets %d media, want %d", len(reported.Media), test.media)
			}
		})
	}
}

func TestALongResourceIsKeptToo(t *testing.T) {
	srv := mcp.NewServer("s", "1")
	srv.AddText(mcp.Resource{URI: "f://log", Name: "log"}, strings.Repeat("a line of the log\n", 2_000)+"the end")
	s := play(t, Options{WindowShares: WindowShares{Result: 500}, Servers: []Server{{Name: "s", Handler: srv, Trusted: true}}},
		read("f://log", 0, ""), read("junction://result/1", 0, "the end"), read("f://log", 35_990, ""), read("junction://result/2", 0, ""), scripted.Say("done"))
	ask(t, s.Conversation(nil), "read the log")
	var texts []string
	for _, e := range s.eventsOf(func(e Event) bool { return e.Returned != nil }) {
		texts = append(texts, e.Returned.Text)
	}
	for i, want := range []string{"junction://result/1", "the end", "the end", "there is no junction://result/2"} {
		if !strings.Contains(texts[i], want) {
			t.Errorf("answer %d does not say %q: %.200s", i, want, texts[i])
		}
	}
}

// Whoever reads the ledger must be able to believe it: it adds up to what is sent.
func TestTheWindowUseAddsUpToTheRequest(t *testing.T) {
	turns := []scripted.Turn{search("archive a playlist"), scripted.Call("s__look", ""), scripted.Say("first"), scripted.Say("second"), scripted.Say("a summary"), scripted.Say("third")}
	m := scripted.New(turns...).As(model.Info{Language: true, Window: 100_000})
	servers := append(crowd(t, 200, 20), looking(&mcp.CallToolResult{Content: []mcp.Content{mcp.Text(strings.Repeat("word ", 2_000))}}))
	s := play(t, Options{Model: m, Servers: servers, WindowShares: WindowShares{Always: []string{"vendor03"}}, System: "Be brief."})
	c := s.Conversation(nil)
	compare := func(when string) {
		t.Helper()
		l := c.WindowUse()
		r := newRun(c)
		r.catalogue = s.catalogue()
		if err := r.prepareStep(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := window.TokensOfRequest(r.request())
		sum, deferred := 0, 0
		for _, p := range l.Parts {
			sum += p.Tokens
			deferred += p.Deferred
		}
		if sum != l.Used || l.Used < want-len(l.Parts) || l.Used > want+2*len(l.Parts) {
			t.Errorf("%s: the ledger says %d (its parts %d), the request has %d", when, l.Used, sum, want)
		}
		if deferred < 20_000 || l.Window != 100_000 {
			t.Errorf("%s: %d tokens are deferred, the window is %d", when, deferred, l.Window)
		}
	}
	if err := s.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	compare("empty")
	ask(t, c, "one")
	compare("after a search and a result")
	ask(t, c, "two")
	if err := c.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	compare("after a summary")
	ask(t, c, "three")
	compare("and on")
	if got := c.Totals().Requests; got != 6 {
		t.Errorf("%d requests were counted, want 6 with that for the summary", got)
	}
}

// A server that answers at length does not fill the memory: what had to make room is in
// the record only.
func TestDroppedLongResultsUseNoMemory(t *testing.T) {
	h := play(t, Options{})
	var entries []Entry
	for i := range maxKept + 3 {
		entries = append(entries, Entry{LongResult: &LongResult{URI: fmt.Sprintf("%s%d", keptScheme, i+1), Text: "long"}})
	}
	c := h.Conversation(nil, entries...)
	if err := c.add(Entry{LongResult: &LongResult{URI: c.nextKept(), Text: "longer"}}); err != nil {
		t.Fatal(err)
	}
	again := h.Conversation(nil, c.Entries()...)
	for _, c := range []*Conversation{c, again} {
		without := 0
		for _, e := range c.Entries() {
			if e.LongResult.Text == "" {
				without++
			}
		}
		if got := c.nextKept(); without != 4 || got != keptScheme+"205" {
			t.Errorf("%d results are without their text, the next is %s", without, got)
		}
		if _, found := c.kept.get(keptScheme + "4"); found {
			t.Error("a result without its text can be read")
		}
		if k, found := c.kept.get(keptScheme + "204"); !found || k.Text != "longer" {
			t.Errorf("the last result is %+v", k)
		}
	}
	if entries[0].LongResult.Text != "long" {
		t.Error("an entry that was given was changed")
	}
}

func TestTruncatedAttachmentsAreReported(t *testing.T) {
	s := play(t, Options{}, scripted.Say("read"), scripted.Say("read"))
	c := s.Conversation(nil)
	for _, text := range []string{"short", strings.Repeat("a line of a long file\n", 20_000)} {
		if _, err := c.Ask(t.Context(), Question{Text: "what is it?", Attach: []Attachment{{URI: "big.txt", Text: text}}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.notices(NoticeLimit); len(got) != 1 || !strings.Contains(got[0], "of big.txt the model sees the first ") || !strings.Contains(got[0], " of 429 KiB, and can read more") {
		t.Errorf("reported %q", got)
	}
}
