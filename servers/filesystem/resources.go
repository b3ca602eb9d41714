package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/junction-mcp/junction/mcp"
)

// mimeFolder is the media type for folders, as in the specification.
const mimeFolder = "inode/directory"

// addResources registers each root, and a template for files below the roots.
func (f *files) addResources(s *mcp.Server) error {
	for _, r := range f.roots {
		err := s.SetResource(mcp.Resource{
			URI: place{r, "."}.uri(), Name: r.name, MIMEType: mimeFolder,
			Description: "A readable folder; reading it lists its content.",
		}, f.readURI)
		if err != nil {
			return err
		}
	}
	return s.SetResourceTemplate(mcp.ResourceTemplate{
		URITemplate: "file:///{+path}", Name: "file", Title: "File or folder",
		Description: "A file below one of the roots, or a folder as a list of its content.",
	}, f.readURI)
}

// readURI reads a file, or lists a folder with one URI on each line.
func (f *files) readURI(ctx context.Context, uri string, _ map[string]string) (*mcp.ReadResourceResult, error) {
	p, err := f.findURI(uri)
	if err != nil {
		return nil, mcp.Errorf(mcp.CodeInvalidParams, "%v", err)
	}
	info, err := p.root.fs.Stat(p.rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, mcp.ErrResourceNotFound
	case err != nil:
		return nil, p.wrap(err)
	case info.IsDir():
		return p.listing(ctx, uri)
	}
	file, info, err := p.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := f.whole(p, file, info.Size())
	if err != nil {
		return nil, err
	}
	contents := mcp.BlobContents(uri, mimeOf(p, data), data)
	if isText(data, false) {
		contents = mcp.TextContents(uri, textKind(contents.MIMEType), string(data))
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{contents}}, nil
}

func (p place) listing(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	entries, truncated, err := p.entries(ctx)
	if err != nil {
		return nil, err
	}
	if len(entries) > maxListed {
		entries, truncated = entries[:maxListed], true
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintln(&b, p.join(e.Name()).uri())
	}
	if truncated {
		b.WriteString("# There are more.\n")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{mcp.TextContents(uri, mimeFolder, b.String())}}, nil
}

// findURI converts a file: URI to a place.
func (f *files) findURI(uri string) (place, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || (u.Host != "" && u.Host != "localhost") {
		return place{}, fmt.Errorf("%q is not a local file URI", uri)
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/") // /C:/…
	}
	if !filepath.IsAbs(filepath.FromSlash(path)) {
		return place{}, fmt.Errorf("%q has no absolute path", uri)
	}
	return f.find(path)
}

// mimeOf returns the media type that the name of a file indicates, or else the one that its content
// indicates.
func mimeOf(p place, data []byte) string {
	if kind := mime.TypeByExtension(filepath.Ext(p.rel)); kind != "" {
		return kind
	}
	return http.DetectContentType(data)
}

// textKind returns kind, or text/plain if kind is not a type of text. The extension of a text file,
// such as .ts, may also stand for a video.
func textKind(kind string) string {
	for _, other := range []string{"video/", "audio/", "application/octet-stream"} {
		if strings.HasPrefix(kind, other) {
			return "text/plain; charset=utf-8"
		}
	}
	return kind
}
