package hostconfig

import (
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
)

// maxSecretName bounds the name that a secret of a host's file gets, in bytes.
const maxSecretName = 80

// A dialect is how a host writes variables in an entry. What another host would replace is plain text for it.
type dialect int

const (
	junctions   dialect = iota // of a file of Junction's own: ${NAME}, ${NAME:-default}, ${env:NAME}, ${secret:NAME}, and all the others
	plainText                  // none
	bareBraces                 // ${NAME}, ${NAME:-default}
	envBraces                  // ${env:NAME}, and folders
	inputBraces                // the same, and ${input:id}
	dollars                    // $NAME, ${NAME}, %NAME% on Windows
	templates                  // ${{ secrets.NAME }}
	keyring                    // ${NAME} of what the host keeps itself
)

// words are the expressions of variables.
type words struct{ variable, secret, env, dollar, percent, template, name, bare, folder *regexp.Regexp }

var expressions = sync.OnceValue(func() words {
	return words{
		variable: regexp.MustCompile(`\$\{[^{}]*\}`),
		secret:   regexp.MustCompile(`\$\{secret:[^{}]*\}`),
		env:      regexp.MustCompile(`\$\{(?:env:)?([a-zA-Z_]\w*)\}`),
		dollar:   regexp.MustCompile(`\$(\w+|\{[^{}]*\})`),
		percent:  regexp.MustCompile(`\$(\w+|\{[^{}]*\})|%\w+%`),
		template: regexp.MustCompile(`\$\{\{[^{}]*\}\}|\$\{[^{}]*\}`),
		name:     regexp.MustCompile(`^[a-zA-Z_]\w*$`),
		bare:     regexp.MustCompile(`^[a-zA-Z_]\w*(:-.*)?$`),
		folder:   regexp.MustCompile(`^(workspaceFolder|workspaceFolderBasename|userHome|pathSeparator|/)$`),
	}
})

// A translation carries values from a host's variables to Junction's.
type translation struct {
	from    dialect
	project string     // the folder of the project; empty for a person's own file
	given   []Variable // what the host's own variables are, for a dialect that keeps them
	needs   []string
	notes   []string
}

// value is how Junction's file writes what a host's file says.
func (t *translation) value(field, raw string) (string, error) {
	x := expressions()
	tokens := x.variable
	switch {
	case t.from == dollars && runtime.GOOS == "windows":
		tokens = x.percent
	case t.from == dollars:
		tokens = x.dollar
	case t.from == templates:
		tokens = x.template
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
	x := expressions()
	body := strings.TrimSuffix(strings.TrimPrefix(token, "${"), "}")
	env, isEnv := strings.CutPrefix(body, "env:")
	switch {
	case t.from == junctions, t.from == bareBraces && x.bare.MatchString(body):
		return token, nil
	case t.from == dollars:
		if body = strings.Trim(body, "$%"); x.bare.MatchString(body) {
			return "${" + body + "}", nil
		}
	case t.from == templates:
		kind, name, _ := strings.Cut(strings.Trim(body, "{ }"), ".")
		if strings.HasPrefix(token, "${{") && (kind == "secrets" || kind == "inputs") {
			return t.secret(name), nil
		} else if strings.HasPrefix(token, "${{") {
			return "", fmt.Errorf("%s: only the host itself can replace %s", field, token)
		}
	case t.from == keyring && x.name.MatchString(body):
		for _, v := range t.given {
			if v.Name == body {
				return v.Value, nil
			}
		}
		return t.secret(body), nil
	case t.from == envBraces || t.from == inputBraces:
		switch id, isInput := strings.CutPrefix(body, "input:"); {
		case isEnv && env != "":
			return token, nil
		case x.folder.MatchString(body):
			return t.folder(field, token, body), nil
		case isInput && t.from == inputBraces:
			return t.secret(id), nil
		case strings.HasPrefix(body, "file:") && t.from == envBraces:
			return token, nil
		case strings.HasPrefix(body, "command:") || strings.HasPrefix(body, "config:") || strings.HasPrefix(body, "workspaceFolder:"):
			return "", fmt.Errorf("%s: only the host itself can replace %s", field, token)
		}
	}
	if isEnv || x.bare.MatchString(body) || x.folder.MatchString(body) || strings.HasPrefix(body, "input:") || strings.HasPrefix(body, "secret:") || strings.HasPrefix(body, "file:") {
		name, _, _ := strings.Cut(body, ":-") // a default can be a secret
		t.notes = append(t.notes, fmt.Sprintf("%s: ${%s} is plain text for the host, and a variable for junction", field, name))
	}
	return token, nil
}

// folder is a folder of a project by its path: the entry is for all of them then.
func (t *translation) folder(field, token, body string) string {
	switch {
	case t.project != "" && body == "workspaceFolder":
		return t.project
	case t.project == "" && strings.HasPrefix(body, "workspaceFolder"):
		t.notes = append(t.notes, fmt.Sprintf("%s: %s is the folder that junction runs in", field, token))
	}
	return token
}

// secret is a variable for a secret that the person has to give.
func (t *translation) secret(name string) string {
	name = SecretName(name)
	t.needs = append(t.needs, name)
	return "${secret:" + name + "}"
}

// SecretName is a name under which junction can keep a secret.
func SecretName(words ...string) string {
	name := strings.Map(func(r rune) rune {
		if strings.ContainsRune("_.-", r) || r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, strings.Join(words, "-"))
	return name[:min(len(name), maxSecretName)]
}
