package definitions

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/revision"
)

// Definitions holds the definitions that one server sent at its last connection. All JSON is valid
// and is stored as the server sent it.
type Definitions struct {
	Server       json.RawMessage // name and version of the server (Implementation), or nil
	Capabilities json.RawMessage // nil if the server sent none
	Instructions string          // instructions for models; often empty
	Revision     string          // negotiated revision
	Era          string          // [Legacy] or [Modern] if the server can send requests to its clients only in that era; otherwise empty

	// Read is the time of the last request to the server for them; zero if unknown.
	Read time.Time

	Tools, Prompts, Resources, Templates, Skills []json.RawMessage
	// Others holds all other lists, by their list method. The map is replaced and never modified.
	Others map[string][]json.RawMessage
}

// The eras of the protocol: Legacy has a handshake, Modern has none.
const (
	Legacy = "legacy"
	Modern = "modern"
)

// Equal reports whether all fields except Read are equal, byte for byte.
func (d *Definitions) Equal(other *Definitions) bool {
	if d == nil || other == nil {
		return d == other
	}
	return bytes.Equal(d.Server, other.Server) && bytes.Equal(d.Capabilities, other.Capabilities) &&
		d.Instructions == other.Instructions && d.Revision == other.Revision && d.Era == other.Era &&
		!slices.ContainsFunc(revision.Lists(), func(l *revision.Method) bool {
			return !slices.EqualFunc(d.List(l.Name), other.List(l.Name), func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
		})
}

// format is the version of the file format. A file with another version is ignored.
const format = 1

var errDamaged = errors.New("not a file of definitions")

// append appends the content of the file for a key.
func (d *Definitions) append(dst []byte, key string) []byte {
	w := jsonrpc.NewObject(dst)
	w.Int("format", format)
	w.String("key", key)
	if d.Server != nil {
		w.Raw("server", d.Server)
	}
	if d.Capabilities != nil {
		w.Raw("capabilities", d.Capabilities)
	}
	w.String("instructions", d.Instructions)
	w.String("revision", d.Revision)
	if d.Era != "" {
		w.String("era", d.Era)
	}
	if !d.Read.IsZero() {
		w.String("read", d.Read.UTC().Format(time.RFC3339))
	}
	for _, l := range revision.Lists() {
		w.Array(l.Member)
		for _, entry := range d.List(l.Name) {
			w.Element(entry)
		}
		w.End()
	}
	return w.Bytes()
}

// parse parses the content of the file for a key. The result shares memory with data.
func parse(data []byte, key string) (*Definitions, error) {
	limits := jsonrpc.Limits{}
	members, fault := jsonrpc.Index(data, limits)
	if fault != nil {
		return nil, errDamaged
	}
	if fault := jsonrpc.Valid(data, limits); fault != nil {
		return nil, errDamaged
	}
	named, _ := jsonrpc.Unquote(members.Get("key"))
	if string(members.Get("format")) != "1" || named != key {
		return nil, errDamaged
	}
	d := &Definitions{Server: members.Get("server"), Capabilities: members.Get("capabilities")}
	d.Instructions, _ = jsonrpc.Unquote(members.Get("instructions"))
	d.Revision, _ = jsonrpc.Unquote(members.Get("revision"))
	if era, _ := jsonrpc.Unquote(members.Get("era")); era == Legacy || era == Modern {
		d.Era = era
	}
	read, _ := jsonrpc.Unquote(members.Get("read"))
	d.Read, _ = time.Parse(time.RFC3339, read) // zero in an older file
	for _, l := range revision.Lists() {
		array := members.Get(l.Member)
		if array == nil && d.field(l.Name) == nil { // missing in an older file
			continue
		}
		if len(array) == 0 || array[0] != '[' {
			return nil, errDamaged
		}
		var entries []json.RawMessage
		jsonrpc.EachElement(array, func(value []byte) bool {
			entries = append(entries, value)
			return true
		})
		d.SetList(l.Name, entries)
	}
	return d, nil
}

// field returns the field of the list for a method, or nil.
func (d *Definitions) field(method string) *[]json.RawMessage {
	switch method {
	case "tools/list":
		return &d.Tools
	case "prompts/list":
		return &d.Prompts
	case "resources/list":
		return &d.Resources
	case "resources/templates/list":
		return &d.Templates
	case "skills/list":
		return &d.Skills
	}
	return nil
}

// List returns the list of a list method, such as tools/list.
func (d *Definitions) List(method string) []json.RawMessage {
	if field := d.field(method); field != nil {
		return *field
	}
	return d.Others[method]
}

// SetList replaces the list of a list method.
func (d *Definitions) SetList(method string, entries []json.RawMessage) {
	if field := d.field(method); field != nil {
		*field = entries
		return
	}
	d.Others = maps.Clone(d.Others)
	if d.Others == nil {
		d.Others = map[string][]json.RawMessage{}
	}
	d.Others[method] = entries
}
