package filesystem

import (
	"cmp"
	"fmt"
	"log/slog"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/mcp"
)

// DefaultMaxRead is the default of [Options.MaxRead].
const DefaultMaxRead = 1 << 20

// Options configures a server.
type Options struct {
	// Roots lists the folders that the server can reach, at least one. Each root is named after its
	// folder; if the name is taken it becomes "name-2" and so on. A root stays open until the
	// process ends.
	Roots []string
	// Write allows changes. Without it the server is read-only.
	Write bool
	// MaxRead is the number of bytes read from a file at a time. It is also the maximum size of
	// files that cannot be read in parts. The default is [DefaultMaxRead].
	MaxRead int
	// Logger logs the changes; default slog.Default().
	Logger *slog.Logger
}

// files holds the state of the tools.
type files struct {
	roots   []*root
	maxRead int
	log     *slog.Logger
	writing sync.Mutex // held during a change, so that edits do not undo each other
}

// New returns a server for the folders in o.Roots. The error names a root that cannot be opened.
func New(o Options) (*mcp.Server, error) {
	f := &files{maxRead: o.MaxRead, log: o.Logger}
	f.maxRead = cmp.Or(max(f.maxRead, 0), DefaultMaxRead)
	f.log = cmp.Or(f.log, slog.Default())
	var err error
	if f.roots, err = openRoots(o.Roots); err != nil {
		return nil, fmt.Errorf("filesystem: %w", err)
	}
	s := mcp.NewServerWith("filesystem", "1.0.0", mcp.ServerOptions{
		Title:        "Files",
		Description:  "Files and folders of this machine.",
		Instructions: f.instructions(o.Write),
		NoLogging:    true,
		Logger:       o.Logger,
	})
	f.addReadingTools(s)
	if o.Write {
		f.addWritingTools(s)
	}
	return s, f.addResources(s)
}

func (f *files) instructions(write bool) string {
	var b strings.Builder
	b.WriteString("Files below these roots can be read")
	if write {
		b.WriteString(" and changed")
	}
	b.WriteString(":\n")
	for _, r := range f.roots {
		fmt.Fprintf(&b, "- %s: %s\n", r.name, r.dir)
	}
	b.WriteString("Write an absolute path, or the root's name and the rest of the path: ")
	fmt.Fprintf(&b, "%s/folder/file.txt.", f.roots[0].name)
	return b.String()
}

func (f *files) addReadingTools(s *mcp.Server) {
	look := func(name, title, description string) mcp.Tool {
		return mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: new(true), IdempotentHint: new(true), OpenWorldHint: new(false),
		}}
	}
	mcp.AddToolWith(s, look("list-folder", "List a folder", "List the content of a folder. Without a path: list the roots. Only paths below them can be used."), f.listFolder)
	mcp.AddToolWith(s, look("tree", "Show a folder tree", "Show a folder and its content as an indented tree. The folder .git is left out."), f.tree)
	mcp.AddToolWith(s, look("read-file", "Read a file", "Read a file: text as text, a whole file or a range of lines; a picture as a picture; other files as bytes."), f.readFile)
	mcp.AddToolWith(s, look("read-files", "Read several files", "Read several text files at once. If one cannot be read, the others are still returned."), f.readFiles)
	mcp.AddToolWith(s, look("file-info", "File information", "Return the kind, size, modification time and permissions of a file or folder."), f.fileInfo)
	mcp.AddToolWith(s, look("search", "Search files", "Find files by name, by the text in them, or by both. The folder .git is left out."), f.search)
}

func (f *files) addWritingTools(s *mcp.Server) {
	change := func(name, title, description string, destructive, idempotent bool) mcp.Tool {
		return mcp.Tool{Name: name, Title: title, Description: description, Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: new(false), DestructiveHint: new(destructive), IdempotentHint: new(idempotent), OpenWorldHint: new(false),
		}}
	}
	mcp.AddToolWith(s, change("write-file", "Write a file", "Create a file, and the folders it needs. Replaces an existing file only with overwrite. To change parts of a file use edit-file.", true, true), f.writeFile)
	mcp.AddToolWith(s, change("edit-file", "Edit a file", "Replace exact pieces of text in a file. Each old text must occur exactly once unless all is set. Returns a diff; dry_run changes nothing.", true, false), f.editFile)
	mcp.AddToolWith(s, change("move", "Move or rename", "Move or rename a file or folder within a root. Nothing is replaced: the new path must be free.", false, false), f.move)
	mcp.AddToolWith(s, change("make-folder", "Make a folder", "Make a folder, and those above it that are missing.", false, true), f.makeFolder)
	mcp.AddToolWith(s, change("delete", "Delete", "Delete a file, a link, or an empty folder. This cannot be undone.", true, true), f.delete)
}
