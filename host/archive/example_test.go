package archive_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/archive"
	"github.com/junction-mcp/junction/model"
)

// A conversation is recorded, found again, and continued.
func Example() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "archive")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	a, err := archive.Open(ctx, filepath.Join(folder, "conversations.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()

	c := a.New(archive.Meta{Model: "offline", Folder: folder})
	question := model.UserText("add 2 and 40")
	if err := c.Append(host.Entry{Message: &question}); err != nil {
		log.Fatal(err)
	}

	found, err := a.List(ctx, archive.Filter{Search: "ADD"})
	if err != nil {
		log.Fatal(err)
	}
	resumed, entries, err := a.Load(ctx, found[0].ID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(resumed.Meta().Title, len(entries))
	// Output: add 2 and 40 1
}
