package registry

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// CommandLine is what starts a package without Junction, as other hosts write it: the runner of its kind, never one that
// the author names. What the person has to give stands there as <name>. It is nil where nothing starts such a package at once.
func (p *Package) CommandLine() []string {
	runtime, own := words(p.RuntimeArguments), words(p.PackageArguments)
	switch p.RegistryType {
	case "npm":
		return slices.Concat([]string{"npx", "-y"}, runtime, []string{pinned(p.Identifier, "@", p.Version)}, own)
	case "pypi":
		return slices.Concat([]string{"uvx"}, runtime, []string{pinned(p.Identifier, "==", p.Version)}, own)
	case "nuget":
		line := slices.Concat([]string{"dnx", pinned(p.Identifier, "@", p.Version), "--yes"}, runtime)
		if len(own) > 0 {
			line = append(append(line, "--"), own...)
		}
		return line
	case "oci":
		line := []string{"docker", "run", "-i", "--rm"}
		for _, v := range p.EnvironmentVariables {
			line = append(line, "-e", v.Name)
		}
		return slices.Concat(line, runtime, []string{p.Image()}, own)
	}
	return nil
}

// Image is the reference of an image, with the tag that the version names where it has neither tag nor digest.
func (p *Package) Image() string {
	name := p.Identifier[strings.LastIndexByte(p.Identifier, '/')+1:]
	if strings.ContainsAny(name, ":@") || p.Version == "" {
		return p.Identifier
	}
	return p.Identifier + ":" + p.Version
}

func pinned(name, sign, version string) string {
	if version == "" {
		return name
	}
	return name + sign + version
}

// words are those of arguments.
func words(arguments []Argument) []string {
	var words []string
	for _, a := range arguments {
		value := a.text(strings.TrimLeft(a.Name, "-"), a.ValueHint)
		switch {
		case value == "":
		case a.Type == "named":
			words = append(words, a.Name, value)
		default:
			words = append(words, value)
		}
	}
	return words
}

// text is the value of an input as far as it is known, with <name> for what the person has to give; "" for what may be left out.
func (in *Input) text(names ...string) string {
	switch {
	case in.Value != "":
		return fill(in.Value, in.Variables)
	case in.Default != "":
		return in.Default
	case !in.IsRequired:
		return ""
	}
	for _, name := range names {
		if name != "" {
			return "<" + name + ">"
		}
	}
	return "<value>"
}

var braces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[^{}]{1,100}\}`) })

// fill replaces {name} by the value of a variable; all other text stays.
func fill(text string, variables map[string]Input) string {
	return braces().ReplaceAllStringFunc(text, func(found string) string {
		name := found[1 : len(found)-1]
		v, ok := variables[name]
		if !ok {
			return found
		}
		if value := cmp.Or(v.Value, v.Default); value != "" {
			return value
		}
		return "<" + name + ">"
	})
}
