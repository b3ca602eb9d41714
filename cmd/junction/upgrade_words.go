package main

import (
	"strings"

	"github.com/junction-mcp/junction/install"
)

// runnerKinds are the programs that fetch a package and start it, with the kind of each.
func runnerKinds() map[string]string {
	return map[string]string{"npx": install.NPM, "uvx": install.PyPI, "dnx": install.NuGet}
}

// isRun reports whether a command line is one of a runner.
func isRun(words []string) bool { return len(words) > 0 && runnerKinds()[words[0]] != "" }

// packageOfWords is the package that a command line starts, and how many words say so; 0 if it starts none.
func packageOfWords(words []string) (p install.Package, n int) {
	if len(words) < 2 {
		return p, 0
	}
	if p.Type = runnerKinds()[words[0]]; p.Type == "" {
		return p, 0
	}
	spec, i := "", 1
	for ; i < len(words) && strings.HasPrefix(words[i], "-"); i++ {
		name, value, inline := strings.Cut(words[i], "=")
		switch {
		case name == "-y" || name == "--yes" || name == "--quiet" || name == "-q":
			continue
		case p.Type == install.PyPI && name == "--with" && !inline && p.With == "" && i+1 < len(words):
			i++
			p.With = words[i]
		case (p.Type == install.NPM && (name == "-p" || name == "--package") || p.Type == install.PyPI && name == "--from") && spec == "":
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
		p.Bin = words[i]
	}
	n = i + 1
	if p.Type == install.NuGet && n < len(words) && words[n] == "--yes" {
		n++
	}
	if strings.ContainsAny(spec, "${:") { // a variable, an address, a tag
		return p, 0
	}
	if p.Name, p.Version = nameAndVersion(spec); p.Version == "latest" {
		p.Version = ""
	}
	if strings.ContainsAny(p.Version, "^~<>*=| ") || strings.ContainsAny(p.Name, "[]<>= ") {
		return p, 0
	}
	return p, n
}

// nameAndVersion are the parts of NAME==VERSION, or of NAME@VERSION.
func nameAndVersion(spec string) (name, version string) {
	if name, version, found := strings.Cut(spec, "=="); found {
		return name, version
	}
	if at := strings.LastIndexByte(spec, '@'); at > 0 {
		return spec[:at], spec[at+1:]
	}
	return spec, ""
}
