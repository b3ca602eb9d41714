package guard

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
)

// Kind is the kind of a [Definition].
type Kind string

// The kinds of definitions.
const (
	Tool         Kind = "tool"
	Prompt       Kind = "prompt"
	Resource     Kind = "resource"
	Template     Kind = "template"     // a resource template
	Skill        Kind = "skill"        // frontmatter, and files with their digests
	View         Kind = "view"         // a document that shows a tool's results: its digest and the origins it may reach
	Instructions Kind = "instructions" // a server's description of its features: title, description, instructions
	Command      Kind = "command"      // start of a local server: command line and names of environment variables
	Version      Kind = "version"      // the package version or digest of a server
)

// A Definition is one item that a user approves before a model reads it or a computer runs it.
// Fields that its kind does not use are empty.
type Definition struct {
	Kind        Kind   `json:"kind"`
	Server      string `json:"server"`
	Name        string `json:"name,omitempty"` // unique for the kind and server; a URI for resources, templates and skills
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`

	Schema       json.RawMessage `json:"schema,omitempty"`       // schema of the input, or the arguments of a prompt
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"` // schema of structured results
	Annotations  json.RawMessage `json:"annotations,omitempty"`
	Icons        json.RawMessage `json:"icons,omitempty"`

	Text string `json:"text,omitempty"` // instructions, command line, version, MIME type: data without a field of its own

	// Origin distinguishes servers with the same name. It is not part of the approved content, but
	// limits the approval.
	Origin string `json:"-"`
}

// Hash returns "sha256:" and the hash of d without its origin, in hexadecimal. The order of JSON
// members, white space, escapes in strings and spellings of numbers do not affect it. Any other
// difference does, even another Unicode normal form. A field that should hold JSON but is invalid
// is hashed byte by byte.
func (d Definition) Hash() string {
	h := sha256.New()
	part := func(b []byte) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(b)))
		h.Write(length[:])
		h.Write(b)
	}
	part([]byte("junction definition 1"))
	for _, s := range []string{string(d.Kind), d.Server, d.Name, d.Title, d.Description, d.Text} {
		part([]byte(s))
	}
	for _, raw := range []json.RawMessage{d.Schema, d.OutputSchema, d.Annotations, d.Icons} {
		part(canonical(raw))
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// key identifies the feature that d defines, regardless of its content.
func (d Definition) key() pinKey { return pinKey{Kind: d.Kind, Server: d.Server, Name: d.Name} }

// canonical returns JSON in canonical form. Other text is prefixed with a byte that cannot begin
// JSON.
func canonical(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return nil
	}
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) == nil {
		if form, ok := jsonrpc.Canonical(raw); ok {
			return form
		}
	}
	return append([]byte{0}, raw...)
}

// Counted counts the definitions of each kind, as in "9 tools, 1 prompt, command".
func Counted(definitions []Definition) string {
	var parts []string
	for _, kind := range []Kind{Tool, Prompt, Resource, Template, Skill, View, Instructions, Command, Version} {
		n := 0
		for _, d := range definitions {
			if d.Kind == kind {
				n++
			}
		}
		switch isOne := kind == Instructions || kind == Command || kind == Version; {
		case n > 0 && isOne:
			parts = append(parts, string(kind))
		case n > 0:
			parts = append(parts, plaintext.Count(n, string(kind)))
		}
	}
	return strings.Join(parts, ", ")
}
