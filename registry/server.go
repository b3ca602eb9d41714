package registry

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/schema"
)

// Server is a server.json: what a server is called, and how to install it or where it is reached. The form is that of the
// schema 2025-12-11; members of mid-2025, in snake_case, are read as well. Members that mean nothing here are kept in Raw only.
type Server struct {
	Schema      string      `json:"$schema,omitempty"`
	Name        string      `json:"name"` // reverse DNS and a name: io.github.owner/server
	Title       string      `json:"title,omitempty"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
	Repository  *Repository `json:"repository,omitempty"`
	WebsiteURL  string      `json:"websiteUrl,omitempty"`
	Packages    []Package   `json:"packages,omitempty"`
	Remotes     []Remote    `json:"remotes,omitempty"`

	Raw json.RawMessage `json:"-"` // the whole server.json, as it came
}

// Repository is where the source of a server is.
type Repository struct {
	URL       string `json:"url,omitempty"`
	Source    string `json:"source,omitempty"`
	ID        string `json:"id,omitempty"`
	Subfolder string `json:"subfolder,omitempty"`
}

// Package is one way to run a server on this machine.
type Package struct {
	RegistryType         string     `json:"registryType"` // such as npm
	RegistryBaseURL      string     `json:"registryBaseUrl,omitempty"`
	Identifier           string     `json:"identifier"` // name, image, or the URL of an mcpb file
	Version              string     `json:"version,omitempty"`
	FileSHA256           string     `json:"fileSha256,omitempty"` // hexadecimal; mcpb must have it
	RuntimeHint          string     `json:"runtimeHint,omitempty"`
	Transport            Remote     `json:"transport"` // stdio, or an address on this machine
	RuntimeArguments     []Argument `json:"runtimeArguments,omitempty"`
	PackageArguments     []Argument `json:"packageArguments,omitempty"`
	EnvironmentVariables []Variable `json:"environmentVariables,omitempty"`
}

// Remote is a server that runs elsewhere, or the transport of a package.
type Remote struct {
	Type      string           `json:"type"` // stdio, streamable-http or sse
	URL       string           `json:"url,omitempty"`
	Headers   []Variable       `json:"headers,omitempty"`
	Variables map[string]Input `json:"variables,omitempty"` // for {name} in URL
}

// Input is a value that the person may have to give.
type Input struct {
	Description string           `json:"description,omitempty"`
	IsRequired  bool             `json:"isRequired,omitempty"`
	IsSecret    bool             `json:"isSecret,omitempty"`
	Format      string           `json:"format,omitempty"` // string, number, boolean or filepath; none is string
	Default     string           `json:"default,omitempty"`
	Placeholder string           `json:"placeholder,omitempty"`
	Choices     []string         `json:"choices,omitempty"`
	Value       string           `json:"value,omitempty"` // set by the author: nobody is asked; {name} in it is filled from Variables
	Variables   map[string]Input `json:"variables,omitempty"`
}

// Variable is an environment variable, or a header of HTTP.
type Variable struct {
	Name string `json:"name"`
	Input
}

// Argument is an argument of a command line.
type Argument struct {
	Type       string `json:"type"`           // positional or named
	Name       string `json:"name,omitempty"` // of a named one, with its dashes
	ValueHint  string `json:"valueHint,omitempty"`
	IsRepeated bool   `json:"isRepeated,omitempty"`
	Input
	Blank bool `json:"-"` // of a positional one: its value is set, to the empty text
}

// plainArgument is an Argument as its members alone say it.
type plainArgument Argument

// UnmarshalJSON tells a value that is the empty text from none.
func (a *Argument) UnmarshalJSON(text []byte) error {
	if err := schema.DecodeLoose(text, (*plainArgument)(a)); err != nil {
		return err
	}
	a.Blank = a.Type != "named" && string(jsonrpc.Get(text, "value")) == `""`
	return nil
}

// MarshalJSON writes a value that is the empty text.
func (a Argument) MarshalJSON() ([]byte, error) {
	text, err := schema.Encode(nil, plainArgument(a))
	if err == nil && a.Blank {
		text = jsonrpc.With(text, "value", []byte(`""`))
	}
	return text, err
}

// ErrNotFound says that no source has a server of that name, or not that version of it.
var ErrNotFound = errors.New("is in no registry that was read")

// Status is what becomes of a version of a server.
type Status string

// The statuses that the registry API has.
const (
	Active     Status = "active"
	Deprecated Status = "deprecated"
	Deleted    Status = "deleted"
)

// An Entry is a version of a server, with what its registry says of it.
type Entry struct {
	Server        *Server
	Source        string // the name of the Source that it is of
	Status        Status
	StatusMessage string // why it is deprecated or deleted; somebody else's words
	IsLatest      bool
	Published     time.Time // zero where the registry does not say
	Updated       time.Time
	Meta          json.RawMessage // the registry's _meta as it came, with the keys of subregistries; nil if there is none

	// What follows is there of an Entry that [Mirror] returns.

	Versions []Version // of the same source, the newest first, deleted ones too
	Also     []string  // further sources that have a server of this name
}

// A Version is one of the versions of a server.
type Version struct {
	Version   string
	Status    Status
	IsLatest  bool
	Published time.Time
}
