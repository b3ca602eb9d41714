// Package runner contains the table of the kinds of packages. It supports the programs that start
// packages directly: npx, uvx, dnx, docker and podman. It builds and parses the command lines that
// Junction displays, writes and locks, and parses the options before a package.
package runner

import (
	"slices"
	"strings"
)

// Package is a package with an exact version, or with as much of its version as the author
// specified.
type Package struct {
	Kind    string // type of its kind; not all kinds have a runner
	Name    string
	Version string   // tag or digest in case of an image; may be empty
	Program string   // one of the package's programs; empty if the runner chooses it
	With    string   // one additional requirement, for Python packages
	Options []string // other words for the runner that precede the package
}

// Words returns the command line that starts the package, without the arguments of its server. It
// returns nil if the kind has no runner.
func (p Package) Words() []string {
	k := Of(p.Kind)
	if k.words == nil {
		return nil
	}
	spec := p.Name
	if k.Sign != "" && p.Version != "" {
		spec += k.Sign + p.Version
	}
	return k.words(slices.Clone(k.Start), p, spec)
}

// PackageOf returns the package that a command line starts, and the number of words that belong to
// the runner and the package. n is 0 if the package or its version cannot be determined.
func PackageOf(words []string) (p Package, n int) {
	if len(words) < 2 {
		return p, 0
	}
	k := Fetching(words[0])
	if k.Type == "" {
		return p, 0
	}
	p.Kind = k.Type
	spec, i := "", 1
	for ; i < len(words) && strings.HasPrefix(words[i], "-"); i++ {
		name, value, inline := strings.Cut(words[i], "=")
		switch {
		case slices.Contains([]string{"-y", "--yes", "--quiet", "-q"}, name):
		case len(k.flags.with) > 0 && name == k.flags.with[0] && !inline && p.With == "" && i+1 < len(words):
			i++
			p.With = words[i]
		case slices.Contains(k.flags.package_, name) && spec == "":
			if !inline {
				if i++; i == len(words) {
					return p, 0
				}
				value = words[i]
			}
			spec = value
		default:
			return p, 0
		}
	}
	if i == len(words) {
		return p, 0
	}
	if spec == "" {
		spec = words[i]
	} else {
		p.Program = words[i]
	}
	n = i + 1
	if k.flags.behind != "" && n < len(words) && words[n] == k.flags.behind {
		n++
	}
	if strings.ContainsAny(spec, "${:") { // a variable, an address or a tag
		return p, 0
	}
	if p.Name, p.Version = k.Split(spec); p.Version == "latest" {
		p.Version = ""
	}
	if strings.ContainsAny(p.Version, "^~<>*=| ") || strings.ContainsAny(p.Name, "[]<>= ") {
		return p, 0
	}
	return p, n
}
