package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/place"
	"github.com/junction-mcp/junction/internal/runner"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/registry"
	"github.com/spf13/cobra"
)

const (
	// maxToolsPublished is the largest number of tool names in a server.json.
	maxToolsPublished = 100
	// maxBundle is the largest size in bytes of an mcpb file that is hashed.
	maxBundle = 1 << 30
	// ownMeta is the key of the publisher's members in _meta.
	ownMeta = "io.modelcontextprotocol.registry/publisher-provided"
)

// An examined holds the facts about a Go server from its build information and its responses.
type examined struct {
	module, main      string // paths of the module and of the main package
	version, revision string // of the module; empty if its sources were changed or have no version
	server            mcp.Implementation
	tools             []string
}

// examineProgram reads the build information of a program. It then starts the program to learn its
// name and tools.
func examineProgram(ctx context.Context, a *cli.App, cmd *cobra.Command, args []string) (*examined, error) {
	x := &examined{}
	file, err := a.LookPath(args[0])
	if err != nil {
		return nil, err
	}
	switch info, err := buildinfo.ReadFile(file); {
	case err != nil:
		a.Screen.Printf("junction: %s is not a Go program, so its module is not known: give --name\n", args[0])
	default:
		x.module, x.main = info.Main.Path, info.Path
		if v := info.Main.Version; v != "(devel)" && !strings.Contains(v, "+dirty") && v != "" && !pseudo().MatchString(v) {
			x.version = strings.TrimPrefix(v, "v")
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				x.revision = s.Value
			}
		}
	}
	t, _, err := reach.Target(ctx, a, cmd, args)
	if err != nil {
		return nil, err
	}
	client, err := reach.Connect(ctx, a, t)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if s := client.Server(); s != nil {
		x.server = *s
	}
	for tool, err := range client.Tools(ctx) {
		if err != nil || len(x.tools) == maxToolsPublished {
			break // errors are ignored
		}
		x.tools = append(x.tools, tool.Name)
	}
	return x, nil
}

// pseudo matches the end of a pseudo-version, which identifies a commit without a tag.
var pseudo = lazy.Regexp(`\d{14}-[0-9a-f]{12}$`)

// into adds the facts to a server.json, and returns rest with further members. It replaces the
// version, and keeps all other existing members.
func (x *examined) into(s *registry.Server, rest json.RawMessage) (json.RawMessage, error) {
	s.Name = cmp.Or(s.Name, ModuleServerName(cmp.Or(x.main, x.module)))
	s.Version = cmp.Or(x.version, strings.TrimPrefix(x.server.Version, "v"), s.Version)
	s.Title = cmp.Or(s.Title, x.server.Title)
	s.Description = cmp.Or(s.Description, x.server.Description)
	s.WebsiteURL = cmp.Or(s.WebsiteURL, x.server.WebsiteURL)
	if s.Repository == nil {
		s.Repository = ModuleRepository(x.module, x.main)
	}
	own, err := schema.Encode(nil, struct {
		Tool     string   `json:"tool"`
		Package  string   `json:"package,omitempty"`
		Revision string   `json:"revision,omitempty"`
		Tools    []string `json:"tools,omitempty"`
	}{"junction", x.main, x.revision, x.tools})
	if err != nil {
		return nil, err
	}
	meta := jsonrpc.Get(rest, "_meta")
	if len(own) > registry.MaxPublished {
		own = jsonrpc.Without(own, "tools")
	}
	return jsonrpc.With(rest, "_meta", jsonrpc.With(meta, ownMeta, own)), nil
}

// ModuleServerName returns a name for a server in the namespace of the module's owner, such as
// io.github.owner/server. It returns "" if the owner cannot prove to own the domain.
func ModuleServerName(module string) string {
	parts := strings.Split(module, "/")
	if isMajor(parts[len(parts)-1]) {
		parts = parts[:len(parts)-1]
	}
	if len(parts) < 2 {
		return ""
	}
	last := strings.Trim(strings.ReplaceAll(parts[len(parts)-1], "~", "-"), "._-") // other characters of a module's path are also valid in names
	domain := strings.Split(parts[0], ".")
	slices.Reverse(domain)
	switch parts[0] {
	case "github.com":
		return "io.github." + parts[1] + "/" + last
	case "gitlab.com", "bitbucket.org", "codeberg.org", "gopkg.in": // domains shared by many owners, none of whom can prove ownership
		return ""
	}
	return strings.Join(domain, ".") + "/" + last
}

// ModuleRepository returns the repository of a module, or nil if the module's path does not reveal
// it.
func ModuleRepository(module, main string) *registry.Repository {
	parts := strings.Split(module, "/")
	for _, forge := range []string{"github", "gitlab"} {
		if len(parts) >= 3 && parts[0] == forge+".com" {
			root := strings.Join(parts[:3], "/")
			r := &registry.Repository{URL: "https://" + root, Source: forge}
			if below, inside := strings.CutPrefix(main, module+"/"); inside {
				r.Subfolder = path.Join(append(slices.DeleteFunc(parts[3:], isMajor), below)...)
			}
			return r
		}
	}
	return nil
}

// isMajor reports whether a part of a module's path is its major version. Such a part is usually
// not a folder.
func isMajor(part string) bool {
	return len(part) > 1 && part[0] == 'v' && strings.Trim(part[1:], "0123456789") == ""
}

// followVersion changes a package with the server's previous version to its current version. It
// removes the hash of the previous file.
func followVersion(p *registry.Package, before, now string) {
	if p.Version == before {
		p.Version, p.FileSHA256 = now, ""
	}
	if runner.Of(p.RegistryType).IsContainer && strings.HasSuffix(p.Identifier, ":"+before) {
		p.Identifier = strings.TrimSuffix(p.Identifier, before) + now
	}
}

// packageFrom parses a value of --package.
func packageFrom(at place.Place, word string) (*registry.Package, error) {
	kind, rest, _ := strings.Cut(word, ":")
	p := &registry.Package{RegistryType: kind, Identifier: rest, Transport: registry.Remote{Type: "stdio"}}
	switch k := runner.Of(kind); {
	case k.Prefixes == nil:
		return nil, cli.Usagef("--package %s: expected %s before the colon", word, runner.Or(runner.Listed(), " or "))
	case k.IsContainer:
	case k.Suffix != "":
		address, file, found := strings.Cut(rest, "#")
		if !found {
			return nil, cli.Usagef("--package %s: expected %s:URL#FILE; the hash of FILE is published", word, kind)
		}
		hash, err := hashOf(at.Path(file))
		if err != nil {
			return nil, fmt.Errorf("--package %s: %w", word, err)
		}
		p.Identifier, p.FileSHA256 = address, hash
	default:
		at := strings.LastIndex(rest, k.Sign)
		if at < 1 {
			return nil, cli.Usagef("--package %s: expected %s:%s", word, kind, k.Form)
		}
		p.Identifier, p.Version = rest[:at], rest[at+len(k.Sign):]
	}
	return p, nil
}

// hashOf returns the SHA-256 of a file in hexadecimal.
func hashOf(name string) (string, error) {
	file, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(file, maxBundle+1))
	if err == nil && n > maxBundle {
		err = errors.New("it has more than 1 GiB")
	}
	return hex.EncodeToString(h.Sum(nil)), err
}
