package hostconfig

import (
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// maxSecretName is the largest length in bytes of the name of a secret that comes from a host's
// file.
const maxSecretName = 80

// maxVariableName is the largest length of a variable's name in bytes. A longer one is plain text.
const maxVariableName = 256

// maxSecretPath is the largest length in bytes of the path of a file with a secret. A longer one is
// plain text.
const maxSecretPath = 4 << 10

// Variables lists the forms of variables in files, without ${ and }, such as NAME or env:NAME. Any
// other text is plain. "folders" stands for workspaceFolder and similar names. A form that ends
// with a colon is known only to the host.
type Variables []string

// A Source is the origin of a variable's value.
type Source int

// The sources.
const (
	FromEnv    Source = iota
	FromInput         // ${input:id}
	FromSecret        // ${secret:NAME}
	FromFile          // ${file:PATH}
	FromFolder        // ${workspaceFolder} and similar names
	FromHost          // known to the host only, such as ${command:x}
)

// A Reference is a variable in a text.
type Reference struct {
	Source  Source
	Name    string
	Default *string // nil without a default
}

// has reports whether the list contains a form.
func (v Variables) has(form string) bool { return slices.Contains(v, form) }

// Find parses the text between ${ and } as a variable. ok is false for plain text.
func (v Variables) Find(body string) (ref Reference, ok bool) {
	if v.has("folders") && slices.Contains([]string{"workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/"}, body) {
		return Reference{Source: FromFolder, Name: body}, true
	}
	prefix, name := body, ""
	if colon := strings.IndexByte(body[:min(len(body), len("workspaceFolder:"))], ':'); colon >= 0 { // the length limit avoids a search of many long texts
		prefix, name = body[:colon], body[colon+1:]
	}
	switch {
	case prefix == "input" && v.has("input:id"):
		return Reference{Source: FromInput, Name: name}, name != "" && len(name) <= maxVariableName
	case prefix == "secret" && v.has("secret:NAME"):
		return Reference{Source: FromSecret, Name: name}, name != "" && len(name) <= maxVariableName
	case prefix == "file" && v.has("file:PATH"):
		return Reference{Source: FromFile, Name: name}, name != "" && len(name) <= maxSecretPath
	case len(prefix) < len(body) && v.has(body[:len(prefix)+1]):
		return Reference{Source: FromHost, Name: body}, true
	}
	if v.Defaults() {
		name, _, found := strings.Cut(body[:min(len(body), len("env:")+maxVariableName+len(":-"))], ":-")
		if found {
			ref.Default = new(body[len(name)+len(":-"):])
		}
		body = name
	}
	ref.Name = body
	if name, found := strings.CutPrefix(body, "env:"); found && v.has("env:NAME") {
		ref.Name, ok = name, name != ""
	} else {
		ok = v.has("NAME") && isIdentifier(body) // shell forms such as ${var%suffix} are plain text
	}
	return ref, ok && len(ref.Name) <= maxVariableName
}

// Defaults reports whether variables can have a default.
func (v Variables) Defaults() bool { return v.has("NAME:-default") }

// String describes the forms of variables, such as "writes ${env:NAME} or ${input:id}".
func (v Variables) String() string {
	forms := slices.DeleteFunc(slices.Clone(v), func(form string) bool { return form == "folders" || strings.HasSuffix(form, ":") })
	if len(forms) == 0 {
		return "has no variables"
	}
	return "writes ${" + strings.Join(forms, "} or ${") + "}"
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

// A dialect is the set of variables that a host replaces in an entry. Forms of other hosts are
// plain text for it.
type dialect struct {
	pass      string // format of a variable of the host's environment; empty if the host has no such variables
	variables Variables
}

var (
	junctions   = &dialect{"", Variables{"NAME", "NAME:-default", "env:NAME", "input:id", "secret:NAME", "file:PATH", "folders"}}
	plainText   = &dialect{}
	bareBraces  = &dialect{"${%s}", Variables{"NAME", "NAME:-default"}}
	cursors     = &dialect{"${env:%s}", Variables{"env:NAME", "folders"}}
	windsurfs   = &dialect{"${env:%s}", Variables{"env:NAME", "file:PATH"}}
	envBraces   = &dialect{"${env:%s}", Variables{"env:NAME", "file:PATH", "folders", "command:", "config:", "workspaceFolder:"}}
	inputBraces = &dialect{"${env:%s}", Variables{"env:NAME", "input:id", "folders", "command:", "config:", "workspaceFolder:"}}
	dollars     = &dialect{"$%s", nil}      // $NAME, ${NAME}, %NAME% on Windows
	templates   = &dialect{}                // ${{ secrets.NAME }}
	keyring     = &dialect{}                // ${NAME} for values that the host stores itself
	braces      = &dialect{"{env:%s}", nil} // {env:NAME}, {file:PATH}
	shells      = &dialect{"$%s", nil}      // $NAME, ${NAME}, $(command)
)

func (h Host) dialect() *dialect {
	if h.variables == nil {
		return junctions
	}
	return h.variables
}

// Variables returns the forms of variables in the host's files.
func (h Host) Variables() Variables { return h.dialect().variables }

// words holds regular expressions that find variables.
type words struct{ variable, secret, env, dollar, percent, template, brace, command *regexp.Regexp }

var expressions = sync.OnceValue(func() words {
	return words{
		variable: regexp.MustCompile(`\$\{[^{}]*\}`),
		secret:   regexp.MustCompile(`\$\{secret:[^{}]*\}`),
		env:      regexp.MustCompile(`\$\{(?:env:)?([a-zA-Z_]\w*)\}`),
		dollar:   regexp.MustCompile(`\$(\w+|\{[^{}]*\})`),
		percent:  regexp.MustCompile(`\$(\w+|\{[^{}]*\})|%\w+%`),
		template: regexp.MustCompile(`\$\{\{[^{}]*\}\}|\$\{[^{}]*\}`),
		brace:    regexp.MustCompile(`\{(?:env|file):[^{}]*\}`),
		command:  regexp.MustCompile(`\$(\w+|\{[^{}]*\}|\([^)]*\)?)`),
	}
})

// A translation converts values with a host's variables to values with Junction's variables.
type translation struct {
	from    *dialect
	project string     // folder of the project; empty for a user's file
	given   []Variable // values of the host's variables, for a dialect that stores them in the entry
	needs   []string
	notes   []string
}

// value converts a value of a host's file to a value for Junction's file.
func (t *translation) value(field, raw string) (string, error) {
	x := expressions()
	tokens := map[*dialect]*regexp.Regexp{dollars: x.dollar, templates: x.template, braces: x.brace, shells: x.command}[t.from]
	switch {
	case t.from == junctions:
		return raw, nil
	case t.from == dollars && runtime.GOOS == "windows":
		tokens = x.percent
	case tokens == nil:
		tokens = x.variable
	}
	var fault error
	value := tokens.ReplaceAllStringFunc(raw, func(token string) string {
		now, err := t.token(field, token)
		if err != nil {
			fault = err
		}
		return now
	})
	return value, fault
}

func (t *translation) token(field, token string) (string, error) {
	refused := fmt.Errorf("%s: only the host itself can replace %s", field, token)
	body := strings.TrimSuffix(strings.TrimPrefix(token, "${"), "}")
	switch t.from {
	case braces:
		switch kind, name, _ := strings.Cut(strings.Trim(token, "{}"), ":"); {
		case kind == "file" && !filepath.IsAbs(name) && !strings.HasPrefix(name, "~"):
			return "", fmt.Errorf("%w, which is relative to its file", refused)
		case kind == "file":
			return "${file:" + name + "}", nil
		case isIdentifier(name):
			return "${env:" + name + "}", nil
		}
		return token, nil
	case dollars, shells:
		if strings.HasPrefix(token, "$(") {
			return "", refused
		}
		body = strings.Trim(body, "$%")
		if _, is := bareBraces.variables.Find(body); is {
			return "${" + body + "}", nil
		}
	case templates:
		if strings.HasPrefix(token, "${{") {
			if kind, name, _ := strings.Cut(strings.Trim(body, "{ }"), "."); kind == "secrets" || kind == "inputs" {
				return t.secret(name), nil
			}
			return "", refused
		}
	case keyring:
		if isIdentifier(body) {
			if i := slices.IndexFunc(t.given, func(v Variable) bool { return v.Name == body }); i >= 0 {
				return t.given[i].Value, nil
			}
			return t.secret(body), nil
		}
	default:
		ref, is := t.from.variables.Find(body)
		switch {
		case is && ref.Source == FromFolder:
			return t.folder(field, token, body), nil
		case is && ref.Source == FromInput:
			return t.secret(ref.Name), nil
		case is && ref.Source == FromHost:
			return "", refused
		case is:
			return token, nil
		}
	}
	if _, is := junctions.variables.Find(body); is {
		name, _, _ := strings.Cut(body, ":-") // the default may be a secret
		t.notes = append(t.notes, fmt.Sprintf("%s: ${%s} is plain text for the host, but a variable for junction", field, name))
	}
	return token, nil
}

// folder returns the path for a variable that refers to a project's folder. The path must be
// absolute, because the new entry applies to all projects.
func (t *translation) folder(field, token, body string) string {
	switch {
	case t.project != "" && body == "workspaceFolder":
		return t.project
	case t.project == "" && strings.HasPrefix(body, "workspaceFolder"):
		t.notes = append(t.notes, fmt.Sprintf("%s: %s is the folder in which junction runs", field, token))
	}
	return token
}

// secret returns a variable for a secret that the user must enter.
func (t *translation) secret(name string) string {
	name = SecretName(name)
	t.needs = append(t.needs, name)
	return "${secret:" + name + "}"
}

// SecretName returns a valid name for a secret of Junction's, made from words.
func SecretName(words ...string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("_.-", r) || r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, strings.Join(words, "-"))
	return name[:min(len(name), maxSecretName)]
}
