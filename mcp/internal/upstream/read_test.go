package upstream_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/junction-mcp/junction/internal/tolerance"
	"github.com/junction-mcp/junction/mcp"
)

// notedNames holds the tolerances that a request's NoteObserver gets.
type notedNames struct {
	mu    sync.Mutex
	names []string
}

func (n *notedNames) Note(_ string, note any) {
	text, _ := json.Marshal(note)
	var one struct{ Name string }
	_ = json.Unmarshal(text, &one)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names = append(n.names, one.Name)
}

// TestOddServer checks odd responses of a legacy server, the client's result, and the recorded
// tolerances. These are in the records that status shows and in the notes of the request that
// traffic shows. ID stands for the request's id.
func TestOddServer(t *testing.T) {
	call := func(ctx context.Context, c *mcp.Client) (string, error) {
		r, err := c.CallTool(ctx, "x", nil)
		if err != nil {
			return "", err
		}
		text, err := json.Marshal(r)
		return string(text), err
	}
	list := func(ctx context.Context, c *mcp.Client) (string, error) {
		var names []string
		for tool, err := range c.Tools(ctx) {
			if err != nil {
				return "", err
			}
			names = append(names, tool.Name)
		}
		return strings.Join(names, " "), nil
	}
	const a = `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]`
	const b = `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"b","inputSchema":{"type":"object"}}]`
	for name, tt := range map[string]struct {
		do      func(context.Context, *mcp.Client) (string, error)
		answers []string // to the requests, in order
		want    string
		named   []string
	}{
		"strict":              {call, []string{`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"t"}]}}`}, `{"content":[{"type":"text","text":"t"}]}`, nil},
		"half a surrogate":    {call, []string{`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"t\ud83d"}]}}`}, "{\"content\":[{\"type\":\"text\",\"text\":\"t\uFFFD\"}]}", []string{"half-surrogate"}},
		"GBK":                 {call, []string{"{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\xb4\xed\"}]}}"}, "{\"content\":[{\"type\":\"text\",\"text\":\"\uFFFD\uFFFD\"}]}", []string{"not-utf8"}},
		"an id of a float":    {call, []string{`{"jsonrpc":"2.0","id":ID.0,"result":{"content":[]}}`}, `{"content":[]}`, []string{"whole-number-id"}},
		"an id as a text":     {call, []string{`{"jsonrpc":"2.0","id":"ID","result":{"content":[]}}`}, `{"content":[]}`, []string{"other-id"}},
		"another id first":    {call, []string{`{"jsonrpc":"2.0","id":999.0,"result":{"content":"forged"}}` + "\n" + `{"jsonrpc":"2.0","id":ID.5,"result":{"content":"forged"}}` + "\n" + `{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}`}, `{"content":[]}`, nil},
		"an error of a float": {call, []string{`{"jsonrpc":"2.0","id":ID,"error":{"code":-32000.0,"message":"no scene is open"}}`}, "error -32000 no scene is open", []string{"whole-number-id"}},
		"an error as a text":  {call, []string{`{"jsonrpc":"2.0","id":ID,"error":"no scene is open"}`}, "error -32603 no scene is open", []string{"error-form"}},
		"a picture and more": {call, []string{`{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"image","data":"data:image/png;base64,YQ"},{"type":"audio","data":5}],"isError":"true"}}`},
			`{"content":[{"type":"image","data":"YQ==","mimeType":"image/png"},{"type":"text","text":"[a block of type audio is left out: its member data is missing or cannot be read]"}],"isError":true}`,
			[]string{"member-form", "base64-form", "media-type", "block-left-out"}},
		"one page":                              {list, []string{a + `}}`}, "a", nil},
		"an empty cursor":                       {list, []string{a + `,"nextCursor":""}}`}, "a", []string{"empty-cursor"}},
		"a cursor that is ignored":              {list, []string{a + `,"nextCursor":"x"}}`, a + `,"nextCursor":"x"}}`}, "a", []string{"repeated-cursor"}},
		"a cursor that comes twice":             {list, []string{a + `,"nextCursor":"x"}}`, b + `,"nextCursor":"x"}}`}, "a b", []string{"repeated-cursor"}},
		"a cursor that is a number":             {list, []string{a + `,"nextCursor":2}}`, b + `}}`}, "a b", []string{"cursor-form"}},
		"a cursor that is null":                 {list, []string{a + `,"nextCursor":null}}`}, "a", []string{"null-member"}},
		"a second page with an error":           {list, []string{a + `,"nextCursor":"x"}}`, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"broken"}}`}, "a", []string{"page-failed"}},
		"a second page that is no object":       {list, []string{a + `,"nextCursor":"x"}}`, `{"jsonrpc":"2.0","id":ID,"result":7}`}, "a", []string{"page-failed"}},
		"a second page that repeats a name":     {list, []string{a + `,"nextCursor":"x"}}`, `{"jsonrpc":"2.0","id":ID,"result":{"tools":[],"tools":[]}}`}, "a", []string{"page-failed"}},
		"a first page with an error":            {list, []string{`{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"broken"}}`}, "error -32603 broken", nil},
		"an entry and a list that are not read": {list, []string{`{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":1},{"name":"c","inputSchema":{"type":"object"}}],"nextCursor":"x"}}`, `{"jsonrpc":"2.0","id":ID,"result":{"tools":null}}`}, "c", []string{"list-form", "entry-left-out"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var records tolerance.Records
				var mu sync.Mutex
				answers := tt.answers
				c, _ := played(t, mcp.ClientOptions{Name: "odd", Logger: records.Logger(slog.New(slog.DiscardHandler), "odd")}, `{"tools":{}}`, func(s *playedServer, m message) {
					mu.Lock()
					defer mu.Unlock()
					if len(m.ID) == 0 || len(answers) == 0 {
						return
					}
					s.send("%s", strings.ReplaceAll(answers[0], "ID", string(m.ID)))
					answers = answers[1:]
				})
				var noted notedNames
				got, err := tt.do(mcp.WithNoteObserver(t.Context(), &noted), c)
				var fault *mcp.Error
				if errors.As(err, &fault) {
					got = fmt.Sprintf("error %d %s", fault.Code, fault.Message)
				} else if err != nil {
					t.Fatal(err)
				}
				if got != tt.want {
					t.Errorf("got  %s\nwant %s", got, tt.want)
				}
				var named []string
				for _, line := range records.Of("odd") {
					name, _, _ := strings.Cut(line, ":")
					named = append(named, name)
				}
				if !slices.Equal(named, tt.named) {
					t.Errorf("named %v, want %v", named, tt.named)
				}
				if slices.Sort(noted.names); !slices.Equal(noted.names, slices.Sorted(slices.Values(tt.named))) {
					t.Errorf("noted %v, want %v", noted.names, tt.named)
				}
			})
		})
	}
}
