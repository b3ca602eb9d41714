package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
)

// Extension is the name of the extension in capabilities.
const Extension = "io.modelcontextprotocol/skills"

// The methods of the extension.
const (
	MethodList      = "skills/list"
	MethodGet       = "skills/get"
	MethodDirectory = "resources/directory/read"
)

// Limits of one skill, as the extension defines them.
const (
	maxName  = 64       // bytes of the name of a skill (agentskills.io/specification)
	maxFiles = 512      // files of one skill, including SKILL.md
	maxSize  = 16 << 20 // bytes of all files of one skill
)

const (
	mainFile      = "SKILL.md"
	directoryType = "inode/directory"
	dynamic       = "dynamic"
)

// A Skill is the entry of one skill, which describes the skill before a file is read. It is
// immutable.
type Skill struct {
	URI         string          // URI of the SKILL.md; together with the server, it identifies the skill
	Frontmatter json.RawMessage // of SKILL.md, as one JSON object
	Files       []File          // all files, including SKILL.md; none if Dynamic
	Dynamic     bool            // set if the files are generated when they are read, so that they cannot be verified
}

// A File is a file of a skill.
type File struct {
	URI    string `json:"uri"`
	Digest string `json:"digest"` // sha256: and 64 hexadecimal digits
	Size   int64  `json:"size"`   // bytes
}

// Name returns the skill's name. Several skills may have the same name.
func (s *Skill) Name() string { return s.field("name") }

// Description returns the text that describes the purpose of the skill and when to use it.
func (s *Skill) Description() string { return s.field("description") }

func (s *Skill) field(name string) string {
	text, _ := jsonrpc.Unquote(jsonrpc.Get(s.Frontmatter, name))
	return text
}

// Root returns the URI of the skill's folder, without a final slash.
func (s *Skill) Root() string { return strings.TrimSuffix(s.URI, "/"+mainFile) }

// Has reports whether a URI is in the skill's folder. Only files listed in Files may be read.
func (s *Skill) Has(uri string) bool { return strings.HasPrefix(uri, s.Root()+"/") }

// file returns the entry of a file, or nil if Files does not list it.
func (s *Skill) file(uri string) *File {
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.URI == uri })
	if i < 0 {
		return nil
	}
	return &s.Files[i]
}

// MarshalJSON encodes the entry as in skills/list.
func (s *Skill) MarshalJSON() ([]byte, error) { return s.appendJSON(nil) }

func (s *Skill) appendJSON(dst []byte) ([]byte, error) {
	w := jsonrpc.NewObject(dst)
	w.String("uri", s.URI)
	w.Raw("frontmatter", s.Frontmatter)
	if s.Dynamic {
		w.String("resources", dynamic)
		return w.Bytes(), nil
	}
	w.Array("resources")
	for _, f := range s.Files {
		w.ObjectElement()
		w.String("uri", f.URI)
		w.String("digest", f.Digest)
		w.Int("size", f.Size)
		w.End()
	}
	w.End()
	return w.Bytes(), nil
}

// UnmarshalJSON decodes an entry. If the entry violates a rule of the extension, the error names
// the skill and the rule.
func (s *Skill) UnmarshalJSON(data []byte) error {
	var entry struct {
		URI         string          `json:"uri"`
		Frontmatter json.RawMessage `json:"frontmatter"`
		Resources   json.RawMessage `json:"resources"`
	}
	if err := schema.DecodeLoose(data, &entry); err != nil {
		return fmt.Errorf("the entry of a skill: %w", err)
	}
	read := Skill{URI: entry.URI, Frontmatter: slices.Clone(entry.Frontmatter)}
	switch {
	case string(entry.Resources) == `"`+dynamic+`"`:
		read.Dynamic = true
	case len(entry.Resources) == 0 || entry.Resources[0] != '[':
		return fmt.Errorf("skill %.200q: resources: expected a list of files or %q, got %.40q", entry.URI, dynamic, entry.Resources)
	default:
		if err := schema.DecodeLoose(entry.Resources, &read.Files); err != nil {
			return fmt.Errorf("skill %.200q: resources: %w", entry.URI, err)
		}
	}
	if err := read.check(); err != nil {
		return fmt.Errorf("skill %.200q: %w", entry.URI, err)
	}
	*s = read
	return nil
}

// check returns an error that names the rule that the entry violates.
func (s *Skill) check() error {
	scheme, location, found := strings.Cut(s.URI, "://")
	parts := strings.Split(location, "/")
	switch {
	case !found || scheme == "" || len(parts) < 2 || parts[len(parts)-1] != mainFile:
		return fmt.Errorf("uri: expected that of a %s, such as skill://NAME/%s", mainFile, mainFile)
	case !clean(parts):
		return errors.New(`uri: a part of it is empty, "." or ".."`)
	case len(s.Frontmatter) > maxFrontmatter:
		return fmt.Errorf("frontmatter: %d bytes are more than %d", len(s.Frontmatter), maxFrontmatter)
	case s.Name() == "" || s.Description() == "":
		return errors.New("frontmatter: name or description is missing or not text")
	case s.Name() != parts[len(parts)-2]:
		return fmt.Errorf("frontmatter: the name %.80q is not that of its folder, %.80q", s.Name(), parts[len(parts)-2])
	}
	name := s.Name()
	plain := strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
	if len(name) > maxName || !plain || strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-") || strings.Contains(name, "--") {
		return fmt.Errorf("the name %.80q: expected at most %d small letters, digits and single hyphens between them", name, maxName)
	}
	if s.Dynamic {
		return nil
	}
	return s.checkFiles()
}

func (s *Skill) checkFiles() error {
	if len(s.Files) > maxFiles {
		return fmt.Errorf("it has %d files; at most %d are possible", len(s.Files), maxFiles)
	}
	seen, size := map[string]bool{}, int64(0)
	for _, f := range s.Files {
		below, inside := strings.CutPrefix(f.URI, s.Root()+"/")
		digits, hashed := strings.CutPrefix(f.Digest, "sha256:")
		switch {
		case !inside || !clean(strings.Split(below, "/")):
			return fmt.Errorf("resources: %.200q is not in the skill's folder", f.URI)
		case seen[f.URI]:
			return fmt.Errorf("resources: %.200q is listed twice", f.URI)
		case !hashed || len(digits) != 64 || strings.Trim(digits, "0123456789abcdef") != "":
			return fmt.Errorf("resources: the digest of %.200q: expected sha256: and 64 hexadecimal digits, got %.100q", f.URI, f.Digest)
		case f.Size < 0 || f.Size > maxSize-size:
			return fmt.Errorf("resources: the size of %.200q is %d; all files of a skill may have %d MiB", f.URI, f.Size, maxSize>>20)
		}
		seen[f.URI] = true
		size += f.Size
	}
	if !seen[s.URI] {
		return fmt.Errorf("resources: the %s itself is not listed", mainFile)
	}
	return nil
}

// clean reports whether all parts of a path are plain file names.
func clean(parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return part == "" || part == "." || part == ".." })
}

// Directory returns the files and folders in a folder of skills, sorted by URI, as
// resources/directory/read does. It uses only the entries of the skills. It reports false in found
// if no skill has the folder.
func Directory(uri string, all ...*Skill) (children []mcp.Resource, found bool) {
	seen := map[string]bool{}
	for _, s := range all {
		for _, f := range s.Files {
			below, inside := strings.CutPrefix(f.URI, uri+"/")
			if !inside {
				continue
			}
			name, _, folder := strings.Cut(below, "/")
			child := mcp.Resource{URI: uri + "/" + name, Name: readable(name), MIMEType: typeOf(name, nil), Size: &f.Size}
			if folder {
				child.MIMEType, child.Size = directoryType, nil
			}
			if !seen[child.URI] {
				seen[child.URI] = true
				children = append(children, child)
			}
		}
	}
	slices.SortFunc(children, func(a, b mcp.Resource) int { return strings.Compare(a.URI, b.URI) })
	return children, len(children) > 0
}

// readable returns a part of a URI with its escapes decoded.
func readable(part string) string {
	if plain, err := url.PathUnescape(part); err == nil {
		return plain
	}
	return part
}

// typeOf returns the MIME type of a file. It determines the type by the name, or otherwise by the
// content.
func typeOf(name string, content []byte) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".md":
		return "text/markdown"
	case ".json":
		return "application/json"
	case ".yaml", ".yml":
		return "application/yaml"
	case ".html":
		return "text/html"
	case ".csv":
		return "text/csv"
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".svg":
		return "image/svg+xml"
	case ".pdf":
		return "application/pdf"
	}
	switch {
	case content == nil:
		return ""
	case utf8.Valid(content):
		return "text/plain"
	}
	return "application/octet-stream"
}

// Declared reports whether a server has skills. Send the other requests of this package only to a
// server that has.
func Declared(c mcp.ServerCapabilities) bool { return c.Extensions[Extension] != nil }

// ReadsDirectories reports whether a server supports resources/directory/read.
func ReadsDirectories(c mcp.ServerCapabilities) bool {
	return string(jsonrpc.Get(c.Extensions[Extension], "directoryRead")) == "true"
}
