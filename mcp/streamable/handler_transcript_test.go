package streamable

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestTranscripts plays conversations. A file begins with its subject and, optionally, a line
// "stateless". Pairs of "request" and "response" follow.
//
// A request is a method, headers and, after a blank line, a body. Content-Type and Accept have
// their usual values unless given; a value of "-" omits a header. "@modern METHOD [NAME]" stands
// for the headers of a modern request, META in a body for its metadata, $SESSION for the last
// session id.
//
// A response is a status, headers ("-" for none, "*" for any value) and the body, in which "…"
// stands for any text.
func TestTranscripts(t *testing.T) {
	files, _ := filepath.Glob("testdata/handler/*.txtar")
	if len(files) == 0 {
		t.Fatal("no transcripts")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(data)
			o := Options{}
			o.MaxMessage = 1 << 10
			o.Stateless = strings.Contains(string(archive.Comment), "\nstateless\n")
			o.CORS = strings.Contains(string(archive.Comment), "\ncors\n")
			if o.CORS {
				o.AllowedOrigins = []string{"https://app.example"}
			}
			player := &transcript{site: newSite(t, newFixture(t).Server, o)}
			for i := 0; i+1 < len(archive.Files); i += 2 {
				player.play(t, string(archive.Files[i].Data), string(archive.Files[i+1].Data))
			}
		})
	}
}

type transcript struct {
	*site
	session string
}

func (p *transcript) play(t *testing.T, request, response string) {
	t.Helper()
	resp := p.send(t, request)
	got := p.read(resp)
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		p.session = id
	}
	status, header, body := parts(response)
	if want := strings.TrimSpace(status); !strings.HasPrefix(resp.Status, want) {
		t.Errorf("%s\ngot status %s %s\nwant %s", request, resp.Status, got, want)
	}
	for _, h := range header {
		name, want, _ := strings.Cut(h, ": ")
		value, present := resp.Header[http.CanonicalHeaderKey(name)], true
		if present = len(value) > 0; present != (want != "-") || present && want != "*" && value[0] != want {
			t.Errorf("%s\ngot %s %q, want %q", request, name, value, want)
		}
	}
	if body = strings.ReplaceAll(body, "$SESSION", p.session); !matches(got, body) {
		t.Errorf("%s\ngot  %s\nwant %s", request, got, body)
	}
}

func (p *transcript) send(t *testing.T, request string) *http.Response {
	t.Helper()
	method, header, body := parts(strings.ReplaceAll(request, "$SESSION", p.session))
	r, err := http.NewRequest(method, p.url, strings.NewReader(strings.ReplaceAll(body, "META", modernMeta)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, h := range header {
		if modern, ok := strings.CutPrefix(h, "@modern "); ok {
			method, name, named := strings.Cut(modern, " ")
			r.Header.Set("MCP-Protocol-Version", "2026-07-28")
			r.Header.Set("Mcp-Method", method)
			if named {
				r.Header.Set("Mcp-Name", name)
			}
			continue
		}
		name, value, _ := strings.Cut(h, ": ")
		switch {
		case value == "-":
			r.Header.Del(name)
		case name == "Host":
			r.Host = value
		case strings.HasPrefix(name, "+"):
			r.Header.Add(name[1:], value)
		default:
			r.Header.Set(name, value)
		}
	}
	resp, err := p.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// parts splits a message into its first line, headers and body.
func parts(text string) (first string, header []string, body string) {
	head, body, _ := strings.Cut(text, "\n\n")
	for lines := bufio.NewScanner(strings.NewReader(head)); lines.Scan(); {
		if first == "" {
			first = lines.Text()
		} else {
			header = append(header, lines.Text())
		}
	}
	return first, header, strings.TrimSuffix(body, "\n")
}

// matches compares a text with one in which "…" stands for any text.
func matches(got, want string) bool {
	pieces := strings.Split(want, "…")
	if !strings.HasPrefix(got, pieces[0]) {
		return false
	}
	got = got[len(pieces[0]):]
	for i, piece := range pieces[1:] {
		if i == len(pieces)-2 {
			return strings.HasSuffix(got, piece)
		}
		at := strings.Index(got, piece)
		if at < 0 {
			return false
		}
		got = got[at+len(piece):]
	}
	return got == ""
}
