package filesystem

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Limits of lists.
const (
	maxListed       = 5_000  // entries of one folder in a result
	maxScanned      = 50_000 // entries read of one folder
	maxTreeEntries  = 5_000
	readFolderBatch = 512
)

type folderInput struct {
	Path string `json:"path,omitempty" doc:"Absolute path, or the root's name and what follows. Leave it out for the list of roots."`
}

type folderOutput struct {
	Path      string        `json:"path,omitempty" doc:"The folder; empty for the list of roots."`
	Entries   []folderEntry `json:"entries" doc:"What is in it, by name."`
	Truncated bool          `json:"truncated,omitempty" doc:"There is more than what is listed."`
}

type folderEntry struct {
	Name string `json:"name"`
	Kind string `json:"kind" enum:"file,folder,link,other"`
	Size int64  `json:"size,omitempty" doc:"In bytes, of a file."`
	Path string `json:"path,omitempty" doc:"Absolute path, of a root."`
}

func (f *files) listFolder(ctx context.Context, in folderInput) (folderOutput, error) {
	if in.Path == "" {
		out := folderOutput{Entries: []folderEntry{}}
		for _, r := range f.roots {
			out.Entries = append(out.Entries, folderEntry{Name: r.name, Kind: kindFolder, Path: r.dir})
		}
		return out, nil
	}
	p, err := f.find(in.Path)
	if err != nil {
		return folderOutput{}, err
	}
	entries, truncated, err := p.entries(ctx)
	if err != nil {
		return folderOutput{}, err
	}
	if len(entries) > maxListed {
		entries, truncated = entries[:maxListed], true
	}
	out := folderOutput{Path: p.String(), Entries: make([]folderEntry, 0, len(entries)), Truncated: truncated}
	for _, e := range entries {
		listed := folderEntry{Name: validName(e.Name()), Kind: kindOf(e.Type())}
		if listed.Kind == kindFile {
			if info, err := p.root.fs.Lstat(p.join(e.Name()).rel); err == nil {
				listed.Size = info.Size()
			}
		}
		out.Entries = append(out.Entries, listed)
	}
	return out, nil
}

// validName returns a file name as valid UTF-8, because file names can be any bytes.
func validName(name string) string { return strings.ToValidUTF8(name, "\uFFFD") }

// entries returns the entries of a folder, sorted by name. truncated reports whether it has more
// than maxScanned.
func (p place) entries(ctx context.Context) (entries []fs.DirEntry, truncated bool, err error) {
	info, err := p.root.fs.Stat(p.rel)
	if err != nil {
		return nil, false, p.wrap(err)
	}
	if !info.IsDir() {
		return nil, false, fmt.Errorf("%s: is not a folder", p)
	}
	folder, err := p.root.fs.OpenFile(p.rel, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, false, p.wrap(err)
	}
	defer folder.Close()
	for {
		if ctx.Err() != nil {
			return nil, false, context.Cause(ctx)
		}
		batch, err := folder.ReadDir(readFolderBatch)
		entries = append(entries, batch...)
		switch {
		case err == io.EOF:
			slices.SortFunc(entries, byName)
			return entries, false, nil
		case err != nil:
			return nil, false, p.wrap(err)
		case len(entries) >= maxScanned:
			slices.SortFunc(entries, byName)
			return entries, true, nil
		}
	}
}

func byName(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) }

type treeInput struct {
	Path    string `json:"path" doc:"Absolute path, or the root's name and what follows, such as root/folder."`
	Depth   int    `json:"depth,omitempty" doc:"How many levels to go down." min:"1" max:"20" default:"3"`
	Entries int    `json:"max_entries,omitempty" doc:"How many entries to show at most; those near the top come first." min:"1" max:"5000" default:"500"`
}

// A node is one entry of a tree.
type node struct {
	name     string
	at       place
	depth    int
	children []*node
	note     string
}

// tree reads level by level, so that the limit cuts off deep levels and the top stays complete.
func (f *files) tree(ctx context.Context, in treeInput) (string, error) {
	p, err := f.find(in.Path)
	if err != nil {
		return "", err
	}
	top := &node{name: p.String() + "/", at: p}
	left, queue := min(in.Entries, maxTreeEntries), []*node{top}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		if left == 0 {
			n.note = " (not shown)"
			continue
		}
		entries, truncated, err := n.at.entries(ctx)
		switch {
		case err != nil && (n == top || ctx.Err() != nil):
			return "", err
		case err != nil:
			n.note = " (cannot be read)"
			continue
		case len(entries) > left:
			n.note = fmt.Sprintf(" (%d of %d shown)", left, len(entries))
			entries = entries[:left]
		case truncated:
			n.note = " (not all shown)"
		}
		left -= len(entries)
		for _, e := range entries {
			queue = n.add(e, in.Depth, queue)
		}
	}
	var b strings.Builder
	top.print(&b)
	return b.String(), nil
}

// add adds an entry below n. It appends the entry to the queue if the tree shows its entries too.
func (n *node) add(e fs.DirEntry, depth int, queue []*node) []*node {
	child := &node{name: validName(e.Name()), at: n.at.join(e.Name()), depth: n.depth + 1}
	n.children = append(n.children, child)
	switch kindOf(e.Type()) {
	case kindFolder:
		child.name += "/"
		switch {
		case e.Name() == ".git":
			child.note = " (left out)"
		case child.depth < depth:
			return append(queue, child)
		}
	case kindLink:
		child.name += "@"
	case kindOther:
		child.note = " (not a regular file)"
	}
	return queue
}

func (n *node) print(b *strings.Builder) {
	fmt.Fprintf(b, "%s%s%s\n", strings.Repeat("  ", n.depth), n.name, n.note)
	for _, c := range n.children {
		c.print(b)
	}
}

type infoInput struct {
	Path string `json:"path" doc:"Absolute path, or the root's name and what follows, such as root/folder/file.txt."`
}

type infoOutput struct {
	Path        string    `json:"path"`
	Kind        string    `json:"kind" enum:"file,folder,link,other"`
	Size        int64     `json:"size" doc:"In bytes."`
	Modified    time.Time `json:"modified"`
	Permissions string    `json:"permissions" doc:"Such as rw-r--r--."`
	Links       uint64    `json:"links,omitempty" doc:"How many names the file has, where that is known; more than one means hard links."`
	LinksTo     string    `json:"links_to,omitempty" doc:"Kind of what a link leads to; \"outside\" if it cannot be reached."`
}

func (f *files) fileInfo(_ context.Context, in infoInput) (infoOutput, error) {
	p, err := f.find(in.Path)
	if err != nil {
		return infoOutput{}, err
	}
	info, err := p.root.fs.Lstat(p.rel)
	if err != nil {
		return infoOutput{}, p.wrap(err)
	}
	out := infoOutput{
		Path: p.String(), Kind: kindOf(info.Mode()), Size: info.Size(), Modified: info.ModTime().UTC(),
		Permissions: info.Mode().Perm().String()[1:],
	}
	switch out.Kind {
	case kindFile:
		out.Links = links(info)
	case kindLink:
		out.LinksTo = "outside"
		if target, err := p.root.fs.Stat(p.rel); err == nil {
			out.LinksTo = kindOf(target.Mode())
		}
	}
	return out, nil
}
