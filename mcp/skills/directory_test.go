package skills_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/skills"
)

// TestReadDirectoryWithEndlessPages reads folders whose pages after the second are malformed.
func TestReadDirectoryWithEndlessPages(t *testing.T) {
	for name, cursor := range map[string]func(page int) string{
		"a cursor that does not advance": func(int) string { return `"x"` },
		"an empty cursor":                func(int) string { return `""` },
		"two cursors in turn":            func(page int) string { return fmt.Sprint(page % 2) },
		"a page that fails":              func(page int) string { return fmt.Sprint(page) },
	} {
		asked := 0
		c := mcp.NewClientWith(mcp.HandlerFunc(func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
			if req.Method != skills.MethodDirectory {
				return mcp.Result{}, mcp.Errorf(mcp.CodeMethodNotFound, "no")
			}
			if uri, _ := jsonrpc.Unquote(jsonrpc.Get(req.Params, "uri")); uri != "skill://a" {
				t.Errorf("%s: asked for %q", name, uri)
			}
			entry := ""
			if asked < 2 {
				entry = fmt.Sprintf(`{"uri":"skill://a/%d","name":"%d"}`, asked, asked)
			}
			asked++
			if name == "a page that fails" && asked == 3 {
				return mcp.Result{}, mcp.Errorf(mcp.CodeInternalError, "page 3")
			}
			return mcp.Result{JSON: json.RawMessage(fmt.Sprintf(`{"resources":[%s],"nextCursor":%s}`, entry, cursor(asked)))}, nil
		}), mcp.ClientOptions{Logger: slog.New(slog.DiscardHandler)})
		if got, err := skills.ReadDirectory(t.Context(), c, "skill://a"); err != nil || len(got) != 2 || asked > 4 {
			t.Errorf("%s: %d entries of %d pages, %v", name, len(got), asked, err)
		}
		c.Close()
	}
}
