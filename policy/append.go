package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/filelock"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/tailscale/hujson"
)

// lockTime is how long Append waits for another process that is changing the same file.
const lockTime = 10 * time.Second

// Append appends a rule to a file, and keeps the file's comments and layout. It creates a missing
// file with access for its owner only. It does nothing if the file has the rule already. The file
// is replaced as a whole, so that readers never see a part of it. A lock file next to it, with the
// ending .lock, prevents the loss of concurrent changes. The rule and the file must compile; errors
// are those of [Load] and [Compile].
func Append(ctx context.Context, path string, rule Rule) error {
	rule.Source = ""
	if _, err := Compile([]Rule{rule}, Options{}); err != nil {
		return err
	}
	return rewrite(ctx, path, func(path string, before []byte) ([]byte, error) { return withRule(path, before, rule) })
}

// AppendTrusted appends the name of a server, as returned by [NameOf], to the member "trusted" of a
// file. In all other respects it is like [Append].
func AppendTrusted(ctx context.Context, path, name string) error {
	return rewrite(ctx, path, func(path string, before []byte) ([]byte, error) {
		file, err := Parse(path, before, LoadOptions{})
		if err != nil || slices.Contains(file.Trusted, name) {
			return nil, err
		}
		return with(path, before, "trusted", name)
	})
}

// rewrite replaces the content of a file by the result of change. It does nothing if the result is
// nil.
func rewrite(ctx context.Context, path string, change func(path string, before []byte) ([]byte, error)) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // replaces the target of the link and not the link
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, fmt.Errorf("another process has held %s.lock for %v", path, lockTime))
	defer cancel()
	unlock, err := filelock.Wait(ctx, path+".lock")
	if err != nil {
		return fmt.Errorf("policy: nothing was written to %s: %w", path, err)
	}
	defer unlock()
	before, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		before, err = []byte("{\n  \"rules\": []\n}\n"), nil
	}
	if err != nil {
		return fmt.Errorf("policy: %w", err)
	}
	after, err := change(path, before)
	if err != nil || after == nil {
		return err
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm() &^ 0o022 // other users must not be able to change the rules
	}
	if err := filelock.Replace(path, after, mode); err != nil {
		return fmt.Errorf("policy: nothing was written to %s: %w", path, err)
	}
	return nil
}

// withRule returns the file's content with one more rule, or nil if the file has the rule already.
func withRule(path string, data []byte, rule Rule) ([]byte, error) {
	file, err := Parse(path, data, LoadOptions{})
	if err != nil {
		return nil, err
	}
	for _, r := range file.Rules {
		if r.Source = ""; same(r, rule) {
			return nil, nil
		}
	}
	return with(path, data, "rules", rule)
}

// with returns the file's content with one more element of a member.
func with(path string, data []byte, member string, value any) ([]byte, error) {
	text, err := schema.Encode(nil, value)
	if err != nil {
		return nil, err
	}
	return edited(path, data, "with one more of "+member, func(root *hujson.Value) error { return add(root, member, text) })
}

// edited returns the file's content after change, if the result parses. title describes the result
// in errors.
func edited(path string, data []byte, title string, change func(root *hujson.Value) error) ([]byte, error) {
	root, err := parseFile(data)
	if err == nil {
		err = change(&root)
	}
	if err != nil {
		return nil, &Problem{Source: path, Err: err}
	}
	after := root.Pack()
	if _, err := Parse(path, after, LoadOptions{}); err != nil {
		return nil, fmt.Errorf("%s: %w", title, err)
	}
	return after, nil
}

// add appends an element to a member and indents it like the element before it.
func add(root *hujson.Value, member string, text []byte) error {
	element, err := hujson.Parse(text)
	if err != nil {
		return err
	}
	if root.Find("/"+member) == nil {
		patch := fmt.Sprintf(`[{"op": "add", "path": "/%s", "value": []}]`, member)
		if err := root.Patch([]byte(patch)); err != nil {
			return err
		}
		if members := root.Value.(*hujson.Object).Members; len(members) > 1 { // on its own line if the first member is on its own line
			first, last := &members[0], &members[len(members)-1]
			if before := first.Name.BeforeExtra; bytes.ContainsRune(before, '\n') {
				note := bytes.TrimRight(last.Name.BeforeExtra, " \t\r\n") // comment about the member before it
				last.Name.BeforeExtra = hujson.Extra(string(note) + "\n" + indentation(before))
			}
			last.Value.BeforeExtra = hujson.Extra(" ")
		}
	}
	list := root.Find("/" + member).Value.(*hujson.Array)
	if n := len(list.Elements); n > 0 {
		follow(list, &list.Elements[n-1], &element)
	} else {
		margin := "\n" + max("  ", indentation(list.AfterExtra))
		element.BeforeExtra = append(bytes.TrimRight(list.AfterExtra, " \t\r\n"), margin+"  "...)
		list.AfterExtra = hujson.Extra(margin)
	}
	list.Elements = append(list.Elements, element)
	return nil
}

// follow gives element the layout of last, the element before it.
func follow(list *hujson.Array, last, element *hujson.Value) {
	margin := " "
	if bytes.ContainsRune(last.BeforeExtra, '\n') {
		margin = "\n" + indentation(last.BeforeExtra)
	}
	if last.AfterExtra != nil { // the list has a trailing comma
		element.AfterExtra = hujson.Extra{}
	}
	// A comment on the line of the last rule stays with that rule.
	note, rest, _ := strings.Cut(string(list.AfterExtra), "\n")
	if strings.HasPrefix(strings.TrimLeft(note, " \t"), "//") {
		element.BeforeExtra = hujson.Extra(note)
		list.AfterExtra = hujson.Extra("\n" + rest)
		margin = "\n" + strings.TrimPrefix(margin, "\n")
	}
	element.BeforeExtra = append(element.BeforeExtra, margin...)
}

// indentation returns the white space at the beginning of the last line of extra.
func indentation(extra hujson.Extra) string {
	last := extra[bytes.LastIndexByte(extra, '\n')+1:]
	return string(last[:len(last)-len(bytes.TrimLeft(last, " \t"))])
}
