package review_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/gateway/review"
	"github.com/junction-mcp/junction/guard"
	"github.com/junction-mcp/junction/mcp"
)

// held responds to each list request when the test sends the pages.
type held struct {
	asked chan chan paged
}

func (h held) Handle(ctx context.Context, req *mcp.Request) (mcp.Result, error) {
	if req.Method != "tools/list" {
		return new(paged).Handle(ctx, req)
	}
	answer := make(chan paged)
	h.asked <- answer
	pages := <-answer
	return pages.Handle(ctx, req)
}

// Responses to simultaneous list requests may come in any order, and the server may have made them
// in any order.
func TestListsThatCrossLetNothingPassThatOneOfThemWithholds(t *testing.T) {
	before, after := paged{{"a does a", "b does b"}}, paged{{"a does evil", "b does b"}}
	pages, other := paged{{"a does a"}, {"b does b"}}, paged{{"a does a"}, {"c does c"}}
	type step struct {
		list int   // requests a page of this list
		page int   // the number of the page
		is   paged // responds to the request of this list with these pages
	}
	ask := func(list, page int) step { return step{list, page, nil} }
	answer := func(list int, is paged) step { return step{list, 0, is} }
	whole := []step{ask(0, 0), answer(0, before)}
	for _, test := range []struct {
		name  string
		steps []step
		want  string // the tools that can be called
	}{
		{"the older answer comes last", []step{ask(1, 0), ask(2, 0), answer(2, after), answer(1, before)}, "b"},
		{"the list that was asked for last has the older answer", []step{ask(1, 0), ask(2, 0), answer(1, after), answer(2, before)}, "b"},
		{"both are as before", []step{ask(1, 0), ask(2, 0), answer(2, before), answer(1, before)}, "ab"},
		{"a list after both", []step{ask(1, 0), ask(2, 0), answer(2, after), answer(1, before), ask(3, 0), answer(3, before)}, "ab"},
		{"a list after both that lacks something", []step{ask(1, 0), ask(2, 0), answer(2, before), answer(1, before), ask(3, 0), answer(3, paged{{"b does b"}})}, "b"},
		{"the end of one comes before that of the other", []step{ask(1, 0), answer(1, pages), ask(1, 1), ask(2, 0), answer(2, pages), answer(1, other)}, "abc"},
		{"both ends", []step{ask(1, 0), answer(1, pages), ask(1, 1), ask(2, 0), answer(2, pages), answer(1, other), ask(2, 1), answer(2, pages)}, "abc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pins := load(t, filepath.Join(t.TempDir(), "pins.json"))
			server := held{make(chan chan paged)}
			h := review.Middleware(review.Options{Server: "s", Pins: func() *guard.Pins { return pins }})(server)
			answers, done := map[int]chan paged{}, map[int]chan error{}
			for _, s := range append(whole, test.steps...) {
				if s.is != nil {
					answers[s.list] <- s.is
					if err := <-done[s.list]; err != nil {
						t.Fatal(err)
					}
					continue
				}
				params := json.RawMessage(nil)
				if s.page > 0 {
					params = fmt.Appendf(nil, `{"cursor":%q}`, "x")
				}
				ended := make(chan error, 1)
				go func() {
					_, err := h.Handle(t.Context(), mcp.NewRequest("tools/list", params))
					ended <- err
				}()
				answers[s.list], done[s.list] = <-server.asked, ended
			}
			got := ""
			for _, name := range []string{"a", "b", "c"} {
				if _, err := h.Handle(t.Context(), mcp.NewRequest("tools/call", fmt.Appendf(nil, `{"name":%q}`, name))); err == nil {
					got += name
				}
			}
			if got != test.want {
				t.Errorf("%q can be called, want %q", got, test.want)
			}
		})
	}
}
