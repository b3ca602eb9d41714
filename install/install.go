package install

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrNotInstalled says that a locked package is not in the store yet.
var ErrNotInstalled = errors.New("is not installed")

// ErrIntegrity says that bytes are not those that the lock, or the registry, names.
var ErrIntegrity = errors.New("has other contents than were locked")

// Package names a package as a person or a server.json does.
type Package struct {
	Type     string `json:"type"` // npm, pypi, cargo, nuget, oci, mcpb or folder
	Name     string `json:"name"` // the name in its registry; of mcpb the URL or file, of oci the image without tag, of folder the path
	Version  string `json:"version,omitempty"`
	Registry string `json:"registry,omitempty"` // base URL; none is what the package manager is set up for
	SHA256   string `json:"sha256,omitempty"`   // of mcpb, hexadecimal, where it is known beforehand
}

// Locked is a package of which every byte is known: enough to install the same again, on another machine too.
type Locked struct {
	Package                      // with the exact version
	Integrity    string          `json:"integrity,omitempty"`    // sha512-BASE64 of npm, sha256:HEX of the others; of oci the digest
	Program      []string        `json:"program"`                // what is started, relative to the folder of the package where it lies there
	Dependencies json.RawMessage `json:"dependencies,omitempty"` // what its package manager needs to install the same dependencies
}

// Program is an installed package, ready to be started.
type Program struct {
	Dir  string            // the folder that it was installed into; only this is read
	Argv []string          // absolute; the entry's own arguments follow
	Env  map[string]string // what it needs beside the environment of the entry
}

// Advice is what a registry says of a locked package today.
type Advice struct {
	Newest     string // the newest version that is no preview
	Deprecated string // the author's words
	Pulled     bool   // yanked or unpublished
}

// Vulnerability is a known one in a package or in one of its dependencies.
type Vulnerability struct {
	Package, Version, ID, Severity, Title, FixedIn string
}

// Manager installs packages of one type. Store picks the one of a package.
type Manager interface {
	// Resolve finds the exact version and its integrity, and the dependencies. It downloads, and runs no code of the package.
	Resolve(ctx context.Context, p Package) (*Locked, error)
	// Install puts the locked package into dir, which is empty, and checks all bytes. It runs no code of the package.
	Install(ctx context.Context, l *Locked, dir string) error
	// Program says how to start what Install put into dir.
	Program(l *Locked, dir string) (*Program, error)
	// Advice asks the registry.
	Advice(ctx context.Context, l *Locked) (Advice, error)
	// Audit asks for known vulnerabilities, by the package manager's own command.
	Audit(ctx context.Context, l *Locked) ([]Vulnerability, error)
}
