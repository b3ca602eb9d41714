package skills

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// Limits of the skills of one server. They limit memory, and the size of the list, which is one
// message.
const (
	maxServed      = 1_000    // skills
	maxServedFiles = 10_000   // files of all skills
	maxServedBytes = 64 << 20 // bytes of all files
)

// A Set contains the skills in one tree of folders, which a server serves. All methods are safe for
// concurrent use.
type Set struct {
	server *mcp.Server
	tree   fs.FS
	now    atomic.Pointer[served]

	reloading chan struct{}   // capacity 1; contains a value while Reload runs
	listed    map[string]bool // URIs of the files among the server's resources; used only by Reload
}

// A served is the content of the tree at one time.
type served struct {
	skills []*Skill // by URI
	files  map[string]*content
	list   json.RawMessage // the result of skills/list
}

type content struct {
	name string // file name
	data []byte
}

// Add serves the skills in a tree. Every folder with a SKILL.md is a skill with the name of the
// folder. A skill may contain other skills. The URI of a file is skill:// and its path in the tree.
// Add reads all files, and [Set.Reload] reads them again. Files and folders whose names begin with
// a dot, and all files that are not regular, are omitted; symbolic links are not followed. A server
// can have only one Set; otherwise Add panics. The error names the invalid skill.
func Add(s *mcp.Server, tree fs.FS) (*Set, error) {
	set := &Set{server: s, tree: tree, reloading: make(chan struct{}, 1), listed: map[string]bool{}}
	if err := set.Reload(); err != nil {
		return nil, err
	}
	s.Declare(Extension, json.RawMessage(`{"directoryRead":true}`))
	s.HandleMethod(MethodList, set.list)
	s.HandleMethod(MethodGet, set.get)
	s.HandleMethod(MethodDirectory, func(_ context.Context, req *mcp.Request) (mcp.Result, error) {
		return AnswerDirectory(req, set.now.Load().skills...)
	})
	s.AddResourceTemplate(mcp.ResourceTemplate{
		URITemplate: "skill://{+path}", Name: "skill-file", Title: "Files of skills", Description: "The files that a SKILL.md refers to.",
	}, set.read)
	return set, nil
}

// Reload reads the tree again, and serves the new content. After an error, which names the invalid
// skill, the server continues to serve the previous content.
func (set *Set) Reload() error {
	set.reloading <- struct{}{}
	defer func() { <-set.reloading }()
	fresh, err := load(set.tree)
	if err != nil {
		return err
	}
	before := set.now.Swap(fresh)
	for uri := range set.listed {
		if fresh.files[uri] == nil {
			set.server.RemoveResource(uri)
			delete(set.listed, uri)
		}
	}
	for _, s := range fresh.skills {
		size := s.file(s.URI).Size
		r := mcp.Resource{URI: s.URI, Name: s.Name(), Description: s.Description(), MIMEType: "text/markdown", Size: &size}
		if err := set.server.SetResource(r, set.read); err != nil {
			return err
		}
		set.listed[s.URI] = true
	}
	if before == nil {
		return nil
	}
	for _, uri := range slices.Sorted(maps.Keys(before.files)) {
		if now := fresh.files[uri]; now == nil || !bytes.Equal(now.data, before.files[uri].data) {
			set.server.ResourceUpdated(uri)
		}
	}
	return nil
}

// Skills returns the skills that the server serves now, sorted by URI.
func (set *Set) Skills() []*Skill { return slices.Clone(set.now.Load().skills) }

func (set *Set) list(_ context.Context, req *mcp.Request) (mcp.Result, error) {
	if cursor := jsonrpc.Get(req.Params, "cursor"); cursor != nil && string(cursor) != "null" {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "cursor: this list has one page")
	}
	return mcp.Result{JSON: set.now.Load().list}, nil
}

func (set *Set) get(_ context.Context, req *mcp.Request) (mcp.Result, error) {
	uri, _ := jsonrpc.Unquote(jsonrpc.Get(req.Params, "uri"))
	now := set.now.Load()
	i := slices.IndexFunc(now.skills, func(s *Skill) bool { return s.URI == uri })
	if i < 0 {
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "there is no skill at %.200q; %s lists the skills", uri, MethodList)
	}
	w := jsonrpc.NewObject(nil)
	_ = w.Encoded("skill", now.skills[i].appendJSON) // a skill of the tree is valid
	return mcp.Result{JSON: w.Bytes()}, nil
}

// AnswerDirectory handles resources/directory/read with the entries of skills. It is meant for
// servers, and for middleware in front of a server.
func AnswerDirectory(req *mcp.Request, all ...*Skill) (mcp.Result, error) {
	uri, _ := jsonrpc.Unquote(jsonrpc.Get(req.Params, "uri"))
	children, found := Directory(uri, all...)
	switch cursor := jsonrpc.Get(req.Params, "cursor"); {
	case cursor != nil && string(cursor) != "null":
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "cursor: this list has one page")
	case !found:
		return mcp.Result{}, mcp.Errorf(mcp.CodeInvalidParams, "%.200q is not a folder", uri)
	}
	w := jsonrpc.NewObject(nil)
	if err := schema.EncodeMember(&w, "resources", children); err != nil {
		return mcp.Result{}, err
	}
	return mcp.Result{JSON: w.Bytes()}, nil
}

// read is the [mcp.ResourceHandler] of all files.
func (set *Set) read(_ context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
	file := set.now.Load().files[uri]
	if file == nil {
		return nil, mcp.ErrResourceNotFound
	}
	kind := typeOf(file.name, file.data)
	contents := mcp.BlobContents(uri, kind, file.data)
	if utf8.Valid(file.data) {
		contents = mcp.TextContents(uri, kind, string(file.data))
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
}

// load reads the skills of a tree.
func load(tree fs.FS) (*served, error) {
	now := &served{files: map[string]*content{}}
	folders, err := foldersOf(tree)
	if err != nil {
		return nil, err
	}
	size := 0
	for _, folder := range folders {
		s, err := now.skill(tree, folder, &size)
		if err != nil {
			return nil, fmt.Errorf("skill %q: %w", folder, err)
		}
		now.skills = append(now.skills, s)
	}
	slices.SortFunc(now.skills, func(a, b *Skill) int { return strings.Compare(a.URI, b.URI) })
	w := jsonrpc.NewObject(nil)
	w.Array("skills")
	for _, s := range now.skills {
		_ = w.EncodedElement(s.appendJSON) // a skill of the tree is valid
	}
	w.End()
	now.list = w.Bytes()
	return now, nil
}

// foldersOf returns the folders in a tree that contain a SKILL.md.
func foldersOf(tree fs.FS) ([]string, error) {
	var folders []string
	err := walk(tree, ".", func(name string) error {
		switch folder := path.Dir(name); {
		case path.Base(name) != mainFile:
		case folder == ".":
			return fmt.Errorf("%s is at the top of the tree; a skill needs a folder of its name", mainFile)
		case len(folders) == maxServed:
			return fmt.Errorf("there are more than %d skills", maxServed)
		default:
			folders = append(folders, folder)
		}
		return nil
	})
	return folders, err
}

// walk calls f with each regular file in a tree.
func walk(tree fs.FS, root string, f func(name string) error) error {
	return fs.WalkDir(tree, root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(path.Base(name), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		return f(name)
	})
}

// skill reads a skill, and adds the number of bytes that it keeps to size.
func (now *served) skill(tree fs.FS, folder string, size *int) (*Skill, error) {
	s := &Skill{URI: uriOf(folder + "/" + mainFile)}
	err := walk(tree, folder, func(name string) error {
		uri := uriOf(name)
		file := now.files[uri] // a file of a skill inside this one
		if file == nil {
			data, err := readAtMost(tree, name, min(maxSize, maxServedBytes-*size))
			if err != nil {
				return err
			}
			if len(now.files) == maxServedFiles {
				return fmt.Errorf("the skills have more than %d files", maxServedFiles)
			}
			*size += len(data)
			file = &content{path.Base(name), data}
			now.files[uri] = file
		}
		s.Files = append(s.Files, File{URI: uri, Digest: digest(file.data), Size: int64(len(file.data))})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if s.Frontmatter, err = frontmatter(now.files[s.URI].data); err != nil {
		return nil, err
	}
	return s, s.check()
}

func readAtMost(tree fs.FS, name string, most int) ([]byte, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(most)+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case len(data) > most:
		return nil, fmt.Errorf("%s: one skill may have %d MiB, and all of a server %d", name, maxSize>>20, maxServedBytes>>20)
	case len(data) == 0:
		data = []byte{} // not nil, as the file was read
	}
	return data, nil
}

// uriOf returns the URI of a file in the tree.
func uriOf(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "skill://" + strings.Join(parts, "/")
}
