package httplink

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
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
	NoteExchange(&n, r, 401, http.Header{"Set-Cookie": {mark, mark}, "Mcp-Session-Id": {mark}, "Retry-After": {"3"}})
	NoteExchange(&n, httptest.NewRequest(http.MethodGet, "/", nil), 0, nil)
	want := []string{
		`http {"method":"POST","url":"http://h.example:8080/p","requestHeaders":{"Accept":["text/event-stream"],"Authorization":["***"],"Cookie":["***"],"Dpop":["***"],"Mcp-Name":["https://***@h/p"],"Mcp-Param-Api-Key":["***"],"Mcp-Param-City":["Oslo"],"Mcp-Session-Id":["012345…"],"X-Own":["***"]},` +
			`"status":401,"responseHeaders":{"Mcp-Session-Id":["***"],"Retry-After":["3"],"Set-Cookie":["***","***"]}}`,
		`http {"method":"GET","url":"http://example.com/","requestHeaders":{}}`,
	}
	if got := strings.Join(n, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
}
