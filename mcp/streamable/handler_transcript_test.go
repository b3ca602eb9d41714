package streamable

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/junction-mcp/junction/mcp"
)

// TestTranscripts plays conversations, with one endpoint and with three replicas of it. A file begins with its subject and, optionally, a line
// "stateless". Pairs of "request" and "response" follow.
//
// A request is a method, headers and, after a blank line, a body. Content-Type and Accept have
// their usual values unless given; a value of "-" omits a header. "@modern METHOD [NAME]" stands
// for the headers of a modern request, META in a body for its metadata, $SESSION for the last
// session id, $STREAM for the beginning of the ids of the last stream's events.
//
// A response is a status ("S, of replicas T" if theirs is another), headers ("-" for none, "*" for any value) and the body, in which "…"
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
			for _, replicas := range []int{1, 3} {
				t.Run(fmt.Sprintf("replicas=%d", replicas), func(t *testing.T) {
					f := newFixture(t)
					player := &transcript{site: newSite(t, f.Server, o), stream: "p1"}
					if player.replicas = replicas > 1; player.replicas {
						o.SharedSessions, o.StateKeys = "/mcp", [][]byte{oneKey}
						_, player.site = newPeeredWith(t, replicas, o, func(int) mcp.Handler { return f.Server })
					}
					for i := 0; i+1 < len(archive.Files); i += 2 {
						player.play(t, string(archive.Files[i].Data), string(archive.Files[i+1].Data))
					}
				})
			}
		})
	}
}

type transcript struct {
	*site
	replicas bool
	session  string
	stream   string
}

// eventID finds the stream in the ids of events.
var eventID = regexp.MustCompile(`(?m)^id: (.*)-[0-9]+$`)

func (p *transcript) play(t *testing.T, request, response string) {
	t.Helper()
	resp := p.send(t, request)
	got := p.read(resp)
	if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
		p.session = id
	}
	if id := eventID.FindStringSubmatch(got); id != nil && p.replicas {
		p.stream = id[1]
	}
	status, header, body := parts(response)
	if one, other, differ := strings.Cut(status, ", of replicas "); differ {
		if status = one; p.replicas {
			status, body = other, "…"
		}
	}
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
	if body = p.fill(body); !matches(got, body) {
		t.Errorf("%s\ngot  %s\nwant %s", request, got, body)
	}
}

// fill replaces the names of the session and of the stream.
func (p *transcript) fill(text string) string {
	return strings.NewReplacer("$SESSION", p.session, "$STREAM", p.stream).Replace(text)
}

func (p *transcript) send(t *testing.T, request string) *http.Response {
	t.Helper()
	method, header, body := parts(p.fill(request))
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
