package main

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

// jsonUsage is what --json means, for every command that has it.
const jsonUsage = "print JSON, with the fields listed below, in place of text; an error is {\"error\": {\"code\", \"message\", \"data\"}}"

// A jsonValue is the flag --json of a command. It holds a value of each type that the command writes.
type jsonValue struct {
	app     *app
	written []any
}

func (v *jsonValue) String() string   { return strconv.FormatBool(v.app != nil && v.app.flags.json) }
func (v *jsonValue) Type() string     { return "bool" }
func (v *jsonValue) IsBoolFlag() bool { return true }

func (v *jsonValue) Set(text string) (err error) {
	v.app.flags.written = v.written
	v.app.flags.json, err = strconv.ParseBool(text)
	return err
}

// jsonFlag gives a command --json, with which it writes values of these types: help lists their fields, and no other is written.
func (a *app) jsonFlag(cmd *cobra.Command, written ...any) {
	cmd.Flags().VarPF(&jsonValue{a, written}, "json", "", jsonUsage).NoOptDefVal = "true"
}

// printJSON prints a value in one line. Of what a server sent it changes nothing.
func (a *app) printJSON(v any) error {
	line, is := v.(json.RawMessage)
	if !is {
		var err error
		if line, err = schema.Encode(nil, v); err != nil {
			return err
		}
	}
	return a.writeJSON(v, append(line, '\n'))
}

// printIndented prints a value as encoding/json writes it; without an indent in one line.
func (a *app) printIndented(v any, indent string) error {
	text, err := indentedJSON(v, indent)
	if err != nil {
		return err
	}
	return a.writeJSON(v, append(text, '\n'))
}

func indentedJSON(v any, indent string) ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// writeJSON writes the text of a value, if it is of a type of which help has the fields.
func (a *app) writeJSON(v any, text []byte) error {
	if _, asSent := v.(json.RawMessage); !asSent && !slices.ContainsFunc(a.flags.written, func(w any) bool { return reflect.TypeOf(w) == reflect.TypeOf(v) }) {
		return fmt.Errorf("help does not list the fields of %T", v)
	}
	_, err := a.stdout.Write(text)
	return err
}

// A serversShown is what commands that look at servers print with --json.
type serversShown[T any] struct {
	Servers []T `json:"servers"`
}

// maxCell is how many letters of a cell a table shows.
const maxCell = 10_000

// table returns rows of texts that others wrote as a table.
func (a *app) table(rows [][]string, indent int) string {
	for _, row := range rows {
		for i := range row {
			row[i] = plaintext.Line(row[i], maxCell)
		}
	}
	return terminal.Table(rows, indent, lineWidth(a.out))
}

// jsonFields lists the fields that a command writes with --json: those at the top in the first line, and below it a line for each
// that holds others, behind the path to it. It is empty for a command without that flag.
func jsonFields(cmd *cobra.Command, width int) string {
	flag := cmd.Flags().Lookup("json")
	if flag == nil {
		return ""
	}
	var b strings.Builder
	listed, title := map[reflect.Type]string{}, "Fields of --json"
	for _, v := range flag.Value.(*jsonValue).written {
		b.WriteString("\n\n" + title + ":")
		lines := fieldLines(reflect.TypeOf(v), "", listed)
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

// fieldLines are the lines of [jsonFields] for one type. What is listed already, by type, is not listed again.
func fieldLines(t reflect.Type, path string, listed map[reflect.Type]string) []string {
	for t.Kind() != reflect.Struct {
		of, named := reflect.Zero(t).Interface().(interface{ element() reflect.Type })
		switch {
		case named:
			path, t = path+".NAME", of.element()
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
			below = append(below, fieldLines(f.Type, path+"."+name, listed)...)
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
