package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/tailscale/hujson"
)

const (
	// maxFile is the largest size of a file of rules in bytes.
	maxFile = 1 << 20
	// maxBrackets is the largest number of objects and arrays in a file. It limits the stack of the
	// recursive parser.
	maxBrackets = 50_000
)

// File is a parsed file of rules. Compile the Rules of all files together.
type File struct {
	Path    string // path as passed to Load or Parse
	Rules   []Rule // rules with their Source
	Default Effect // empty if the file does not set it
	// DefaultSource is the place of Default, such as policy.json:12; see [Options].
	DefaultSource string
	// Trusted lists the servers that the user vouches for, and Public the servers without private
	// data. Both have the form of [Named]. The caller decides about their effects. A name without
	// an origin should not count for a server that a project defines.
	Trusted, Public []string
	Ignored         []error // with Tighten, a *Problem for each ignored entry
}

// LoadOptions configure Load. With the zero value, Load uses the whole file.
type LoadOptions struct {
	// Tighten accepts only rules that deny or ask. It is for a file that the user did not write.
	// Rules that allow are ignored. Pass Default to [Strictest] together with the user's default.
	Tighten bool
}

// Load reads a file of rules. The file is a JSON object, with comments and trailing commas allowed,
// and may have the members rules, default, trusted and public. An unknown member is an error,
// because a misspelt member would silently change the policy. The error joins a [*Problem] for each
// fault, or wraps [fs.ErrNotExist]. Load does not check conditions; [Compile] does.
func Load(path string, o LoadOptions) (*File, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	return Parse(path, data, o)
}

// Parse is like [Load], but gets the content of the file. path names the file in errors.
func Parse(path string, data []byte, o LoadOptions) (*File, error) {
	root, err := parseFile(data)
	if err != nil {
		return nil, &Problem{Source: path, Err: err}
	}
	file := &File{Path: path}
	var faults []error
	for i := range root.Value.(*hujson.Object).Members {
		m := &root.Value.(*hujson.Object).Members[i]
		place := path + ":" + strconv.Itoa(lineOf(data, m.Value.StartOffset))
		switch name := m.Name.Value.(hujson.Literal).String(); name {
		case "rules":
			faults = append(faults, file.readRules(data, &m.Value)...)
		case "default":
			text, ok := m.Value.Value.(hujson.Literal)
			file.Default, file.DefaultSource = Effect(text.String()), place
			if !ok || file.Default.strictness() < 0 {
				faults = append(faults, &Problem{Source: place, Field: name, Err: unknownEffect(file.Default)})
			}
		case "trusted", "public":
			servers := &file.Trusted
			if name == "public" {
				servers = &file.Public
			}
			if err := schema.Decode(plain(&m.Value), servers); err != nil {
				faults = append(faults, &Problem{Source: place, Field: name, Err: fmt.Errorf("expected an array of names of servers: %w", err)})
			}
		case "$schema":
		default:
			faults = append(faults, &Problem{Source: place, Field: quote(name), Err: errors.New(`is unknown; there are "rules", "default", "trusted" and "public"`)})
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if o.Tighten {
		file.tighten()
	}
	return file, nil
}

// tighten removes entries that could make another policy less strict.
func (f *File) tighten() {
	var strict []Rule
	for i, r := range f.Rules {
		if r.Effect == Allow {
			f.Ignored = append(f.Ignored, &Problem{Source: r.Source, Rule: r.title(i), Err: errors.New("is left out: this file may only deny and ask; write rules that allow into your own policy")})
			continue
		}
		strict = append(strict, r)
	}
	f.Rules = strict
	left := errors.New("is left out: this file may only deny and ask; write trusted servers into your own policy")
	if len(f.Trusted) > 0 {
		f.Ignored = append(f.Ignored, &Problem{Source: f.Path, Field: "trusted", Err: left})
	}
	if len(f.Public) > 0 {
		f.Ignored = append(f.Ignored, &Problem{Source: f.Path, Field: "public", Err: left})
	}
	f.Trusted, f.Public = nil, nil
}

// readRules reads the member "rules".
func (f *File) readRules(data []byte, v *hujson.Value) []error {
	list, ok := v.Value.(*hujson.Array)
	if !ok {
		return []error{&Problem{Source: f.Path + ":" + strconv.Itoa(lineOf(data, v.StartOffset)), Field: "rules", Err: errors.New("expected an array of rules")}}
	}
	var faults []error
	line, at := 1, 0
	for i := range list.Elements {
		element := &list.Elements[i]
		line += bytes.Count(data[at:element.StartOffset], []byte("\n"))
		at = element.StartOffset
		source := f.Path + ":" + strconv.Itoa(line)
		var rule Rule
		if err := schema.Decode(plain(element), &rule); err != nil {
			faults = append(faults, &Problem{Source: source, Rule: rule.title(i), Err: err})
			continue
		}
		rule.Source = source
		f.Rules = append(f.Rules, rule)
	}
	return faults
}

// readFile reads up to maxFile+1 bytes of a file. parseFile returns an error for a larger file.
func readFile(path string) ([]byte, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	// Editors on Windows put a byte order mark at the start of a file.
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

// parseFile parses a JSON object that may have comments. Duplicate names are an error.
func parseFile(data []byte) (hujson.Value, error) {
	if len(data) > maxFile {
		return hujson.Value{}, fmt.Errorf("%w: more than %d bytes; use patterns for many names", ErrLimit, maxFile)
	}
	if bytes.Count(data, []byte("{"))+bytes.Count(data, []byte("[")) > maxBrackets {
		return hujson.Value{}, fmt.Errorf("%w: more than %d objects and arrays", ErrLimit, maxBrackets)
	}
	root, err := hujson.Parse(data)
	if err != nil {
		// Omit the literal at the end of the text, because the file may be any file, with secrets.
		text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), "invalid literal: ")
		return hujson.Value{}, fmt.Errorf("not JSON: %s", strings.TrimSuffix(text, ": "))
	}
	if _, fault := jsonrpc.Index(plain(&root), jsonrpc.Limits{}); fault != nil {
		return hujson.Value{}, errors.New(fault.Message)
	}
	return root, nil
}

// plain returns a value as JSON without comments.
func plain(v *hujson.Value) []byte {
	same := v.Clone()
	same.Minimize()
	return same.Pack()
}

func lineOf(data []byte, offset int) int {
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}
