package registry

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

const (
	// maxFolderEntries is the largest number of files and subfolders that are examined in a folder.
	maxFolderEntries = 100_000
	// maxFolderFiles is the largest number of files that are read.
	maxFolderFiles = 20_000
	// maxFolderFile is the largest size of a file in bytes.
	maxFolderFile = 1 << 20
	// maxFolderBytes is the largest size of all files together in bytes. The servers of a folder
	// are in memory until the last file is read.
	maxFolderBytes = 256 << 20
)

// readFolder reads the servers of a folder. It reads files called server.json. It also reads other
// .json files that contain a server, a list of servers, or a list in the form of the API. It
// follows no links, and skips hidden folders and node_modules. It reports faults only of files
// called server.json and of lists.
func readFolder(ctx context.Context, folder string) (*Page, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("folder %s cannot be read: %w", folder, err)
	}
	defer root.Close()
	p := &Page{}
	looked, read, left := 0, 0, int64(maxFolderBytes)
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if looked++; looked > maxFolderEntries {
			return fmt.Errorf("has more than %d files and folders; name a smaller one", maxFolderEntries)
		}
		name := d.Name()
		switch {
		case d.IsDir() && path != "." && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return fs.SkipDir
		case !d.Type().IsRegular() || !strings.HasSuffix(name, ".json"):
			return nil
		}
		if read++; read > maxFolderFiles {
			return fmt.Errorf("has more than %d files that end in .json; name a smaller one", maxFolderFiles)
		}
		if left -= p.addFile(root, path, min(left, maxFolderFile)); left < 0 {
			return fmt.Errorf("has more than %d MiB in files that end in .json; name a smaller one", maxFolderBytes>>20)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", folder, err)
	}
	p.markLatest()
	return p, nil
}

// addFile adds the servers of a file. It reads at most most+1 bytes, and returns the number of
// bytes read.
func (p *Page) addFile(root *os.Root, path string, most int64) int64 {
	meant := path == "server.json" || strings.HasSuffix(path, "/server.json")
	fail := func(err error) { p.add(nil, fmt.Errorf("%s: %w", path, err)) }
	file, err := root.Open(path)
	if err != nil {
		fail(err)
		return 0
	}
	defer file.Close()
	info, err := file.Stat()
	var text []byte
	if err == nil && !info.Mode().IsRegular() { // another program replaced the file in the meantime
		err = errors.New("is not a regular file")
	}
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(file, most+1))
	}
	switch {
	case err != nil:
		fail(err)
		return int64(len(text))
	case int64(len(text)) > most:
		if meant {
			fail(fmt.Errorf("has more than %d bytes", most))
		}
		return int64(len(text))
	}
	for _, raw := range serversOf(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff"))), meant) {
		e, err := parseEntry(raw)
		if err != nil {
			fail(err)
			continue
		}
		if e.Updated.IsZero() {
			e.Published, e.Updated = info.ModTime(), info.ModTime()
		}
		p.Entries = append(p.Entries, e)
	}
	return int64(len(text))
}

// serversOf returns the servers in a file, or nil if the file has another purpose. meant is set for
// a file called server.json.
func serversOf(text []byte, meant bool) []json.RawMessage {
	var list []json.RawMessage
	if len(text) > 0 && text[0] == '[' {
		if schema.DecodeLoose(text, &list) != nil {
			return nil
		}
		return slices.DeleteFunc(list, func(raw json.RawMessage) bool { return !looksLikeServer(raw) })
	}
	if all := jsonrpc.Get(valid(text), "servers"); len(all) > 0 && all[0] == '[' {
		return serversOf(all, false)
	}
	if meant || looksLikeServer(text) {
		return []json.RawMessage{text}
	}
	return nil
}

// valid returns text if it is a JSON object, and otherwise nil.
func valid(text []byte) json.RawMessage {
	if _, fault := jsonrpc.Index(text, jsonrpc.Limits{}); fault != nil {
		return nil
	}
	return text
}

// looksLikeServer reports whether a file with any name is a server.json. It must not accept
// package.json, which also has a name and a version.
func looksLikeServer(raw json.RawMessage) bool {
	raw = valid(raw)
	if inner := jsonrpc.Get(raw, "server"); inner != nil {
		raw = inner
	}
	name, ok := jsonrpc.Unquote(jsonrpc.Get(raw, "name"))
	if !ok || !serverName().MatchString(name) {
		return false
	}
	if link, ok := jsonrpc.Unquote(jsonrpc.Get(raw, "$schema")); ok && strings.Contains(link, "server.schema.json") {
		return true
	}
	for _, member := range []string{"packages", "remotes"} {
		if ways := jsonrpc.Get(raw, member); len(ways) > 0 && ways[0] == '[' {
			return strings.Contains(name, "/")
		}
	}
	return false
}

// markLatest marks the newest version of each server as the latest, because files do not have that
// mark. If several files have the same version, the first one counts.
func (p *Page) markLatest() {
	slices.SortStableFunc(p.Entries, func(a, b *Entry) int {
		return cmp.Or(cmp.Compare(a.Server.Name, b.Server.Name), -compareVersions(a.Server.Version, b.Server.Version))
	})
	p.Entries = slices.CompactFunc(p.Entries, func(a, b *Entry) bool {
		return a.Server.Name == b.Server.Name && a.Server.Version == b.Server.Version
	})
	name := ""
	for _, e := range p.Entries {
		e.IsLatest = e.Status != Deleted && e.Server.Name != name
		if e.IsLatest {
			name = e.Server.Name
		}
	}
}
