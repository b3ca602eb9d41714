package httplink

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

type noted []string

func (n *noted) Note(kind string, note any) {
	text, err := json.Marshal(note)
	if err != nil {
		panic(err)
	}
	*n = append(*n, kind+" "+string(text))
}

func TestOfHeadersThatMayBeSecretsOnlyTheNamesAreNoted(t *testing.T) {
	const mark = "s3cretvalue"
	r := httptest.NewRequest(http.MethodPost, "/p?k="+mark, nil)
	r.Host = "h.example:8080"
	for name, value := range map[string]string{
		"Authorization": "Bearer " + mark, "Cookie": "a=" + mark, "X-Own": mark, "Mcp-Session-Id": "0123456789abcdefghijklmnopqrstuvwxyz" + mark, "Mcp-Name": "https://me:" + mark + "@h/p",
		"Mcp-Param-Api-Key": mark, "Mcp-Param-City": "Oslo", "Accept": "text/event-stream", "Dpop": mark,
	} {
		r.Header.Set(name, value)
	}
	var n noted
	var x Exchanges
	x.Note(&n, r, 401, http.Header{"Set-Cookie": {mark, mark}, "Mcp-Session-Id": {mark}, "Retry-After": {"3"}})
	x.Note(&n, httptest.NewRequest(http.MethodGet, "/", nil), 0, nil)
	want := []string{
		`http {"method":"POST","url":"http://h.example:8080/p","requestHeaders":{"Accept":["text/event-stream"],"Authorization":["***"],"Cookie":["***"],"Dpop":["***"],"Mcp-Name":["https://***@h/p"],"Mcp-Param-Api-Key":["***"],"Mcp-Param-City":["Oslo"],"Mcp-Session-Id":["012345…"],"X-Own":["***"]},` +
			`"status":401,"responseHeaders":{"Mcp-Session-Id":["***"],"Retry-After":["3"],"Set-Cookie":["***","***"]}}`,
		`http {"method":"GET","url":"http://example.com/","requestHeaders":{}}`,
	}
	if got := strings.Join(n, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}

// Exchanges with the same headers share a note once it has come again. Different exchanges never
// share one.
func TestExchangesWithTheSameHeadersHaveOneNote(t *testing.T) {
	request := func(change func(*http.Request)) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header = http.Header{"Accept": {"a", "b"}, "Mcp-Name": {"echo"}, "Authorization": {"Bearer one"}, "Content-Length": {"100"}}
		change(r)
		return r
	}
	nothing := func(*http.Request) {}
	ok := http.Header{"Content-Type": {"application/json"}, "Date": {"now"}}
	var x Exchanges
	var first, again, third kept
	x.Note(&first, request(nothing), 200, ok)
	x.Note(&again, request(nothing), 200, ok)
	x.Note(&third, request(func(r *http.Request) {
		r.Header.Set("Content-Length", "7")
		r.Header.Set("Authorization", "Bearer two")
	}), 200, ok)
	if first.shared || !again.shared || !third.shared || &again.text[0] != &third.text[0] || string(first.text) != string(again.text) {
		t.Errorf("got %+v, %+v and %+v", first, again, third)
	}
	for name, test := range map[string]struct {
		change func(*http.Request)
		status int
		header http.Header
	}{
		"a value":                     {func(r *http.Request) { r.Header.Set("Mcp-Name", "add") }, 200, ok},
		"another order of two":        {func(r *http.Request) { r.Header["Accept"] = []string{"b", "a"} }, 200, ok},
		"a name":                      {func(r *http.Request) { r.Header.Set("Cookie", "a=b") }, 200, ok},
		"one less":                    {func(r *http.Request) { r.Header.Del("Authorization") }, 200, ok},
		"the URL":                     {func(r *http.Request) { r.URL.Path = "/other" }, 200, ok},
		"the host":                    {func(r *http.Request) { r.Host = "other" }, 200, ok},
		"the method":                  {func(r *http.Request) { r.Method = http.MethodGet }, 200, ok},
		"TLS":                         {func(r *http.Request) { r.TLS = new(tls.ConnectionState) }, 200, ok},
		"the status":                  {nothing, 401, ok},
		"TLS, and a status one below": {func(r *http.Request) { r.TLS = new(tls.ConnectionState) }, 199, ok},
		"a header of the response":    {nothing, 200, http.Header{"Content-Type": {"application/json"}, "Date": {"later"}}},
		"no response":                 {nothing, 0, nil},
		"headers that change sides":   {func(r *http.Request) { r.Header.Set("Date", "now") }, 200, http.Header{"Content-Type": {"application/json"}}},
		"more than may be kept of it": {func(r *http.Request) { r.Header.Set("User-Agent", strings.Repeat("x", maxNote)) }, 200, ok},
	} {
		var other kept
		for range 3 {
			x.Note(&other, request(test.change), test.status, test.header)
			if string(other.text) == string(first.text) {
				t.Errorf("%s makes no difference: %s", name, other.text)
			}
		}
		if other.shared == (name == "more than may be kept of it") {
			t.Errorf("%s: shared is %v", name, other.shared)
		}
	}
	for i := range 10 * maxNotes {
		x.Note(&first, request(func(r *http.Request) { r.Header.Set("Mcp-Name", strconv.Itoa(i)) }), 200, ok)
	}
	if len(x.notes) > maxNotes {
		t.Errorf("%d notes are kept", len(x.notes))
	}
}

// kept is the last note.
type kept struct {
	text   []byte
	shared bool
}

func (k *kept) Note(_ string, note any) {
	if text, is := note.(json.RawMessage); is {
		k.text, k.shared = text, true
		return
	}
	k.text, _ = note.(*exchange).AppendJSON(nil)
	k.shared = false
}

type nobody struct{}

func (nobody) Note(string, any) {}

// A note that is too long to keep is made only for watchers.
func TestLongNotesAreMadeForObserversOnly(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Accept", strings.Repeat("a", 1<<20))
	var x Exchanges
	for range 2 {
		x.Note(nobody{}, r, 200, nil)
	}
	if n := testing.AllocsPerRun(100, func() { x.Note(nobody{}, r, 200, nil) }); n > 2 {
		t.Errorf("it takes %v allocations", n)
	}
	var got noted
	if x.Note(&got, r, 200, nil); len(got) != 1 || len(got[0]) < 1<<20 {
		t.Errorf("got %.100s", got)
	}
}

// Peers choose the length of an address; the note has only its beginning.
func TestALongAddressIsNotKept(t *testing.T) {
	var x Exchanges
	for range 3 {
		x.Note(new(noted), httptest.NewRequest(http.MethodPost, "/"+strings.Repeat("p", 1<<20), nil), 200, nil)
	}
	for _, c := range x.notes {
		if c != nil && len(c.line.path) > maxNote {
			t.Errorf("a path of %d bytes is kept", len(c.line.path))
		}
	}
}

func TestKeptExchangesReleaseTheirRequest(t *testing.T) {
	var x Exchanges
	r := httptest.NewRequest(http.MethodPost, "/p?"+strings.Repeat("q", 1<<20), nil)
	for range 2 {
		x.Note(new(noted), r, 200, nil)
	}
	if c := x.last.Load(); c == nil || unsafe.StringData(c.line.path) == unsafe.StringData(r.URL.Path) {
		t.Error("the path that is kept is a part of the request line")
	}
}
