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

// JSONUsage is what --json means, for every command that has it.
const JSONUsage = "print JSON, with the fields listed below, in place of text; an error is {\"error\": {\"code\", \"message\", \"data\"}}"

// A JSONValue is the flag --json of a command. It holds a value of each type that the command writes.
type JSONValue struct {
	app     *App
	Written []any
}

func (v *JSONValue) String() string   { return strconv.FormatBool(v.app != nil && v.app.Flags.JSON) }
func (v *JSONValue) Type() string     { return "bool" }
func (v *JSONValue) IsBoolFlag() bool { return true }

func (v *JSONValue) Set(text string) (err error) {
	v.app.Flags.Written = v.Written
	v.app.Flags.JSON, err = strconv.ParseBool(text)
	return err
}

// JSONFlag gives a command --json, with which it writes values of these types: help lists their fields, and no other is written.
func (a *App) JSONFlag(cmd *cobra.Command, written ...any) {
	cmd.Flags().VarPF(&JSONValue{a, written}, "json", "", JSONUsage).NoOptDefVal = "true"
}

// PrintJSON prints a value in one line. Of what a server sent it changes nothing.
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

// PrintIndented prints a value as encoding/json writes it; without an indent in one line.
func (a *App) PrintIndented(v any, indent string) error {
	text, err := IndentedJSON(v, indent)
	if err != nil {
		return err
	}
	return a.writeJSON(v, append(text, '\n'))
}

func IndentedJSON(v any, indent string) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// writeJSON writes the text of a value, if it is of a type of which help has the fields.
func (a *App) writeJSON(v any, text []byte) error {
	if _, asSent := v.(json.RawMessage); !asSent && !slices.ContainsFunc(a.Flags.Written, func(w any) bool { return reflect.TypeOf(w) == reflect.TypeOf(v) }) {
		return fmt.Errorf("help does not list the fields of %T", v)
	}
	_, err := a.Stdout.Write(text)
	return err
}

// A ServersShown is what commands that look at servers print with --json.
type ServersShown[T any] struct {
	Servers []T `json:"servers"`
}

// maxCell is how many letters of a cell a table shows.
const maxCell = 10_000

// Table returns rows of texts that others wrote as a table.
func (a *App) Table(rows [][]string, indent int) string {
	for _, row := range rows {
		for i := range row {
			row[i] = plaintext.Line(row[i], maxCell)
		}
	}
	return terminal.Table(rows, indent, LineWidth(a.Out))
}

// JSONFields lists the fields that a command writes with --json: those at the top in the first line, and below it a line for each
// that holds others, behind the path to it. It is empty for a command without that flag.
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

// FieldLines are the lines of [jsonFields] for one type. What is listed already, by type, is not listed again.
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
		case name == "" && !tagged && writesItself(t): // the specification names what it writes
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

// writesItself reports whether a type has a text of its own in JSON.
func writesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Marshaler]()) || p.Implements(reflect.TypeFor[interface {
		AppendJSON([]byte) ([]byte, error)
	}]())
}
