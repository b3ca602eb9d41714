package graphql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/servers/internal/tree"
)

const (
	fieldsArgument = "fields"
	maxSelected    = 300      // fields selected without the argument "fields"
	maxUnion       = 10       // types selected of a union or an interface
	maxSelection   = 16 << 10 // bytes of the argument "fields"
	maxNested      = 20       // depth of nested braces, brackets and parentheses in the argument
)

// selecting builds a selection set.
type selecting struct {
	schema *schema
	left   int
}

// selection returns the default selection of a type: its scalars and those of nested objects, to a
// limited depth. It returns "" for a scalar.
func (s *schema) selection(t *tree.Object, depth int) string {
	return (&selecting{s, maxSelected}).of(bare(t), depth)
}

func (w *selecting) of(t *tree.Object, depth int) string {
	kind := t.Text("kind")
	if kind != "OBJECT" && kind != "INTERFACE" && kind != "UNION" {
		return ""
	}
	full := w.schema.types[t.Text("name")]
	names := w.fields(full, depth)
	if kind != "OBJECT" {
		names = append([]string{"__typename"}, names...)
	}
	if kind == "UNION" {
		for i, e := range full.List("possibleTypes") {
			if p, ok := e.(*tree.Object); ok && i < maxUnion {
				if inner := w.fields(w.schema.types[p.Text("name")], min(depth, 1)); len(inner) > 0 {
					names = append(names, "... on "+p.Text("name")+" {"+strings.Join(inner, " ")+"}")
				}
			}
		}
	}
	if len(names) == 0 {
		names = []string{"__typename"}
	}
	return "{" + strings.Join(names, " ") + "}"
}

// fields returns the names of the fields that need no arguments, scalars first, within the limit of
// selected fields.
func (w *selecting) fields(t *tree.Object, depth int) (names []string) {
	var objects []*tree.Object
	for _, e := range t.List("fields") {
		f, ok := e.(*tree.Object)
		if !ok || w.left <= 0 || slices.ContainsFunc(f.List("args"), func(e any) bool { a, ok := e.(*tree.Object); return ok && isRequired(a) }) {
			continue
		}
		switch bare(f.Object("type")).Text("kind") {
		case "SCALAR", "ENUM":
			names = append(names, f.Text("name"))
			w.left--
		case "OBJECT", "INTERFACE", "UNION":
			objects = append(objects, f)
		}
	}
	if depth <= 1 {
		return names
	}
	for _, f := range objects {
		if w.left <= 0 {
			break
		}
		w.left--
		if inner := w.of(bare(f.Object("type")), depth-1); inner != "{__typename}" {
			names = append(names, f.Text("name")+" "+inner)
		}
	}
	return names
}

// checkSelection returns an error unless text is exactly one selection set, so that it cannot end
// the enclosing one. The API checks names and types.
func checkSelection(text string) error {
	if len(text) > maxSelection {
		return fmt.Errorf("it has more than %d bytes", maxSelection)
	}
	if !strings.HasPrefix(text, "{") {
		return errors.New("expected a selection set such as {id name}")
	}
	var open []byte
	closing := map[byte]byte{'{': '}', '(': ')', '[': ']'}
	for i := 0; i < len(text); i++ {
		if len(open) == 0 && i > 0 {
			return errors.New("there is text after the selection set")
		}
		switch c := text[i]; c {
		case '{', '(', '[':
			if open = append(open, closing[c]); len(open) > maxNested {
				return fmt.Errorf("it is nested deeper than %d", maxNested)
			}
		case '}', ')', ']':
			if open[len(open)-1] != c {
				return fmt.Errorf("%q has no matching open bracket", string(c))
			}
			open = open[:len(open)-1]
		case '"':
			end, err := skipString(text, i)
			if err != nil {
				return err
			}
			i = end
		case '#', '$':
			return fmt.Errorf("%q is not allowed in it", string(c))
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("a %q is missing at the end", string(open[len(open)-1]))
	}
	return nil
}

// skipString returns the offset after the string that begins at i.
func skipString(text string, i int) (int, error) {
	if strings.HasPrefix(text[i:], `"""`) {
		return 0, errors.New(`""" is not allowed in it`)
	}
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\n', '\r':
			return 0, errors.New("a string has a line end")
		case '"':
			return i, nil
		}
	}
	return 0, errors.New("a string does not end")
}
