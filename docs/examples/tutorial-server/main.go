package main

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"os"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
)

// notes are files in a folder.
type notes struct {
	mu     sync.Mutex // calls run at the same time
	folder *os.Root   // opens no file outside of it
}

type note struct {
	Name string `json:"name" doc:"a short name" pattern:"^[a-z0-9-]{1,40}$" example:"buy-milk"`
	Text string `json:"text" doc:"the text, in Markdown" min:"1" max:"4000"`
}

type query struct {
	Words string `json:"words,omitempty" doc:"only notes with this text"`
}

type found struct {
	Notes []note `json:"notes"`
}

type chosen struct {
	Name string `json:"name" doc:"a name from find_notes"`
}

func (n *notes) add(_ context.Context, in note) (note, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return in, n.folder.WriteFile(in.Name, []byte(in.Text), 0o600)
}

func (n *notes) find(_ context.Context, in query) (out found, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	entries, err := fs.ReadDir(n.folder.FS(), ".")
	for _, entry := range entries {
		text, err := n.folder.ReadFile(entry.Name())
		if err != nil {
			return out, err
		}
		if strings.Contains(string(text), in.Words) {
			out.Notes = append(out.Notes, note{entry.Name(), string(text)})
		}
	}
	return out, err
}

func (n *notes) remove(_ context.Context, in chosen) (struct{}, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.folder.Remove(in.Name); err != nil {
		return struct{}{}, fmt.Errorf("there is no note %q; find_notes lists the names", in.Name)
	}
	return struct{}{}, nil
}

// all returns all notes as one text.
func (n *notes) all(ctx context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
	out, err := n.find(ctx, query{})
	text := ""
	for _, note := range out.Notes {
		text += "# " + note.Name + "\n\n" + note.Text + "\n"
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, "text/markdown", text)}}, err
}

func main() {
	folder, err := os.OpenRoot(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	n, s := &notes{folder: folder}, mcp.NewServer("notes", "0.1.0")
	reads := &mcp.ToolAnnotations{ReadOnlyHint: new(true), OpenWorldHint: new(false)}
	mcp.AddToolWith(s, mcp.Tool{Name: "add_note", Description: "Write a note, in place of one with the same name."}, n.add)
	mcp.AddToolWith(s, mcp.Tool{Name: "find_notes", Description: "List the notes, with their texts.", Annotations: reads}, n.find)
	mcp.AddToolWith(s, mcp.Tool{Name: "remove_note", Description: "Remove a note for good."}, n.remove)
	s.AddResource(mcp.Resource{URI: "notes://all", Name: "all", MIMEType: "text/markdown"}, n.all)
	if err := stdio.Serve(context.Background(), s); err != nil {
		log.Fatal(err)
	}
}
