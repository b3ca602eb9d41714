package config

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/hostconfig"
)

const (
	// maxExpanded is the largest size in bytes of one value after its variables are replaced.
	maxExpanded = 1 << 20
	// maxExpandedAll is the largest size in bytes of all values of a server together.
	maxExpandedAll = 4 << 20
)

// replaceVariables returns raw with its variables replaced. variable parses the text between "${"
// and "}" and returns false for text that is not a variable, which stays unchanged. value returns
// the value of a reference.
func replaceVariables(raw string, variable func(body string) (hostconfig.Reference, bool), value func(hostconfig.Reference) (string, error)) (string, error) {
	var b strings.Builder
	done, end := 0, -1 // done is the number of bytes of raw in b; end is the last closing brace found; both only grow
	for at := 0; ; {
		found := strings.Index(raw[at:], "${")
		if found < 0 {
			break
		}
		start := at + found
		if end < start {
			found = strings.IndexByte(raw[start:], '}')
			if found < 0 {
				break
			}
			end = start + found
		}
		at = start + len("${")
		ref, ok := variable(raw[at:end])
		if !ok {
			continue
		}
		replacement, err := value(ref)
		if err != nil {
			return "", err
		}
		b.WriteString(raw[done:start])
		b.WriteString(replacement)
		if b.Len() > maxExpanded {
			return "", caused(ErrLimit, "is longer than %d MiB with its variables replaced", maxExpanded>>20)
		}
		at, done = end+1, end+1
	}
	b.WriteString(raw[done:])
	return b.String(), nil
}

// Variables returns the references that Resolve will look up, each once, in order. "TOKEN" is an
// environment variable, "input:key" an input, "secret:name" a stored secret, and "file:path" a
// file. Users should see the list before they consent to a project's server, because the server can
// send the values anywhere.
func (d *Definition) Variables() []string {
	var list []string
	seen := map[string]bool{}
	note := func(ref hostconfig.Reference) (string, error) {
		name := map[hostconfig.Source]string{hostconfig.FromInput: "input:", hostconfig.FromSecret: "secret:", hostconfig.FromFile: "file:"}[ref.Source] + ref.Name
		if ref.Source != hostconfig.FromFolder && !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
		return "", nil
	}
	d.texts(func(_, text string) {
		_, _ = replaceVariables(text, d.variables.Find, note) // note never fails
	})
	return list
}

// expansion replaces the variables of one definition.
type expansion struct {
	ctx  context.Context
	def  *Definition
	size int // bytes of all values so far
	// unasked makes the computation of a hash ask no user and look up no secrets.
	unasked bool
}

func (x *expansion) expand(raw string) (string, error) {
	value, err := replaceVariables(raw, x.def.variables.Find, x.value)
	if x.size += len(value); x.size > maxExpandedAll {
		return "", caused(ErrLimit, "the values of the server are longer than %d MiB with their variables replaced", maxExpandedAll>>20)
	}
	return value, err
}

// expandLine is like expand, but returns an error if the value has a zero byte, which would end a
// string for the operating system.
func (x *expansion) expandLine(raw string) (string, error) {
	value, err := x.expand(raw)
	if err == nil && strings.ContainsRune(value, 0) {
		err = errors.New("holds a zero byte")
	}
	return value, err
}

func (x *expansion) value(ref hostconfig.Reference) (string, error) {
	switch ref.Source {
	case hostconfig.FromInput:
		if x.unasked {
			return x.def.file.answered(ref.Name)
		}
		return x.def.file.answer(x.ctx, ref.Name, x.def.Name)
	case hostconfig.FromSecret:
		return x.secret(ref.Name)
	case hostconfig.FromFile:
		return x.secretFile(ref.Name)
	case hostconfig.FromFolder:
		return x.folder(ref.Name)
	case hostconfig.FromHost:
		kind, name, _ := strings.Cut(ref.Name, ":") // ref.Name is, for example, command:x
		return "", fmt.Errorf("${%s:%s} is known only to %s; replace it by a value", kind, plain(name), x.def.Format)
	}
	if value, ok := x.def.file.options.Getenv(ref.Name); ok {
		return value, nil
	}
	if ref.Default != nil {
		return *ref.Default, nil
	}
	name := plain(ref.Name)
	if x.def.variables.Defaults() {
		return "", caused(ErrNotSet, "variable %s is not set; export it, or give a default with ${%s:-…}", name, name)
	}
	return "", caused(ErrNotSet, "variable %s is not set; export it", name)
}

func (x *expansion) folder(name string) (string, error) {
	options := x.def.file.options
	workspace := x.def.workspace
	if workspace == "" {
		workspace = options.WorkDir
	}
	value := workspace
	switch name {
	case "/", "pathSeparator":
		return string(filepath.Separator), nil
	case "userHome":
		value = options.HomeDir
	case "workspaceFolderBasename":
		value = filepath.Base(workspace)
	}
	if value == "" {
		return "", caused(ErrNotSet, "${%s} is not known here; replace it by a path", name)
	}
	return value, nil
}

// warnForeign warns of variables in raw that another format would replace.
func (e *entryReader) warnForeign(field, raw string, at int) {
	all := hostconfig.Junction().Variables()
	_, _ = replaceVariables(raw, func(body string) (hostconfig.Reference, bool) {
		ref, ok := all.Find(body)
		_, mine := e.def.variables.Find(body)
		return ref, ok && !mine
	}, func(ref hostconfig.Reference) (string, error) {
		e.warn(e.def.Name, field, at, fmt.Errorf("the variable %s is not replaced: a %s file %s", plain(ref.Name), e.def.Format, e.def.variables))
		return "", errors.New("reported already") // ends the search, so that a text gets one warning
	})
}

// SecretFiles returns the paths of the files that the variables of the server name.
func (d *Definition) SecretFiles() (paths []string) {
	x := &expansion{def: d}
	for _, variable := range d.Variables() {
		if written, is := strings.CutPrefix(variable, "file:"); is {
			paths = append(paths, x.pathOf(written))
		}
	}
	return paths
}

// HasSecrets reports whether variables of the server are stored secrets or files with secrets.
func (d *Definition) HasSecrets() bool {
	return slices.ContainsFunc(d.Variables(), func(variable string) bool {
		return strings.HasPrefix(variable, "file:") || strings.HasPrefix(variable, "secret:")
	})
}

// pathOf returns the path of a file that a variable names.
func (x *expansion) pathOf(written string) string {
	path := written
	if rest, found := strings.CutPrefix(path, "~/"); found && x.def.file.options.HomeDir != "" {
		path = filepath.Join(x.def.file.options.HomeDir, rest)
	}
	return absolute(path, x.def.folder)
}

// maxSecretFile is the largest size of a file with a secret, in bytes.
const maxSecretFile = 64 << 10

// secret returns a stored secret.
func (x *expansion) secret(name string) (string, error) {
	look := x.def.file.options.Secret
	if look == nil || x.unasked {
		return "", caused(ErrSecret, "secret %s cannot be looked up here; replace ${secret:%s} by a variable", quote(name), plain(name))
	}
	value, err := look(x.ctx, name)
	if err != nil {
		return "", caused(ErrSecret, "secret %s: %w", quote(name), err)
	}
	return value, nil
}

// secretFile returns the text of a file without the line break at its end. A file that a project's
// configuration names must be in the project's folder. Otherwise the authors of the project could
// get any file of the user.
func (x *expansion) secretFile(written string) (string, error) {
	folder, inside, allowed := fileNamed(x.def.workspace, x.pathOf(written))
	if !allowed {
		return "", caused(ErrSecret, "file %s is outside of the project's folder; name it in a configuration of your own, or keep it as ${secret:NAME}", quote(written))
	}
	data, err := readInside(folder, inside, maxSecretFile)
	if err != nil {
		return "", caused(ErrSecret, "file %s %w; put the secret there, or change the path", quote(written), err)
	}
	value := string(data)
	for _, end := range []string{"\n", "\r"} {
		value = strings.TrimSuffix(value, end)
	}
	if value == "" {
		return "", caused(ErrSecret, "file %s is empty; put the secret there", quote(written))
	}
	return value, nil
}
