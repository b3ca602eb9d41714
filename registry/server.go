package registry

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// Server is a server.json, which describes a server with its packages and remotes. It has the form
// of the schema 2025-12-11. Parse also accepts the snake_case members of mid-2025. Raw has the
// members without a field here, too.
type Server struct {
	Schema      string      `json:"$schema,omitempty"`
	Name        string      `json:"name"` // namespace in reverse DNS, and a name: io.github.owner/server
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
	Repository  *Repository `json:"repository,omitempty"`
	WebsiteURL  string      `json:"websiteUrl,omitempty"`
	Packages    []Package   `json:"packages,omitempty"`
	Remotes     []Remote    `json:"remotes,omitempty"`

	Raw json.RawMessage `json:"-"` // complete server.json as it was read
}

// Repository is the source repository of a server.
type Repository struct {
	URL       string `json:"url,omitempty"`
	Source    string `json:"source,omitempty"`
	ID        string `json:"id,omitempty"`
	Subfolder string `json:"subfolder,omitempty"`
}

// Package describes one way to run a server on this machine.
type Package struct {
	RegistryType         string     `json:"registryType"` // for example npm
	RegistryBaseURL      string     `json:"registryBaseUrl,omitempty"`
	Identifier           string     `json:"identifier"` // name, image, or the URL of an mcpb file
	Version              string     `json:"version,omitempty"`
	FileSHA256           string     `json:"fileSha256,omitempty"` // hexadecimal; required for mcpb
	RuntimeHint          string     `json:"runtimeHint,omitempty"`
	Transport            Remote     `json:"transport"` // stdio, or an address on this machine
	RuntimeArguments     []Argument `json:"runtimeArguments,omitempty"`
	PackageArguments     []Argument `json:"packageArguments,omitempty"`
	EnvironmentVariables []Variable `json:"environmentVariables,omitempty"`
}

// Remote is the address of a remote server, or the transport of a package.
type Remote struct {
	Type      string           `json:"type"` // stdio, streamable-http or sse
	URL       string           `json:"url,omitempty"`
	Headers   []Variable       `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"` // values for {name} in URL
}

// Input is a value that the user may have to supply.
type Input struct {
	Description string           `json:"description,omitempty"`
	IsRequired  bool             `json:"isRequired,omitempty"`
	IsSecret    bool             `json:"isSecret,omitempty"`
	Format      string           `json:"format,omitempty"` // string, number, boolean or filepath; empty means string
	Default     string           `json:"default,omitempty"`
	Placeholder string           `json:"placeholder,omitempty"`
	Choices     []string         `json:"choices,omitempty"`
	Value       string           `json:"value,omitempty"` // fixed value from the author; Variables have the values for {name} in it
	Variables   map[string]Input `json:"variables,omitempty"`
}

// Variable is an environment variable or an HTTP header.
type Variable struct {
	Name string `json:"name"`
	Input
}

// Argument is an argument of a command line.
type Argument struct {
	Type       string `json:"type"`           // positional or named
	Name       string `json:"name,omitempty"` // name of a named argument, including its dashes
	ValueHint  string `json:"valueHint,omitempty"`
	IsRepeated bool   `json:"isRepeated,omitempty"`
	Input
	Blank bool `json:"-"` // whether the value of a positional argument is set to ""
}

// plainArgument is an Argument without its methods for JSON.
type plainArgument Argument

// UnmarshalJSON sets Blank to distinguish an empty value from a missing one.
func (a *Argument) UnmarshalJSON(text []byte) error {
	if err := schema.DecodeLoose(text, (*plainArgument)(a)); err != nil {
		return err
	}
	a.Blank = a.Type != "named" && string(jsonrpc.Get(text, "value")) == `""`
	return nil
}

// MarshalJSON writes an empty value if Blank is set.
func (a Argument) MarshalJSON() ([]byte, error) {
	text, err := schema.Encode(nil, plainArgument(a))
	if err == nil && a.Blank {
		text = jsonrpc.With(text, "value", []byte(`""`))
	}
	return text, err
}

// ErrNotFound reports that no source has a server with the name, or not the requested version.
var ErrNotFound = errors.New("is not in any of the registries")

// Status is the status of a version of a server.
type Status string

// The statuses of the registry API.
const (
	Active     Status = "active"
	Deprecated Status = "deprecated"
	Deleted    Status = "deleted"
)

// An Entry is a version of a server, with the registry's data about it.
type Entry struct {
	Server        *Server
	Source        string // Name of its Source
	Status        Status
	StatusMessage string // reason for a deprecation or deletion; untrusted text
	IsLatest      bool
	Published     time.Time // zero if the registry does not set it
	Updated       time.Time
	Meta          json.RawMessage // _meta of the registry as it was read, including keys of subregistries; may be nil

	// Only entries of a [Mirror] have the following fields.

	Versions []Version // all versions in the same source, newest first, including deleted ones
	Also     []string  // names of other sources with a server of this name
}

// A Version describes one version of a server.
type Version struct {
	Version   string
	Status    Status
	IsLatest  bool
	Published time.Time
}
