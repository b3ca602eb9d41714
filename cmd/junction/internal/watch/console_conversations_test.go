package watch_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/watch"
	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
)

func TestALongConversationComesInPages(t *testing.T) {
	var entries []host.Entry
	for i := range watch.MaxEntries + 1 {
		entries = append(entries, clitest.Said(strconv.Itoa(i)))
	}
	page, err := watch.NewPage(archive.Meta{}, entries, 0)
	if err != nil || len(page.Entries) != watch.MaxEntries || page.Next != watch.MaxEntries {
		t.Fatalf("the first page has %d entries, next %d, %v", len(page.Entries), page.Next, err)
	}
	if page, err = watch.NewPage(archive.Meta{}, entries, page.Next); err != nil || len(page.Entries) != 1 || page.Next != 0 {
		t.Errorf("the second has %d, next %d, %v", len(page.Entries), page.Next, err)
	}
	large := clitest.Said(strings.Repeat("x", watch.MaxEntriesBytes))
	if page, err = watch.NewPage(archive.Meta{}, []host.Entry{large, large}, 0); err != nil || len(page.Entries) != 1 || page.Next != 1 {
		t.Errorf("of large ones the first has %d, next %d, %v", len(page.Entries), page.Next, err)
	}
	if page, err = watch.NewPage(archive.Meta{}, entries, len(entries)+5); err != nil || len(page.Entries) != 0 || page.Next != 0 {
		t.Errorf("beyond the end there are %d, next %d, %v", len(page.Entries), page.Next, err)
	}
}
