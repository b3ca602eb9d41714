package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	fault "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// general validates with a library that knows all of JSON Schema.
type general struct {
	text  []byte
	draft draft
	free  sync.Pool // of *metered; each counts its own work
}

// metered is a compiled schema that one validation at a time may use. The
// library has no limits of its own, and collects every error it finds.
type metered struct {
	schema *jsonschema.Schema
	fanout int // subschemas that apply to the same value as their parent, in all
	work   int // what the validation may still spend
}

// meter charges for each evaluation of one subschema, after the fact.
type meter struct {
	*metered
	weight int
}

// Validate is called by the library wherever the subschema is evaluated.
func (m meter) Validate(*jsonschema.ValidatorContext, any) {
	if m.work -= m.weight; m.work < 0 {
		panic(exhausted{})
	}
}

// exhausted is what a meter panics with; [general.run] recovers it.
type exhausted struct{}

// meter weighs a subschema by what it applies to one and the same value.
func (m *metered) meter(_ *jsonschema.CompilerContext, subschema map[string]any) (jsonschema.SchemaExt, error) {
	fanout := 0
	for _, keyword := range []string{"allOf", "anyOf", "oneOf", "enum", "patternProperties", "dependentSchemas", "dependencies"} {
		switch list := subschema[keyword].(type) {
		case []any:
			fanout += len(list)
		case map[string]any:
			fanout += len(list)
		}
	}
	m.fanout += fanout
	return meter{m, 1 + fanout}, nil
}

// documentURI names the schema inside the library. It is never fetched, but
// relative references need something to be relative to.
const (
	documentBase = "https://junction.invalid/"
	documentURI  = documentBase + "schema"
)

func compileGeneral(text []byte, d draft) (*general, error) {
	g := &general{text: text, draft: d}
	first, err := g.compile()
	if err != nil {
		return nil, err
	}
	g.free.Put(first)
	return g, nil
}

func (g *general) compile() (*metered, error) {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(g.text)))
	if err != nil {
		return nil, fmt.Errorf("schema is not valid JSON: %w", err)
	}
	m := &metered{work: math.MaxInt} // the schema itself is small
	c := jsonschema.NewCompiler()
	c.DefaultDraft(g.draft.library())
	c.UseLoader(refuseToFetch{})
	c.UseRegexpEngine(m.compilePattern)
	c.RegisterVocabulary(&jsonschema.Vocabulary{
		URL:     documentURI + "-meter",
		Compile: m.meter,
	})
	c.AssertVocabs()
	if err := c.AddResource(documentURI, document); err != nil {
		return nil, compileError(err, document)
	}
	if m.schema, err = c.Compile(documentURI); err != nil {
		return nil, compileError(err, document)
	}
	return m, nil
}

func (d draft) library() *jsonschema.Draft {
	switch d {
	case draft4:
		return jsonschema.Draft4
	case draft6:
		return jsonschema.Draft6
	case draft7:
		return jsonschema.Draft7
	case draft2019:
		return jsonschema.Draft2019
	default:
		return jsonschema.Draft2020
	}
}

// refuseToFetch is the loader of schemas that lie elsewhere.
type refuseToFetch struct{}

var errElsewhere = errors.New("junction never fetches schemas: copy it into $defs")

func (refuseToFetch) Load(string) (any, error) { return nil, errElsewhere }

// compilePattern is the library's engine of regular expressions; what RE2
// cannot express matches anything.
func (m *metered) compilePattern(text string) (jsonschema.Regexp, error) {
	p, err := compilePattern(text)
	if err != nil {
		return anyText(text), nil
	}
	return meteredPattern{m, p}, nil
}

// meteredPattern charges for each match.
type meteredPattern struct {
	*metered
	*pattern
}

func (p meteredPattern) String() string { return p.text }

func (p meteredPattern) MatchString(s string) bool {
	if p.work -= p.workFor(len(s)); p.work < 0 {
		panic(exhausted{})
	}
	return p.regexp.MatchString(s)
}

// anyText is a pattern that is not checked.
type anyText string

func (anyText) MatchString(string) bool { return true }
func (t anyText) String() string        { return string(t) }

// compileError puts the library's words into ours.
func compileError(err error, document any) error {
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return fmt.Errorf("schema has a $ref to %q: %w", clip(strings.TrimPrefix(load.URL, documentBase)), errElsewhere)
	}
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		return fmt.Errorf("schema is not a valid JSON Schema: %w", explainLibrary(invalid.Err, document))
	}
	return fmt.Errorf("schema cannot be used: %s", clip(strings.ReplaceAll(err.Error(), documentURI, "")))
}

func (g *general) validate(raw []byte) error {
	v, err := decodeAny(raw)
	if err != nil {
		return err
	}
	m, _ := g.free.Get().(*metered)
	if m == nil {
		if m, err = g.compile(); err != nil {
			return err
		}
	}
	if len(raw)*m.fanout > maxFanoutBytes {
		g.free.Put(m)
		return tooMuchWork()
	}
	m.work = generalWorkFor(raw)
	return g.run(m, v)
}

func (g *general) run(m *metered, v any) (err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
			g.free.Put(m)
		case exhausted{}:
			err = tooMuchWork()
		default:
			panic(r)
		}
	}()
	if err := m.schema.Validate(v); err != nil {
		return explainLibrary(err, v)
	}
	return nil
}

// explainLibrary turns the library's tree of errors into violations.
func explainLibrary(err error, v any) error {
	var tree *jsonschema.ValidationError
	if !errors.As(err, &tree) {
		return &Error{Violations: []Violation{{Expected: "a value that fits the schema", Got: clip(err.Error())}}}
	}
	r := &report{}
	r.addLibrary(tree, v)
	slices.SortStableFunc(r.violations, func(a, b Violation) int { return strings.Compare(a.Path, b.Path) })
	return &Error{Violations: r.violations}
}

func (r *report) addLibrary(e *jsonschema.ValidationError, root any) {
	if r.full() {
		return
	}
	value := r.goTo(e.InstanceLocation, root)
	switch k := e.ErrorKind.(type) {
	case *fault.Required:
		for _, name := range k.Missing {
			r.addMember(name, "required", Missing)
		}
	case *fault.AdditionalProperties:
		slices.Sort(k.Properties)
		for _, name := range k.Properties {
			r.addMember(name, "", Unknown)
		}
	case *fault.AnyOf, *fault.OneOf, *fault.Not:
		r.add(expectedByLibrary(e), excerptAny(value))
	default:
		if len(e.Causes) == 0 {
			r.add(expectedByLibrary(e), excerptAny(value))
		}
		for _, cause := range e.Causes {
			r.addLibrary(cause, root)
		}
	}
}

func (r *report) addMember(name, expected, got string) {
	r.path = append(r.path, step{name: name, index: -1})
	r.add(expected, got)
	r.path = r.path[:len(r.path)-1]
}

// goTo sets the path to a location and returns the value there.
func (r *report) goTo(location []string, v any) any {
	r.path = r.path[:0]
	for _, token := range location {
		switch at := v.(type) {
		case []any:
			n, _ := plainInt([]byte(token))
			r.path = append(r.path, step{index: int(n)})
			if v = nil; int(n) < len(at) {
				v = at[n]
			}
		case map[string]any:
			r.path = append(r.path, step{name: token, index: -1})
			v = at[token]
		default:
			r.path = append(r.path, step{name: token, index: -1})
		}
	}
	return v
}

// expectedByLibrary words the commonest failures as the fast validator does.
func expectedByLibrary(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *fault.Type:
		return strings.Join(k.Want, " or ")
	case *fault.Enum:
		return "one of " + listAny(k.Want)
	case *fault.Const:
		return listAny([]any{k.Want})
	case *fault.Minimum:
		return "number at least " + ratText(k.Want)
	case *fault.Maximum:
		return "number at most " + ratText(k.Want)
	case *fault.Pattern:
		return "string that matches " + clip(k.Want)
	case *fault.AnyOf, *fault.OneOf:
		return "a value that fits one of the alternatives: " + causes(e)
	case *fault.Not:
		return "a value that does not fit the schema under not"
	default:
		return "a value that fits " + strings.Join(k.KeywordPath(), "/") + " of the schema"
	}
}

func causes(e *jsonschema.ValidationError) string {
	var words []string
	for _, cause := range e.Causes {
		if text := expectedByLibrary(cause); !slices.Contains(words, text) {
			words = append(words, text)
		}
	}
	return clipWords(strings.Join(words, ", or "))
}

func ratText(r *big.Rat) string {
	if r.IsInt() {
		return r.Num().String()
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

func listAny(values []any) string {
	words := make([]string, len(values))
	for i, v := range values {
		text, _ := json.Marshal(v)
		words[i] = clip(string(text))
	}
	return clipWords(strings.Join(words, ", "))
}

func excerptAny(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "an array of " + plural(len(v), "item")
	default:
		return listAny([]any{v})
	}
}

func trimURI(uri string) string {
	uri = strings.TrimSuffix(uri, "#")
	_, rest, _ := strings.Cut(uri, "://")
	return rest
}
