package add

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/registry"
)

// checkAuthor refuses a variable in the description of a server by its author. The configuration would fill it with a value of the user, and the
// rehearsal would send that to the author before the user agreed.
func (w *addition) checkAuthor() error {
	says := any(w.remote)
	if w.pkg != nil {
		p := *w.pkg
		p.RuntimeArguments, p.Transport = nil, registry.Remote{} // of which nothing with a variable in it is used
		if w.entry == nil {                                      // the user typed these
			p.Identifier, p.Version = "", ""
		}
		says = p
	}
	text, err := json.Marshal(says)
	jsonrpc.EachText("", text, func(at, text string) bool {
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
	if w.locked != nil && !w.locked.IsContainer() { // whose program is the same as its entry
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

// byAuthor notes what the author, and not the user, puts into a header or a variable, so that it is shown before it is agreed to.
func (w *addition) byAuthor(what string, n registry.Need, value string) {
	if n.Value != "" || w.given[n.Name] == nil && n.Default != "" && !n.IsSecret {
		w.fixed = append(w.fixed, what+" "+n.Name+" = "+value)
	}
}

// checkFilled refuses a text of the author that names a variable once it is filled, as "$" and "{TOKEN}" would together; only a reference to a secret
// that is kept for this server is one. The author's own texts checkAuthor has seen, and what a user types with a variable in it is kept as a secret.
func (w *addition) checkFilled(text string) error {
	bare := text
	for _, reference := range w.references {
		bare = strings.ReplaceAll(bare, reference, "{")
	}
	if strings.Contains(bare, "${") {
		return w.namesVariable("a text", text)
	}
	return nil
}
