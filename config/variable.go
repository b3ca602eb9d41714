package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxExpanded bounds one value after its variables were replaced, in bytes.
	maxExpanded = 1 << 20
	// maxExpandedAll bounds all values of a server likewise.
	maxExpandedAll = 4 << 20
	// maxVariableName bounds the name of a variable, in bytes; what is longer is plain text.
	maxVariableName = 256
)

// reference is a variable in a value: what stands between ${ and }.
type reference struct {
	source   referenceSource
	name     string
	fallback *string // what follows :-
}

type referenceSource int

const (
	fromEnv     referenceSource = iota
	fromInput                   // ${input:id}
	fromSecret                  // ${secret:NAME}
	fromFile                    // ${file:PATH}
	fromFolder                  // ${workspaceFolder} and its like
	fromTheHost                 // what only the host itself can tell, such as ${command:x}
)

// variable reads a body between ${ and } as a variable of the format; false for
// what is plain text there.
func (f Format) variable(body string) (ref reference, ok bool) {
	rules := f.rules()
	if rules.folders {
		switch body {
		case "workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/":
			return reference{source: fromFolder, name: body}, true
		}
	}
	if id, found := strings.CutPrefix(body, "input:"); found && rules.inputs {
		return reference{source: fromInput, name: id}, id != "" && len(id) <= maxVariableName
	}
	if name, found := strings.CutPrefix(body, "secret:"); found && rules.secrets {
		return reference{source: fromSecret, name: name}, name != "" && len(name) <= maxVariableName
	}
	if path, found := strings.CutPrefix(body, "file:"); found && rules.files {
		return reference{source: fromFile, name: path}, path != "" && len(path) <= maxSecretPath
	}
	for _, prefix := range rules.host {
		if strings.HasPrefix(body, prefix) {
			return reference{source: fromTheHost, name: body}, true
		}
	}
	if rules.defaults {
		name, _, found := strings.Cut(body[:min(len(body), len("env:")+maxVariableName+len(":-"))], ":-")
		if found {
			ref.fallback = new(body[len(name)+len(":-"):])
		}
		body = name
	}
	ref.name = body
	if name, found := strings.CutPrefix(body, "env:"); found && rules.env {
		ref.name, ok = name, name != ""
	} else {
		ok = rules.bare && isIdentifier(body) // ${var%suffix} is for a shell to read
	}
	return ref, ok && len(ref.name) <= maxVariableName
}

func isIdentifier(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// replaceVariables calls value for each body that is a variable, and keeps all else.
func replaceVariables(raw string, variable func(body string) (reference, bool), value func(reference) (string, error)) (string, error) {
	var b strings.Builder
	done, end := 0, -1 // what is in b, and the closing brace found last: both only grow
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

// Variables lists what Resolve will look up, in order and each once: "TOKEN" for a
// variable of the environment, "input:key" for an input, "secret:name" for a secret that the user keeps, and
// "file:path" for a file. It is what a person should see
// before consenting to a project's server, which may send it anywhere.
func (d *Definition) Variables() []string {
	var list []string
	seen := map[string]bool{}
	note := func(ref reference) (string, error) {
		name := ref.name
		switch ref.source {
		case fromInput:
			name = "input:" + name
		case fromSecret:
			name = "secret:" + name
		case fromFile:
			name = "file:" + name
		}
		if ref.source != fromFolder && !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
		return "", nil
	}
	written := append([]string{d.command, d.cwd, d.envFile, d.url}, d.args...)
	for _, p := range slices.Concat(d.env, d.headers) {
		written = append(written, p.value)
	}
	if o := d.oauth; o != nil {
		written = append(written, o.ClientID, o.ClientSecret, o.KeyFile, o.AssertionFile, o.IdentityProvider, o.IdentityClientID, o.IdentityClientSecret, o.Issuer, o.Audience)
	}
	if t := d.tls; t != nil {
		written = append(written, t.CertFile, t.KeyFile, t.CAFile)
	}
	for _, raw := range written {
		_, _ = replaceVariables(raw, d.Format.variable, note) // note never fails
	}
	return list
}

// expansion replaces the variables of one definition.
type expansion struct {
	ctx  context.Context
	def  *Definition
	size int // of all values so far, in bytes
	// unasked: of inputs only what was answered before is known, and no secret is
	unasked bool
}

func (x *expansion) expand(raw string) (string, error) {
	value, err := replaceVariables(raw, x.def.Format.variable, x.value)
	if x.size += len(value); x.size > maxExpandedAll {
		return "", caused(ErrLimit, "the values of the server are longer than %d MiB with their variables replaced", maxExpandedAll>>20)
	}
	return value, err
}

// expandLine is expand for what is handed to the operating system, where a zero byte ends a string.
func (x *expansion) expandLine(raw string) (string, error) {
	value, err := x.expand(raw)
	if err == nil && strings.ContainsRune(value, 0) {
		err = errors.New("holds a zero byte")
	}
	return value, err
}

func (x *expansion) value(ref reference) (string, error) {
	switch ref.source {
	case fromInput:
		if x.unasked {
			return x.def.file.answered(ref.name)
		}
		return x.def.file.answer(x.ctx, ref.name, x.def.Name)
	case fromSecret:
		return x.secret(ref.name)
	case fromFile:
		return x.secretFile(ref.name)
	case fromFolder:
		return x.folder(ref.name)
	case fromTheHost:
		return "", fmt.Errorf("${%s} is known only to %s; replace it by a value", plainBody(ref.name), x.def.Format)
	}
	if value, ok := x.def.file.options.Getenv(ref.name); ok {
		return value, nil
	}
	if ref.fallback != nil {
		return *ref.fallback, nil
	}
	name := plain(ref.name)
	if x.def.Format.rules().defaults {
		return "", caused(ErrNotSet, "variable %s is not set; export it or give a default with ${%s:-…}", name, name)
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

// plainBody keeps the kind of a variable such as command:x, and bounds what follows.
func plainBody(body string) string {
	kind, name, _ := strings.Cut(body, ":")
	return kind + ":" + plain(name)
}

// warnForeignVariables tells of text that another format would replace.
func (e *entryReader) warnForeignVariables(at int) {
	d := e.def
	e.warnForeign("command", d.command, at)
	for i, arg := range d.args {
		e.warnForeign(d.argField(i), arg, at)
	}
	for _, p := range d.env {
		e.warnForeign(cmp.Or(p.field, "env."+plain(p.name)), p.value, at)
	}
	for _, p := range d.headers {
		e.warnForeign("headers."+plain(p.name), p.value, at)
	}
	e.warnForeign("cwd", d.cwd, at)
	e.warnForeign("url", d.url, at)
}

func (e *entryReader) warnForeign(field, raw string, at int) {
	_, _ = replaceVariables(raw, func(body string) (reference, bool) {
		ref, ok := Junction.variable(body) // it has those of all formats
		_, mine := e.def.Format.variable(body)
		return ref, ok && !mine
	}, func(ref reference) (string, error) {
		e.warn(e.def.Name, field, at, fmt.Errorf("the variable %s stays as it is written: %s", plain(ref.name), e.def.Format.rules().hint))
		return "", errOnce // one warning for a value is enough
	})
}

var errOnce = errors.New("reported already")
