package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/registry"
)

// checkAuthor refuses a variable in what the author of a server says of it. The configuration would fill it with what is the person's, and the
// rehearsal would send that to the author before anybody agreed.
func (w *addition) checkAuthor() error {
	says := any(w.remote)
	if w.pkg != nil {
		p := *w.pkg
		p.RuntimeArguments, p.Transport = nil, registry.Remote{} // of which nothing is used
		if w.entry == nil {                                      // the person typed these
			p.Identifier, p.Version = "", ""
		}
		says = p
	}
	text, err := json.Marshal(says)
	walkTexts("", text, func(at, text string) bool {
		isUsed := !strings.HasSuffix(at, ".description") && !strings.HasSuffix(at, ".placeholder")
		if isUsed && strings.Contains(at+text, "${") {
			err = w.namesVariable(at, text)
		}
		return err == nil
	})
	return err
}

func (w *addition) namesVariable(what, text string) error {
	return fmt.Errorf("%s is not added: its author has %s name a variable or a secret of yours: %s", w.name, plaintext.Line(what, 100), plaintext.Line(text, maxReason))
}

// maxAuthor is how many bytes the author may have in the command line, the variables, headers and URL of an entry. What is agreed to is shown whole,
// and more would be no text that somebody reads.
const maxAuthor = 4 << 10

func (w *addition) checkLength() error {
	length := len(w.written.URL)
	if w.locked != nil {
		length += len(strings.Join(w.locked.Program, " "))
	}
	for _, arg := range w.written.Args {
		if !slices.Contains(w.typed, arg) {
			length += len(arg)
		}
	}
	for _, one := range w.fixed {
		length += len(one)
	}
	if length <= maxAuthor {
		return nil
	}
	return fmt.Errorf("%s is not added: its author has it start with %d bytes of arguments, variables, headers and URL, and nobody reads more than %d before they agree", w.name, length, maxAuthor)
}

// byAuthor notes what the author, and not the person, puts into a header or a variable, so that it is shown before it is agreed to.
func (w *addition) byAuthor(what string, n need, value string, given map[string]string) {
	if _, is := given[n.name]; n.input.Value != "" || !is && n.input.Default != "" && !n.input.IsSecret {
		w.fixed = append(w.fixed, what+" "+n.name+" = "+value)
	}
}

var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{([A-Za-z0-9_.-]+)\}`) })

var ownSecret = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{secret:[A-Za-z0-9_.-]+\}`) })

// template fills {name} in a text of the author with the values of its variables. The pieces together must not be a variable either, as "$" and
// "{TOKEN}" would be; only a reference to a secret that is kept for this server is one.
func (w *addition) template(ctx context.Context, text string, variables map[string]registry.Input, given map[string]string) (string, error) {
	var filled, bare strings.Builder // bare has no such references
	end := 0
	for _, at := range placeholder().FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		in, known := variables[name]
		if !known {
			continue
		}
		value, _, err := w.value(ctx, need{name, in}, given)
		if err != nil {
			return "", err
		}
		if value == "" {
			value = in.Default
		}
		filled.WriteString(text[end:at[0]] + value)
		// What is left in a value is ours: checkAuthor has seen the author's, and what a person types with a variable in it is kept as a secret.
		bare.WriteString(text[end:at[0]] + ownSecret().ReplaceAllLiteralString(value, "{"))
		end = at[1]
	}
	filled.WriteString(text[end:])
	bare.WriteString(text[end:])
	if strings.Contains(bare.String(), "${") {
		return "", w.namesVariable("a text", filled.String())
	}
	return filled.String(), nil
}
