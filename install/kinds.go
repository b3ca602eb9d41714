package install

import (
	"context"
	"os"
)

// Types of packages.
const (
	NPM    = "npm"
	PyPI   = "pypi"
	Cargo  = "cargo"
	NuGet  = "nuget"
	OCI    = "oci"
	MCPB   = "mcpb"
	Folder = "folder"
)

// A row holds the functions for a type of package. The table in internal/runner holds the other
// properties.
type row struct {
	installer func(s *Store) kind
	about     func(l *Locked, root *os.Root) About // describes the package in a folder; nil if that is not supported
}

// rows maps each type to its row.
var rows = map[string]row{
	NPM:    {func(s *Store) kind { return npm{neutral: s.neutral()} }, func(l *Locked, root *os.Root) About { return aboutNode(root, "node_modules/"+l.Name) }},
	PyPI:   {func(s *Store) kind { return pypi{web: s.web, neutral: s.neutral()} }, aboutPyPI},
	Cargo:  {func(s *Store) kind { return cargo{neutral: s.neutral()} }, nil},
	NuGet:  {func(s *Store) kind { return nuget{web: s.web, blobs: s.blobs(), neutral: s.neutral()} }, nil},
	OCI:    {func(s *Store) kind { return oci{web: s.web} }, nil},
	MCPB:   {func(s *Store) kind { return mcpb{web: s.web, blobs: s.blobs()} }, nil},
	Folder: {func(*Store) kind { return folder{} }, func(_ *Locked, root *os.Root) About { return aboutNode(root, ".") }},
}

// A kind installs packages of one type.
type kind interface {
	// resolve finds the exact version, its integrity and its dependencies. It downloads into dir,
	// which is empty and is removed afterwards. It does not run code of the package.
	resolve(ctx context.Context, p Package, dir string) (*Locked, error)
	// install installs the locked package into dir, which is empty and is renamed afterwards. It
	// checks all bytes.
	install(ctx context.Context, l *Locked, dir string) error
	// program returns the program of the package in dir. It does not use the network. Its error is
	// ErrNotInstalled or ErrRuntime.
	program(l *Locked, dir string) (*Program, error)
	// advice asks the registry for advice. dir is empty and is removed afterwards.
	advice(ctx context.Context, l *Locked, dir string) (Advice, error)
	// audit finds known vulnerabilities with the package manager's own command. dir is empty and is
	// removed afterwards.
	audit(ctx context.Context, l *Locked, dir string) ([]Vulnerability, error)
}
