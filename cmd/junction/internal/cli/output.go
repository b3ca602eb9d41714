package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/internal/schema"
	"github.com/junction-mcp/junction/internal/terminal"
	"github.com/spf13/cobra"
)

// JSONUsage is the help of --json.
const JSONUsage = "print JSON, with the fields listed below, in place of text; an error is {\"error\": {\"code\", \"message\", \"data\"}}"

// A JSONValue is the flag --json of a command. Written holds a value of each type that the command
// prints.
type JSONValue struct {
	app     *App
	Written []any
}

// String implements [pflag.Value].
func (v *JSONValue) String() string { return strconv.FormatBool(v.app != nil && v.app.Flags.JSON) }

// Type implements [pflag.Value].
func (v *JSONValue) Type() string { return "bool" }

// IsBoolFlag reports true, so that the flag needs no value.
func (v *JSONValue) IsBoolFlag() bool { return true }

// Set implements [pflag.Value].
func (v *JSONValue) Set(text string) (err error) {
	v.app.Flags.Written = v.Written
	v.app.Flags.JSON, err = strconv.ParseBool(text)
	return err
}

// JSONFlag defines the flag --json of a command. Help lists the fields of the given types; values
// of other types cannot be printed.
func (a *App) JSONFlag(cmd *cobra.Command, written ...any) {
	cmd.Flags().VarPF(&JSONValue{a, written}, "json", "", JSONUsage).NoOptDefVal = "true"
}

// PrintJSON prints a value in one line. It prints JSON that a server sent unchanged.
func (a *App) PrintJSON(v any) error {
	line, is := v.(json.RawMessage)
	if !is {
		var err error
		if line, err = schema.Encode(nil, v); err != nil {
			return err
		}
	}
	return a.writeJSON(v, append(line, '\n'))
}

// PrintIndented prints a value as encoding/json does; an empty indent prints one line.
func (a *App) PrintIndented(v any, indent string) error {
	text, err := IndentedJSON(v, indent)
	if err != nil {
		return err
	}
	return a.writeJSON(v, append(text, '\n'))
}

// IndentedJSON encodes a value without escaping HTML; an empty indent yields one line.
func IndentedJSON(v any, indent string) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// writeJSON writes the text of a value. It returns an error if help does not list the fields of its
// type.
func (a *App) writeJSON(v any, text []byte) error {
	if _, asSent := v.(json.RawMessage); !asSent && !slices.ContainsFunc(a.Flags.Written, func(w any) bool { return reflect.TypeOf(w) == reflect.TypeOf(v) }) {
		return fmt.Errorf("help does not list the fields of %T", v)
	}
	_, err := a.Stdout.Write(text)
	return err
}

// A ServersShown is the output with --json of commands that look at servers.
type ServersShown[T any] struct {
	Servers []T `json:"servers"`
}

// maxCell limits the letters of a table's cell.
const maxCell = 10_000

// Table formats rows of untrusted texts as a table.
func (a *App) Table(rows [][]string, indent int) string {
	for _, row := range rows {
		for i := range row {
			row[i] = plaintext.Line(row[i], maxCell)
		}
	}
	return terminal.Table(rows, indent, LineWidth(a.Out))
}

// JSONFields lists the fields of a command's --json: the top ones in the first line, then a line
// for each object with its path. It returns an empty string for a command without the flag.
func JSONFields(cmd *cobra.Command, width int) string {
	flag := cmd.Flags().Lookup("json")
	if flag == nil {
		return ""
	}
	var b strings.Builder
	listed, title := map[reflect.Type]string{}, "Fields of --json"
	for _, v := range flag.Value.(*JSONValue).Written {
		b.WriteString("\n\n" + title + ":")
		lines := FieldLines(reflect.TypeOf(v), "", listed)
		if len(lines) == 0 {
			lines = []string{"none"}
		}
		for _, line := range lines {
			b.WriteString("\n" + indented("  "+line, width))
		}
		title = "Or"
	}
	return b.String()
}

// FieldLines returns the lines of [JSONFields] for one type. It refers to types in listed by their
// path, and adds the others.
func FieldLines(t reflect.Type, path string, listed map[reflect.Type]string) []string {
	for t.Kind() != reflect.Struct {
		of, named := reflect.Zero(t).Interface().(interface{ Element() reflect.Type })
		switch {
		case named:
			path, t = path+".NAME", of.Element()
			continue
		case t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]():
			path += "[]"
		case t.Kind() == reflect.Map:
			path += ".NAME"
		case t.Kind() != reflect.Pointer:
			return nil
		}
		t = t.Elem()
	}
	var names, below []string
	path = strings.TrimPrefix(path, ".")
	before, repeated := listed[t]
	if !repeated {
		listed[t] = path
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, tagged := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported(), name == "-", f.Anonymous && name == "":
			continue
		case name == "" && !tagged && writesItself(t): // the specification describes its JSON
			return nil
		}
		name = cmp.Or(name, f.Name)
		names = append(names, name)
		if !repeated {
			below = append(below, FieldLines(f.Type, path+"."+name, listed)...)
		}
	}
	switch {
	case len(names) == 0: // such as time.Time
		return nil
	case path != "":
		path += "  "
	}
	if repeated {
		return []string{path + "as " + cmp.Or(before, "the whole")}
	}
	return append([]string{path + strings.Join(names, ", ")}, below...)
}

// writesItself reports whether a type has its own JSON encoding.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[interface {
		AppendJSON([]byte) ([]byte, error)
	}]())
}
