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

// checkAuthor refuses variables in the author's description of a server. The configuration would
// replace them by values of the user. The rehearsal would then send these to the author before the
// user agreed.
func (w *addition) checkAuthor() error {
	says := any(w.remote)
	if w.pkg != nil {
		p := *w.pkg
		p.RuntimeArguments, p.Transport = nil, registry.Remote{} // texts in these with a variable are not used
		if w.entry == nil {                                      // typed by the user
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
	return fmt.Errorf("%s is not added: its author uses a variable or a secret of yours in %s: %s", w.name, plaintext.Line(what, 100), plaintext.Line(text, maxReason))
}

// maxAuthor is the maximum length of the author's texts in the command line, the variables, headers
// and URL of an entry, in bytes. The user agrees to the whole text, and would not read more.
const maxAuthor = 4 << 10

func (w *addition) checkLength() error {
	length := len(w.written.URL)
	if w.locked != nil && !w.locked.IsContainer() { // the program of a container is its entry
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

// byAuthor records a header or a variable that the author, not the user, sets, so that it is shown
// for agreement.
func (w *addition) byAuthor(what string, n registry.Need, value string) {
	if n.Value != "" || w.given[n.Name] == nil && n.Default != "" && !n.IsSecret {
		w.fixed = append(w.fixed, what+" "+n.Name+" = "+value)
	}
}

// checkFilled refuses a filled text of the author that names a variable, as "$" and "{TOKEN}" do
// together. Only references to secrets of this server are allowed. checkAuthor has checked the
// author's own texts, and a user's value with a variable is stored as a secret.
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
