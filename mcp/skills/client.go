package skills

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// Limits of the data that a client accepts from one server.
const (
	maxSkills      = 10_000
	maxListedBytes = 16 << 20 // bytes of all entries
	maxEntries     = 10_000   // maximum entries of a folder
)

// ErrMismatch is the error of [Skill.Read] for a file that differs from the skill's entry, or that
// the entry does not list. The server may have changed the skill. The client should get its entry
// again. If the skill needs approval, it must be approved again.
var ErrMismatch = errors.New("it does not match the entry of the skill")

// List returns the skills of a server, without reading files. A list may be incomplete; [Get] may
// find further skills. List omits invalid entries, and returns the reasons in faults. err is the
// error of the request, or reports that the list is too long.
func List(ctx context.Context, c *mcp.Client) (all []*Skill, faults []error, err error) {
	size := 0
	for raw, err := range c.List(ctx, MethodList, "skills") {
		if err != nil {
			return nil, nil, err
		}
		if size += len(raw); len(all)+len(faults) == maxSkills || size > maxListedBytes {
			return nil, nil, fmt.Errorf("server %q: %s: more than %d skills, or %d MiB", c.Name(), MethodList, maxSkills, maxListedBytes>>20)
		}
		s := new(Skill)
		if err := s.UnmarshalJSON(raw); err != nil {
			faults = append(faults, fmt.Errorf("server %q: %w", c.Name(), err))
			continue
		}
		all = append(all, s)
	}
	return all, faults, nil
}

// Get returns the entry of the skill whose SKILL.md has this URI, without reading files.
func Get(ctx context.Context, c *mcp.Client, uri string) (*Skill, error) {
	w := jsonrpc.NewObject(nil)
	w.String("uri", uri)
	result, err := c.Do(ctx, MethodGet, w.Bytes())
	if err != nil {
		return nil, err
	}
	body, err := result.Encoded()
	if err != nil {
		return nil, err
	}
	s := new(Skill)
	if err := s.UnmarshalJSON(jsonrpc.Get(body, "skill")); err != nil {
		return nil, fmt.Errorf("server %q: %s: %w", c.Name(), MethodGet, err)
	}
	if s.URI != uri {
		return nil, fmt.Errorf("server %q: %s: asked for %.200q, got the entry of %.200q", c.Name(), MethodGet, uri, s.URI)
	}
	return s, nil
}

// Read reads a file of the skill from its server. The file is SKILL.md, whose URI is [Skill.URI],
// or another one in Files. Read verifies the size and the digest of the file, and the frontmatter
// of SKILL.md. For a dynamic skill, it verifies only the frontmatter. The error is [ErrMismatch] if
// the file differs from the entry.
func (s *Skill) Read(ctx context.Context, c *mcp.Client, uri string) (*mcp.ResourceContents, error) {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("server %q: skill %.200q: %.200q: %w: %s", c.Name(), s.Name(), uri, ErrMismatch, fmt.Sprintf(format, args...))
	}
	file := s.file(uri)
	if file == nil && !(s.Dynamic && (uri == s.URI || s.Has(uri))) {
		return nil, fail("it is not among the skill's %d files", len(s.Files))
	}
	result, err := c.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	if len(result.Contents) != 1 {
		return nil, fail("expected the contents of one file, got %d", len(result.Contents))
	}
	contents := &result.Contents[0]
	data := contents.Blob
	if data == nil {
		data = []byte(contents.Text)
	}
	switch {
	case file == nil && len(data) > maxSize:
		return nil, fail("%d bytes are more than %d MiB", len(data), maxSize>>20)
	case file == nil:
	case int64(len(data)) != file.Size:
		return nil, fail("expected %d bytes, got %d", file.Size, len(data))
	case digest(data) != file.Digest:
		return nil, fail("its digest differs")
	}
	if uri != s.URI {
		return contents, nil
	}
	written, err := frontmatter(data)
	if err != nil {
		return nil, fail("%v", err)
	}
	if !same(written, s.Frontmatter) {
		return nil, fail("its frontmatter differs")
	}
	return contents, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// ReadDirectory returns the files and folders in a folder on a server. The folder need not belong
// to a skill. The server must support this ([ReadsDirectories]). If the folder belongs to a skill
// that is not dynamic, the skill's entry lists all of its files. Other files in the folder must not
// be read as files of the skill.
func ReadDirectory(ctx context.Context, c *mcp.Client, uri string) ([]*mcp.Resource, error) {
	w := jsonrpc.NewObject(nil)
	w.String("uri", uri)
	var all []*mcp.Resource
	for raw, err := range c.ListWith(ctx, MethodDirectory, "resources", w.Bytes()) {
		if err != nil {
			return nil, err
		}
		if len(all) == maxEntries {
			return nil, fmt.Errorf("server %q: %s %.200q: more than %d files and folders", c.Name(), MethodDirectory, uri, maxEntries)
		}
		r := new(mcp.Resource)
		if err := schema.DecodeLoose(raw, r); err != nil {
			return nil, fmt.Errorf("server %q: %s %.200q: %w", c.Name(), MethodDirectory, uri, err)
		}
		all = append(all, r)
	}
	return all, nil
}
