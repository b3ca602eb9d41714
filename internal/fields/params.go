package fields

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// Params contains the fields of a filter F that users set by a command-line flag or a URL
// parameter: those with the tag doc. The following tags apply:
//
//	name:"tool"           name of the flag or parameter; by default the field's name in lower case
//	doc:"…"               usage text; its first WORD in capitals is the placeholder of the value
//	enum:"a,b"            valid values; users may give several, separated by commas; all selects each
//	match:"equal"         comparison with an object's member: equal, part (ignoring case), since, until
//	member:"name"         name of the object's member; by default the name of the parameter
//
// If F has a method Enum, it returns the valid values of a parameter that has no tag enum.
type Params[F any] struct{ list []Param }

// A Param is one row of Params.
type Param struct {
	Name string
	Doc  string
	Enum []string

	match, member string
	at            int // index of the field in F
	list, truth   bool
	number        int // size of the number in bits; 0 if the field is not a number
}

// ParamsOf returns the parameters of F.
func ParamsOf[F any]() *Params[F] {
	var all Params[F]
	for i, typ := 0, reflect.TypeFor[F](); i < typ.NumField(); i++ {
		of := typ.Field(i)
		p := Param{Name: of.Tag.Get("name"), Doc: of.Tag.Get("doc"), match: of.Tag.Get("match"), member: of.Tag.Get("member"), at: i}
		if p.Doc == "" {
			continue
		}
		if p.Name == "" {
			p.Name = strings.ToLower(of.Name)
		}
		if p.member == "" {
			p.member = p.Name
		}
		if enum := of.Tag.Get("enum"); enum != "" {
			p.Enum = strings.Split(enum, ",")
		} else if f, is := any(*new(F)).(interface{ Enum(name string) []string }); is {
			p.Enum = f.Enum(p.Name)
		}
		switch of.Type.Kind() {
		case reflect.Slice:
			p.list = true
		case reflect.Bool:
			p.truth = true
		case reflect.Int, reflect.Int32, reflect.Int64:
			p.number = of.Type.Bits() - 1
		case reflect.Uint64:
			p.number = of.Type.Bits()
		}
		all.list = append(all.list, p)
	}
	return &all
}

func (p *Params[F]) List() []Param { return p.list }

// A FlagSet has the methods of pflag.FlagSet that define flags.
type FlagSet interface {
	String(name, value, usage string) *string
	StringArray(name string, value []string, usage string) *[]string
	Bool(name string, value bool, usage string) *bool
	Int(name string, value int, usage string) *int
}

// AllValues is the value in a tag enum that leaves a field empty, so that it selects each value.
const AllValues = "all"

// Flags defines the flags of all parameters whose names are not in but. The returned function sets
// the fields of the flags that were given.
func (p *Params[F]) Flags(set FlagSet, but ...string) func(*F) error {
	given := map[string]func() []string{}
	for i := range p.list {
		one := &p.list[i]
		usage := one.Doc
		if at := capitals.FindStringIndex(one.Doc); at != nil && !one.truth {
			usage = one.Doc[:at[0]] + "`" + one.Doc[at[0]:at[1]] + "`" + one.Doc[at[1]:]
		}
		switch {
		case slices.Contains(but, one.Name):
		case one.list:
			value := set.StringArray(one.Name, nil, usage)
			given[one.Name] = func() []string { return *value }
		case one.truth:
			value := set.Bool(one.Name, false, usage)
			given[one.Name] = func() []string { return []string{strconv.FormatBool(*value)} }
		case one.number > 0:
			value := set.Int(one.Name, 0, usage)
			given[one.Name] = func() []string { return []string{strconv.Itoa(*value)} }
		default:
			value := set.String(one.Name, "", usage)
			given[one.Name] = func() []string { return []string{*value} }
		}
	}
	return func(f *F) error {
		return p.read(f, "--", func(name string) []string {
			if of := given[name]; of != nil {
				return of()
			}
			return nil
		})
	}
}

// capitals matches the placeholder of the value in a usage text.
var capitals = regexp.MustCompile(`\b[A-Z]+\b`)

// Query sets the fields of F from URL parameters. It leaves the other fields unchanged.
func (p *Params[F]) Query(f *F, query map[string][]string) error {
	return p.read(f, "", func(name string) []string { return query[name] })
}

func (p *Params[F]) read(f *F, dashes string, given func(name string) []string) error {
	for i := range p.list {
		one := &p.list[i]
		values := given(one.Name)
		if len(values) == 0 || !one.list && values[0] == "" {
			continue
		}
		if err := one.set(reflect.ValueOf(f).Elem().Field(one.at), values); err != nil {
			return &ParamError{dashes + one.Name, values[0], err}
		}
	}
	return nil
}

// A ParamError is the error for an invalid value of a parameter.
type ParamError struct {
	Name string // including the dashes of a flag
	Got  string
	Err  error
}

func (e *ParamError) Error() string { return e.Name + ": " + e.Err.Error() }
func (e *ParamError) Unwrap() error { return e.Err }

func (p *Param) set(field reflect.Value, given []string) error {
	value := given[0]
	switch {
	case p.list:
		field.Set(reflect.ValueOf(slices.Clone(given)))
	case p.truth:
		is, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("expected true or false, got %.40q", value)
		}
		field.SetBool(is)
	case p.number > 0:
		n, err := strconv.ParseUint(value, 10, p.number)
		if err != nil {
			return fmt.Errorf("expected a number, got %.40q", value)
		}
		if field.CanUint() {
			field.SetUint(n)
		} else {
			field.SetInt(int64(n))
		}
	case field.Type() == reflect.TypeFor[time.Time]():
		at, err := parseTime(value)
		if err != nil {
			return err
		}
		field.Set(reflect.ValueOf(at))
	default:
		for _, word := range strings.Split(value, ",") {
			if p.Enum != nil && !slices.Contains(p.Enum, word) {
				return fmt.Errorf("expected one of %s, got %.40q", strings.Join(p.Enum, ", "), word)
			}
		}
		if p.Enum == nil || !slices.Contains(strings.Split(value, ","), AllValues) {
			field.SetString(value)
		}
	}
	return nil
}

// parseTime parses a time typed by a user: a duration before now, or a date with an optional time.
func parseTime(text string) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("expected a time such as 2026-11-23T12:00:00Z, a date, or how long ago, such as 24h, got %q", text)
}

// Fits returns a function that reports whether f selects an object. The object must be valid JSON.
func (p *Params[F]) Fits(f *F) func(object []byte) bool {
	var conditions []func(object []byte) bool
	for i := range p.list {
		one := &p.list[i]
		if field := reflect.ValueOf(f).Elem().Field(one.at); one.match != "" && !field.IsZero() {
			conditions = append(conditions, one.fits(field))
		}
	}
	return func(object []byte) bool {
		for _, fits := range conditions {
			if !fits(object) {
				return false
			}
		}
		return true
	}
}

// fits returns the condition that one field imposes on an object.
func (p *Param) fits(field reflect.Value) func(object []byte) bool {
	member := p.member
	value := func(object []byte) string {
		text, _ := jsonrpc.Unquote(jsonrpc.Get(object, member))
		return text
	}
	if bound, is := field.Interface().(time.Time); is {
		since := p.match == "since"
		return func(object []byte) bool {
			at, err := time.Parse(time.RFC3339, value(object))
			return err == nil && at.Before(bound) != since
		}
	}
	switch want := field.String(); {
	case p.match == "part":
		want = strings.ToLower(want)
		return func(object []byte) bool { return strings.Contains(strings.ToLower(value(object)), want) }
	case p.Enum != nil:
		words := strings.Split(want, ",")
		return func(object []byte) bool { return slices.Contains(words, value(object)) }
	default:
		return func(object []byte) bool { return value(object) == want }
	}
}

// Markdown returns a row of a Markdown table for each parameter, with dashes before its name.
func (p *Params[F]) Markdown(dashes string) string {
	var b strings.Builder
	for i := range p.list {
		tableRow(&b, dashes+p.list[i].Name, p.list[i].Doc)
	}
	return b.String()
}

// quoted matches a quoted word, which pages show as code.
var quoted = regexp.MustCompile(`(^|[ (])'([^']+)'`)

// tableRow appends a row of a table in Markdown.
func tableRow(b *strings.Builder, name, doc string) {
	fmt.Fprintf(b, "| `%s` | %s |\n", name, strings.ReplaceAll(quoted.ReplaceAllString(doc, "$1`$2`"), "|", `\|`))
}
