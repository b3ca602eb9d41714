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

// A JSONValue is the value of the flag --json. Written holds a value of each type that the command
// can print.
type JSONValue struct {
	app     *App
	Written []any
}

// String implements [pflag.Value].
func (v *JSONValue) String() string { return strconv.FormatBool(v.app != nil && v.app.Flags.JSON) }

// Type implements [pflag.Value].
func (v *JSONValue) Type() string { return "bool" }

// IsBoolFlag reports that the flag can be given without a value.
func (v *JSONValue) IsBoolFlag() bool { return true }

// Set implements [pflag.Value].
func (v *JSONValue) Set(text string) (err error) {
	v.app.Flags.Written = v.Written
	v.app.Flags.JSON, err = strconv.ParseBool(text)
	return err
}

// JSONFlag defines the flag --json of a command. Help lists the fields of the types of written.
// Values of other types cannot be printed.
func (a *App) JSONFlag(cmd *cobra.Command, written ...any) {
	cmd.Flags().VarPF(&JSONValue{a, written}, "json", "", JSONUsage).NoOptDefVal = "true"
}

// PrintJSON prints a value as one line of JSON. A json.RawMessage is printed unchanged.
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

// PrintIndented prints a value as JSON with an indent. With an empty indent it prints one line.
func (a *App) PrintIndented(v any, indent string) error {
	text, err := IndentedJSON(v, indent)
	if err != nil {
		return err
	}
	return a.writeJSON(v, append(text, '\n'))
}

// IndentedJSON encodes a value without escaping HTML. With an empty indent the result is one line.
func IndentedJSON(v any, indent string) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// writeJSON writes the text of a value. It returns an error if the help of --json does not list the
// type of the value.
func (a *App) writeJSON(v any, text []byte) error {
	if _, asSent := v.(json.RawMessage); !asSent && !slices.ContainsFunc(a.Flags.Written, func(w any) bool { return reflect.TypeOf(w) == reflect.TypeOf(v) }) {
		return fmt.Errorf("help does not list the fields of %T", v)
	}
	_, err := a.Stdout.Write(text)
	return err
}

// A ServersShown is the output of --json of commands about servers.
type ServersShown[T any] struct {
	Servers []T `json:"servers"`
}

// maxCell is the largest number of characters in a cell of a table.
const maxCell = 10_000

// Table returns a table of untrusted texts.
func (a *App) Table(rows [][]string, indent int) string {
	for _, row := range rows {
		for i := range row {
			row[i] = plaintext.Line(row[i], maxCell)
		}
	}
	return terminal.Table(rows, indent, LineWidth(a.Out))
}

// JSONFields returns the help about the fields of --json. The first line lists the top-level
// fields; a line for each nested object follows with its path. JSONFields returns "" for a command
// without the flag.
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

// FieldLines returns the lines of [JSONFields] for one type. For types in listed it only refers to
// the path where they are described. It adds all other types to listed.
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
		case name == "" && !tagged && writesItself(t): // the specification describes the type's JSON
			return nil
		}
		name = cmp.Or(name, f.Name)
		names = append(names, name)
		if !repeated {
			below = append(below, FieldLines(f.Type, path+"."+name, listed)...)
		}
	}
	switch {
	case len(names) == 0: // a type without fields to list, such as time.Time
		return nil
	case path != "":
		path += "  "
	}
	if repeated {
		return []string{path + "as " + cmp.Or(before, "the whole")}
	}
	return append([]string{path + strings.Join(names, ", ")}, below...)
}

// writesItself reports whether a type encodes itself as JSON.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[interface {
		AppendJSON([]byte) ([]byte, error)
	}]())
}
