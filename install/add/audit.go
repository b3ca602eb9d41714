package add

import (
	"context"
	"errors"

	"github.com/junction-mcp/junction/install"
	"github.com/junction-mcp/junction/internal/why"
	"github.com/junction-mcp/junction/launch"
)

// An Outdated holds the registry's current information about a locked server.
type Outdated struct {
	Server     string `json:"server"`
	Package    string `json:"package"`
	Locked     string `json:"locked"`
	Newest     string `json:"newest,omitempty"`
	Deprecated string `json:"deprecated,omitempty"`
	Pulled     bool   `json:"pulled,omitempty"`
	Error      string `json:"error,omitempty"`
}

// Compare compares a server's locked package with its registry's current information.
func Compare(ctx context.Context, packages launch.Packages, server string, p *install.Locked) (Outdated, error) {
	advice, err := packages.Advice(ctx, p)
	o := Outdated{Server: server, Package: p.Type + ":" + p.Name, Locked: p.Version, Newest: advice.Newest, Deprecated: advice.Deprecated, Pulled: advice.Pulled}
	if err != nil {
		o.Error = why.Once(why.Text(err))
	}
	return o, err
}

// IsCurrent reports whether there is no newer version, problem or error.
func (o Outdated) IsCurrent() bool {
	return o.Error == "" && !o.Pulled && o.Deprecated == "" && (o.Newest == "" || o.Newest == o.Locked)
}

// An Audited is a locked server with the known vulnerabilities of its packages.
type Audited struct {
	Server          string                  `json:"server"`
	Package         string                  `json:"package"`
	Version         string                  `json:"version"`
	Vulnerabilities []install.Vulnerability `json:"vulnerabilities"`
	Error           string                  `json:"error,omitempty"` // reason why the audit failed
}

// Audit finds known vulnerabilities of a server's locked package and its dependencies.
func Audit(ctx context.Context, packages launch.Packages, server string, p *install.Locked) (Audited, error) {
	known, err := packages.Audit(ctx, p)
	a := Audited{Server: server, Package: p.Type + ":" + p.Name, Version: p.Version, Vulnerabilities: known}
	if err != nil {
		a.Error = why.Once(why.Text(err))
		if !errors.Is(err, install.ErrNoAudit) {
			a.Error = "could not be audited: " + a.Error
		}
	}
	return a, err
}
