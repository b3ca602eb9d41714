// Package runner has the table of the kinds of packages, and knows the programs that start a package at once: npx, uvx, dnx, and docker or podman. The
// command lines that Junction shows, writes and locks are made here and read here, and options that stand in front of a package are taken apart here.
package runner

import (
	"slices"
	"strings"
)

// Package is a package of which the exact version is known, or as much of it as its author says.
type Package struct {
	Kind    string // the type; not all have a runner
	Name    string
	Version string   // of an image its tag or digest; may be empty
	Program string   // which of its programs; empty is the one that the runner chooses
	With    string   // of Python, one more requirement
	Options []string // what else the runner gets before the package
}

// Words is the command line that starts the package, without the arguments of its server; nil where no runner does.
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

// PackageOf returns the package that a command line starts, and how many words say so; 0 where it is not known which package or version that is.
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
	if strings.ContainsAny(spec, "${:") { // a variable, an address, a tag
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
