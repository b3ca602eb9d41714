package definitions

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Definitions are what one server offered when it was last connected. All JSON is
// as the server sent it, and valid.
type Definitions struct {
	Server       json.RawMessage // its name and version (Implementation); nil if it did not say
	Capabilities json.RawMessage // nil if it did not say
	Instructions string          // for models; often empty
	Revision     string          // of the protocol, that was spoken with it

	Tools, Prompts, Resources, Templates, Skills []json.RawMessage
}

// Equal reports whether both say the same, byte for byte.
func (d *Definitions) Equal(other *Definitions) bool {
	if d == nil || other == nil {
		return d == other
	}
	same := func(a, b []json.RawMessage) bool {
		return slices.EqualFunc(a, b, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
	}
	return bytes.Equal(d.Server, other.Server) && bytes.Equal(d.Capabilities, other.Capabilities) &&
		d.Instructions == other.Instructions && d.Revision == other.Revision &&
		same(d.Tools, other.Tools) && same(d.Prompts, other.Prompts) &&
		same(d.Resources, other.Resources) && same(d.Templates, other.Templates) && same(d.Skills, other.Skills)
}

// format is the version of the files. A file of another version is ignored.
const format = 1

var errDamaged = errors.New("not a file of definitions")

// append appends the definitions as the content of the file for a key.
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
	for _, list := range d.lists() {
		w.Array(list.name)
		for _, entry := range *list.entries {
			w.Element(entry)
		}
		w.End()
	}
	return w.Bytes()
}

// parse reads what append wrote for this key. It keeps parts of data.
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
	for _, list := range d.lists() {
		array := members.Get(list.name)
		if len(array) == 0 || array[0] != '[' {
			return nil, errDamaged
		}
		jsonrpc.EachElement(array, func(value []byte) bool {
			*list.entries = append(*list.entries, value)
			return true
		})
	}
	return d, nil
}

type list struct {
	name    string
	entries *[]json.RawMessage
}

func (d *Definitions) lists() []list {
	return []list{{"tools", &d.Tools}, {"prompts", &d.Prompts}, {"resources", &d.Resources}, {"resourceTemplates", &d.Templates}, {"skills", &d.Skills}}
}
