package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/lazy"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
)

const (
	// maxServer is the largest size in bytes of a server.json with the registry's data about it.
	maxServer = 256 << 10
	// maxName is the largest length of a server's name, and maxVersion of a version, both in bytes.
	maxName    = 200
	maxVersion = 255
	// maxWays is the largest number of packages, and of remotes, of a server.
	maxWays = 100
)

// official is the key of the registry's own data in _meta.
const official = "io.modelcontextprotocol.registry/official"

// olderNames returns the current names of members, by their names in mid-2025.
var olderNames = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"registry_type": "registryType", "registry_name": "registryType", "registry_base_url": "registryBaseUrl", "file_sha256": "fileSha256",
		"runtime_hint": "runtimeHint", "runtime_arguments": "runtimeArguments", "package_arguments": "packageArguments",
		"environment_variables": "environmentVariables", "website_url": "websiteUrl", "is_required": "isRequired", "is_secret": "isSecret",
		"is_repeated": "isRepeated", "value_hint": "valueHint", "transport_type": "type", "published_at": "publishedAt", "updated_at": "updatedAt",
		"is_latest": "isLatest", "status_message": "statusMessage",
	}
})

// Parse parses a server.json, including the form of mid-2025. It returns an error for a server that
// cannot be found or installed. It accepts other violations of the schema, which [Server.Check]
// reports.
func Parse(raw json.RawMessage) (*Server, error) {
	if len(raw) > maxServer {
		return nil, fmt.Errorf("server.json has %d bytes, expected at most %d", len(raw), maxServer)
	}
	raw = bytes.TrimSpace(raw)
	s := new(Server)
	if err := schema.DecodeLoose(raw, s); err != nil || isOld(raw) {
		current, err := modernize(raw, "")
		if err != nil {
			return nil, fmt.Errorf("server.json: %w", err)
		}
		*s = Server{}
		if err := schema.DecodeLoose(current, s); err != nil {
			return nil, fmt.Errorf("server.json: %w", err)
		}
	}
	s.Raw = raw
	for i := range s.Packages {
		p := &s.Packages[i]
		p.RegistryType = strings.ToLower(p.RegistryType)
		p.Transport.Type = transportType(p.Transport.Type, "stdio")
	}
	for i := range s.Remotes {
		s.Remotes[i].Type = transportType(s.Remotes[i].Type, "streamable-http")
	}
	return s, s.usable()
}

// transportType returns the current name of a transport. For "" it returns none.
func transportType(word, none string) string {
	switch word {
	case "":
		return none
	case "http", "streamable", "streamable_http", "streamableHttp":
		return "streamable-http"
	}
	return word
}

var serverName = lazy.Regexp(`^[a-zA-Z0-9][a-zA-Z0-9.-]*(/[a-zA-Z0-9._-]+)?$`)

// usable returns an error if the server cannot be used at all.
func (s *Server) usable() error {
	switch {
	case s.Name == "":
		return errors.New("server.json has no name")
	case len(s.Name) > maxName || !serverName().MatchString(s.Name):
		return fmt.Errorf("server.json: name %q: expected up to %d letters, digits, dots and hyphens with one slash, such as io.github.owner/server", plaintext.Line(s.Name, 80), maxName)
	case s.Version == "" || len(s.Version) > maxVersion || strings.ContainsFunc(s.Version, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("server %s: version %q: expected up to %d visible characters of ASCII", s.Name, plaintext.Line(s.Version, 80), maxVersion)
	case len(s.Packages) > maxWays || len(s.Remotes) > maxWays:
		return fmt.Errorf("server %s %s has %d packages and %d remotes, expected at most %d of each", s.Name, s.Version, len(s.Packages), len(s.Remotes), maxWays)
	}
	return nil
}

// isOld reports whether a server.json may have members of mid-2025. A wrong true costs only time.
func isOld(raw json.RawMessage) bool {
	m, fault := jsonrpc.Index(raw, jsonrpc.Limits{})
	if fault != nil {
		return true
	}
	for name := range m.All() {
		if name == "version_detail" || olderNames()[name] != "" {
			return true
		}
	}
	ways := string(m.Get("packages")) + string(m.Get("remotes"))
	return strings.Contains(ways, `"registry_`) || strings.Contains(ways, `"transport_type"`) || strings.Contains(ways, `_arguments"`) ||
		strings.Contains(ways, `_variables"`) || strings.Contains(ways, `"is_`)
}

// modernize renames members to their current names and converts values to their types. Programs
// wrote numbers and booleans instead of strings, and strings instead of booleans. in is the name of
// the member that holds the value.
func modernize(raw json.RawMessage, in string) (json.RawMessage, error) {
	switch {
	case len(raw) == 0 || in == "_meta":
		return raw, nil
	case raw[0] == '{':
		return modernizeObject(raw, in)
	case raw[0] == '[':
		var elements []json.RawMessage
		if err := schema.DecodeLoose(raw, &elements); err != nil {
			return nil, err
		}
		w := jsonrpc.NewArray(nil)
		for _, element := range elements {
			current, err := modernize(element, in)
			if err != nil {
				return nil, err
			}
			w.Element(current)
		}
		return w.Bytes(), nil
	}
	switch word := string(raw); {
	case slices.Contains([]string{"isRequired", "isSecret", "isRepeated"}, in):
		switch strings.ToLower(strings.Trim(word, `"`)) {
		case "true", "1":
			return json.RawMessage("true"), nil
		case "false", "0", "":
			return json.RawMessage("false"), nil
		}
	case slices.Contains([]string{"default", "value", "placeholder", "choices", "identifier", "title", "description", "valueHint"}, in) && word[0] != '"' && word != "null":
		return jsonrpc.AppendString(nil, word), nil
	}
	return raw, nil
}

// isLonely reports whether a member that should be a list is a single element.
func isLonely(name string, value json.RawMessage) bool {
	switch name {
	case "choices":
		return value[0] != '[' && value[0] != '{' && value[0] != 'n'
	case "packages":
		return value[0] == '{' && jsonrpc.Get(value, "identifier") != nil
	case "remotes":
		return value[0] == '{' && jsonrpc.Get(value, "url") != nil
	}
	return false
}

func modernizeObject(raw json.RawMessage, in string) (json.RawMessage, error) {
	m, fault := jsonrpc.Index(raw, jsonrpc.Limits{})
	if fault != nil {
		return nil, errors.New(fault.Message)
	}
	w := jsonrpc.NewObject(nil)
	for name, value := range m.All() {
		current := name
		if newer := olderNames()[name]; newer != "" && in != "variables" {
			if m.Get(newer) != nil {
				continue
			}
			current = newer
		}
		if in == "packages" && name == "name" && m.Get("identifier") == nil {
			current = "identifier"
		}
		if in != "variables" && len(value) > 0 && isLonely(current, value) {
			value = slices.Concat(json.RawMessage("["), value, json.RawMessage("]"))
		}
		value, err := modernize(value, current)
		if err != nil {
			return nil, err
		}
		w.Raw(current, value)
	}
	if detail := m.Get("version_detail"); in == "" && detail != nil && m.Get("version") == nil {
		if version := jsonrpc.Get(detail, "version"); version != nil {
			w.Raw("version", version)
		}
	}
	return w.Bytes(), nil
}

// registryMeta is the registry's data about an entry, which is in _meta.
type registryMeta struct {
	Status        Status    `json:"status"`
	StatusMessage string    `json:"statusMessage"`
	PublishedAt   time.Time `json:"publishedAt"`
	UpdatedAt     time.Time `json:"updatedAt"`
	IsLatest      bool      `json:"isLatest"`
}

// parseEntry parses an element of a list. The element is {"server": …, "_meta": …} or, from
// registries of mid-2025, the server.json itself.
func parseEntry(raw json.RawMessage) (*Entry, error) {
	if len(raw) > maxServer {
		return nil, fmt.Errorf("an entry has %d bytes, expected at most %d", len(raw), maxServer)
	}
	m, fault := jsonrpc.Index(raw, jsonrpc.Limits{})
	if fault != nil {
		return nil, fmt.Errorf("an entry is not an object: %s", fault.Message)
	}
	server, meta := m.Get("server"), m.Get("_meta")
	if server == nil {
		server = raw
	}
	s, err := Parse(server)
	if err != nil {
		return nil, err
	}
	e := &Entry{Server: s, Status: Active, Meta: meta}
	said := jsonrpc.Get(meta, official)
	for _, older := range []json.RawMessage{jsonrpc.Get(jsonrpc.Get(server, "_meta"), official), m.Get("x-io.modelcontextprotocol.registry")} {
		if said == nil {
			said = older
		}
	}
	if said == nil {
		return e, nil
	}
	current, err := modernize(said, "")
	if err != nil {
		return nil, fmt.Errorf("server %s %s: _meta: %w", s.Name, s.Version, err)
	}
	var about registryMeta
	if err := schema.DecodeLoose(current, &about); err != nil {
		return nil, fmt.Errorf("server %s %s: _meta: %w", s.Name, s.Version, err)
	}
	e.StatusMessage, e.Published, e.Updated, e.IsLatest = about.StatusMessage, about.PublishedAt, about.UpdatedAt, about.IsLatest
	if e.Updated.IsZero() {
		e.Updated = e.Published
	}
	switch about.Status {
	case Deprecated, Deleted:
		e.Status = about.Status
	}
	return e, nil
}
