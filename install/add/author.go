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

// checkAuthor returns an error if the author's description of a server contains a variable. The
// configuration would replace it by a value of the user, and the rehearsal would send the value to
// the author before the user agreed.
func (w *addition) checkAuthor() error {
	says := any(w.remote)
	if w.pkg != nil {
		p := *w.pkg
		p.RuntimeArguments, p.Transport = nil, registry.Remote{} // texts with variables in these fields are not used
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
	return fmt.Errorf("%s is not added: its author uses one of your variables or secrets in %s: %s", w.name, plaintext.Line(what, 100), plaintext.Line(text, maxReason))
}

// maxAuthor is the maximum size in bytes of the author's texts in the command line, the variables,
// headers and URL of an entry. The user has to agree to the whole text, and would not read more.
const maxAuthor = 4 << 10

func (w *addition) checkLength() error {
	length := len(w.written.URL)
	if w.locked != nil && !w.locked.IsContainer() { // the command line of a container is in its entry
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
	return fmt.Errorf("%s is not added: its arguments, variables, headers and URL have %d bytes, and users can review at most %d", w.name, length, maxAuthor)
}

// byAuthor records a header or variable that the author sets, not the user, so that the review
// shows it.
func (w *addition) byAuthor(what string, n registry.Need, value string) {
	if n.Value != "" || w.given[n.Name] == nil && n.Default != "" && !n.IsSecret {
		w.fixed = append(w.fixed, what+" "+n.Name+" = "+value)
	}
}

// checkFilled returns an error if a filled text of the author contains a variable, which "$" and
// "{TOKEN}" can form together. Only references to secrets of this server are allowed. checkAuthor
// has checked the author's own texts, and a user's value with a variable is stored as a secret.
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
