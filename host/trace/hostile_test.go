package trace

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/junction-mcp/junction/event"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/junction-mcp/junction/model"
)

// hostile are texts that want to be more than text.
var hostile = []string{
	"a#b;c\nd<br/>e", "<script>alert(1)</script>", "]]> --> </title></svg>", "end", "END", "x\nend\npar evil", "%%{init: {\"theme\":\"dark\"}}%%",
	"style: x#35;", "classDef a:#fff;", "wrap: yes", "$$x^2$$", "p1->>p2: forged", "loop forever", "&lt;&amp;&#35;", "ﬂ°°60¶ß", "\x00\x01\x1b[2J\x7f\ufffe\uffff\xff\xfe",
	"\u202ereversed\u2066 \u200b\U000e0041", strings.Repeat("long ", 500), strings.Repeat("長", 400), strings.Repeat("x", 3000), "\"'`\\n${}", "", "-", ":::", "\\",
}

// about tells a trace of everything there is, in terms of one text.
func about(text string, o Options) *Trace {
	t := New(o)
	raw, _ := json.Marshal(text)
	arguments := json.RawMessage(fmt.Sprintf(`{"a":%s}`, raw))
	request := &model.Request{System: text, Messages: []model.Message{model.UserText(text)}, Tools: []model.Tool{{Name: text}}}
	message := &model.Message{Role: model.RoleAssistant, Parts: []model.Part{{Text: text}, {Call: &model.Call{ID: text, Name: text, Arguments: arguments}}}}
	exchange := model.Exchange{Method: text, URL: text, RequestBody: []byte(text), ResponseBody: []byte(text)}
	for _, e := range []host.Event{
		{Listed: &host.Listed{Servers: []host.ServerTools{{Server: text, State: text, Error: text}}}},
		{Asked: &host.Asked{Model: text, Request: request}},
		{Decided: &host.Decided{Message: message, Stop: model.StopReason(text), StopDetail: text, Exchanges: []model.Exchange{exchange}}},
		{Consent: &host.Consented{CallID: text, Server: text, Tool: text, By: text, Rule: text, Reason: text}},
		{Consent: &host.Consented{CallID: text, Server: text, Tool: text, By: "person"}},
		{Called: &host.Called{CallID: text, Server: text, Tool: text, Arguments: arguments}},
		{Called: &host.Called{CallID: text + "2", Server: text, Tool: text, Arguments: json.RawMessage(text)}},
		{Progress: &host.Progress{CallID: text, Server: text, Tool: text, Message: text}},
		{Log: &host.Logged{Server: text, Level: "info", Data: json.RawMessage(text)}},
		{ServerRequest: &host.ServerRequested{CallID: text, Server: text, Method: text, Message: text, Outcome: text}},
		{Returned: &host.Returned{CallID: text, Server: text, Tool: text, Text: text, IsError: true, Kept: text, Media: []model.Media{{Type: text}}}},
		{Notice: &host.Notice{Kind: text, Server: text, Tool: text, Text: text}},
		{Answered: &host.Answered{Text: text, Stop: text, Error: text, Totals: host.Totals{Requests: 1}}},
	} {
		e.Run = 1
		t.Event(e)
	}
	for k := event.Request; k <= event.Cancelled; k++ {
		t.message(frame{server: text, id: text, call: text, Step: event.Step{Kind: k, Method: text, Body: json.RawMessage(text)}})
	}
	return t
}

// checkXML parses a drawing as browsers do, and looks at what is in it.
func checkXML(t *testing.T, svg string) {
	t.Helper()
	allowed := map[string]bool{"svg": true, "style": true, "rect": true, "line": true, "path": true, "circle": true, "text": true, "title": true, "g": true}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		if e, ok := token.(xml.StartElement); ok {
			if !allowed[e.Name.Local] {
				t.Fatalf("an element <%s>", e.Name.Local)
			}
			for _, a := range e.Attr {
				if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
					t.Fatalf("an attribute %s", a.Name.Local)
				}
			}
		}
	}
}

var statement = regexp.MustCompile(`^ {4}(?:(?:participant|actor) p\d+ as [^:<>%{}$-]+|(?:p\d+(?:->>|-->>|-\))p\d+|Note over p\d+(?:,p\d+)?): .+)$`)

// entity is a character by its number, the only way in which signs are written.
var entity = regexp.MustCompile(`#\d+;`)

func checkMermaid(t *testing.T, text string) {
	t.Helper()
	if len(text) > 48_000 || !utf8.ValidString(text) {
		t.Fatalf("%d bytes", len(text))
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if lines[0] != "sequenceDiagram" {
		t.Fatalf("it begins with %q", lines[0])
	}
	for _, line := range lines[1:] {
		if !statement.MatchString(line) {
			t.Fatalf("no statement: %q", line)
		}
		_, said, _ := strings.Cut(line, ": ")
		if rest := entity.ReplaceAllString(said, ""); strings.ContainsAny(rest, "#;<>%&:$`\"\\{}\x00\x1b") {
			t.Fatalf("signs that Mermaid reads: %q", line)
		}
	}
}

func checkText(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\x1b\x7f\u202e\u200b\u2066") {
		t.Fatalf("hidden characters in the text")
	}
	for line := range strings.SplitSeq(text, "\n") {
		if terminal.Width(line) > 80 {
			t.Fatalf("a line of %d cells: %q", terminal.Width(line), line)
		}
	}
}

func TestHostileTextStaysText(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		trace := about(text, Options{})
		checkXML(t, written(t, trace.WriteSVG))
		checkMermaid(t, written(t, trace.WriteMermaid))
		checkText(t, written(t, trace.WriteText))
	}
}

func FuzzHostileTextStaysText(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		trace := about(text, Options{})
		checkXML(t, written(t, trace.WriteSVG))
		checkMermaid(t, written(t, trace.WriteMermaid))
		checkText(t, written(t, trace.WriteText))
	})
}

func TestSecretsAreBlottedOut(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		`{"password":"hunter2!"}`, `{"apiKey": "x\"hunter2"}`, `{"client_secret":"hunter2"}`, `{"a":"{\"access_token\":\"hunter2\"}"}`,
		`Authorization: Bearer hunter2hunter2`, `token=hunter2hunter2&x=1`, `postgres://ada:hunter2@host/db`, `sk-proj-hunter2hunter2hunter2`,
		`ghp_hunter2hunter2hunter2hunter2`, "-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY-----\nhunter2",
		`eyJhbGciOiJIhunter2.eyJzdWIiOiIxhunter2.c2lnbmF0dXJlhunter2`,
	} {
		trace := about(secret, Options{})
		for _, text := range []string{written(t, trace.WriteSVG), written(t, trace.WriteMermaid), written(t, trace.WriteText)} {
			if at := strings.Index(text, "hunter2"); at >= 0 {
				t.Errorf("%s: shown: …%s…", secret, text[max(0, at-60):min(len(text), at+60)])
			}
		}
	}
	for _, innocent := range []string{`{"progressToken":7}`, "12 tokens: exit status 1", `{"max_tokens":100}`, "What is a password?", "https://example.com/a:b", `{"secretary":"Ada"}`, "the token is short"} {
		if got := redacted(innocent); got != innocent {
			t.Errorf("%s became %s", innocent, got)
		}
	}
}

func TestATraceIsBounded(t *testing.T) {
	t.Parallel()
	trace := New(Options{})
	large := json.RawMessage(`"` + strings.Repeat("x", 9_000) + `"`)
	for n := range maxItems + 500 {
		trace.message(frame{server: fmt.Sprint("s", n%40), id: fmt.Sprint(n), Step: event.Step{Kind: event.Request, Method: "m", ToServer: true, Body: large}})
		trace.Event(host.Event{Run: 1, Called: &host.Called{CallID: fmt.Sprint(n), Server: "s", Tool: "t", Arguments: large}})
	}
	if trace.bytes > maxBytes || len(trace.items) > maxItems || len(trace.calls) > maxOpen || len(trace.wired) > maxOpen {
		t.Errorf("%d bytes in %d items, %d calls", trace.bytes, len(trace.items), len(trace.calls))
	}
	size := 0
	for _, i := range trace.items {
		size += i.size()
	}
	if size != trace.bytes {
		t.Errorf("%d bytes are counted as %d", size, trace.bytes)
	}
	for name, text := range map[string]string{"svg": written(t, trace.WriteSVG), "text": written(t, trace.WriteText)} {
		if !strings.Contains(text, fmt.Sprintf("%d earlier lines were left out", trace.dropped)) {
			t.Errorf("%s does not say what was dropped", name)
		}
	}
	svg, mermaid := written(t, trace.WriteSVG), written(t, trace.WriteMermaid)
	checkXML(t, svg)
	checkMermaid(t, mermaid)
	if width := regexp.MustCompile(`width="(\d+)"`).FindStringSubmatch(svg)[1]; len(width) > 4 || !strings.Contains(svg, ">other servers<") {
		t.Errorf("%s pixels wide", width)
	}
	if !regexp.MustCompile(`Note over p0,p1: \d+ earlier lines were left out`).MatchString(mermaid) {
		t.Errorf("Mermaid does not say what was dropped:\n%.300s", mermaid)
	}
}

func TestAnEmptyTraceIsADiagram(t *testing.T) {
	t.Parallel()
	trace := New(Options{})
	checkXML(t, written(t, trace.WriteSVG))
	checkMermaid(t, written(t, trace.WriteMermaid))
	if got := written(t, trace.WriteText); got != "" {
		t.Errorf("%q", got)
	}
}

func TestARunThatIsCutShortIsADiagram(t *testing.T) {
	t.Parallel()
	trace := New(Options{})
	trace.Event(host.Event{Run: 1, At: noon, Returned: &host.Returned{CallID: "never called", Server: "s", Tool: "t"}})
	for n := range 3 {
		trace.Event(host.Event{Run: 1, At: noon.Add(time.Hour), Called: &host.Called{CallID: fmt.Sprint(n), Server: "s", Tool: "t"}})
	}
	trace.Event(host.Event{Run: 1, Answered: &host.Answered{Stop: "cancelled", Error: "context canceled"}})
	trace.Event(host.Event{Run: 2, Asked: &host.Asked{Model: "m"}})
	checkXML(t, written(t, trace.WriteSVG))
	mermaid := written(t, trace.WriteMermaid)
	checkMermaid(t, mermaid)
	for _, want := range []string{"7 answer stopped", "2 ask model", "4 call t"} {
		if !strings.Contains(mermaid, want) {
			t.Errorf("%q is missing:\n%s", want, mermaid)
		}
	}
}
