package schema

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/junction-mcp/junction/internal/jsonrpc"
)

// agree fails the test if the single pass and the library differ. It returns how many values both
// checked, and how many both refused.
func agree(t *testing.T, schema string, values ...string) (compared, refused int) {
	t.Helper()
	text := jsontext.Value(schema)
	if text.Compact() != nil || !float64Distinguishes(schema) {
		return 0, 0
	}
	root, beyond := compile(text, draft2020)
	l, err := compileForLibrary(text, draft2020)
	if err != nil {
		return 0, 0 // such as both $defs and definitions
	}
	for _, value := range values {
		if !jsontext.Value(value).IsValid() || !float64Distinguishes(value) {
			continue
		}
		one := walker{raw: []byte(value), work: workFor([]byte(value))}
		one.value(root, 0, 1)
		slow := l.validate([]byte(value), one.found)
		if beyond {
			// Violations of the single pass must be correct, as they are used in messages.
			if one.found != nil && slow == nil {
				t.Fatalf("schema  %s\nvalue   %s\nis valid, and %v", schema, value, one.found)
			}
			continue
		}
		fast := (&Validator{root: root}).Validate([]byte(value))
		if limit := tooMuchWork().Error(); fast != nil && fast.Error() == limit || slow != nil && slow.Error() == limit {
			continue
		}
		if (fast == nil) != (slow == nil) {
			t.Fatalf("schema  %s\nvalue   %s\nfast    %v\nlibrary %v", schema, value, fast, slow)
		}
		if compared++; fast != nil {
			refused++
		}
	}
	return compared, refused
}

// float64Distinguishes reports false for text with numbers that float64 cannot distinguish from
// others: the library, unlike the walk, uses it. With a fractional multipleOf the library is off by
// a rounding.
func float64Distinguishes(text string) bool {
	raw := []byte(text)
	for i := 0; i < len(raw); {
		switch kindAt(raw, i) {
		case kindString:
			i, _ = jsonrpc.SkipValue(raw, i)
		case kindNumber:
			end, _ := jsonrpc.SkipValue(raw, i)
			mantissa, _, _ := strings.Cut(strings.ToLower(string(raw[i:end])), "e")
			if len(mantissa) > 15 || !inRange(raw[i:end]) {
				return false
			}
			i = end
		default:
			i++
		}
	}
	return true
}

func TestOnePassAgreesWithTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	compared, refused := 0, 0
	for range 5000 {
		g := &generator{r: r, defs: 2}
		n, wrong := agree(t, g.document(), g.value(3), g.value(3), g.value(3), g.value(3))
		compared, refused = compared+n, refused+wrong
	}
	if compared < 6000 || refused < compared/10 || refused > compared*9/10 {
		t.Fatalf("compared %d values, refused %d: the generator misses its aim", compared, refused)
	}
}

func FuzzOnePassAgreesWithTheLibrary(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		g := &generator{r: r, defs: 2}
		f.Add(g.document(), g.value(3))
	}
	f.Add(`{"type":"integer","minimum":0.1}`, `1e0`)
	f.Add(`{"enum":["\u00e9",1.0,{"a":[]}]}`, `"é"`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		if len(schema)+len(value) < 4096 {
			agree(t, schema, value)
		}
	})
}

// generator generates schemas within the subset, and values that often fit.
type generator struct {
	r    *rand.Rand
	defs int
}

func (g *generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *generator) document() string {
	body := g.keywords(3)
	var defs []string
	for i := range g.defs {
		defs = append(defs, fmt.Sprintf(`"d%d":{"$anchor":"anchor%d",%s}`, i, i, strings.Join(g.keywords(2), ",")))
	}
	return "{" + strings.Join(append(body, `"$defs":{`+strings.Join(defs, ",")+`}`), ",") + "}"
}

func (g *generator) schema(depth int) string {
	switch g.r.IntN(14) {
	case 0:
		return "true"
	case 1:
		return g.pick("false", "{}", "{}")
	}
	return "{" + strings.Join(g.keywords(depth), ",") + "}"
}

func (g *generator) keywords(depth int) (list []string) {
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	kind := g.pick("object", "object", "array", "string", "integer", "number", "boolean", "null", "", "ref", "combine")
	if depth <= 0 && (kind == "object" || kind == "array" || kind == "combine") {
		kind = "string"
	}
	if kind != "" && kind != "ref" && kind != "combine" && g.r.IntN(6) > 0 {
		add(`"type":%s`, g.pick(`"`+kind+`"`, `"`+kind+`"`, `["`+kind+`","null"]`))
		if kind == "null" {
			return []string{`"type":"null"`}
		}
	}
	switch kind {
	case "object":
		g.objectKeywords(depth, add)
	case "array":
		add(`"items":%s`, g.schema(depth-1))
		if g.r.IntN(2) == 0 {
			add(`"%s":%d`, g.pick("minItems", "maxItems"), g.r.IntN(3))
		}
		g.arrayKeywords(depth, add)
	case "string":
		if g.r.IntN(2) == 0 {
			add(`%s`, g.pick(`"minLength":2`, `"maxLength":1`, `"pattern":"^[a-c]"`, `"enum":["a","b\u0063","é"]`, `"const":"a"`, `"format":"email"`))
		}
	case "integer", "number":
		add(`"%s":%s`, g.pick("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), g.number())
		if g.r.IntN(4) == 0 {
			add(`"enum":[%s,%s,%s]`, g.number(), g.number(), g.number())
		}
		if g.r.IntN(4) == 0 {
			add(`"multipleOf":%s`, g.pick("1", "2", "3", "0.5"))
		}
	case "ref":
		add(`"$ref":"%s%d"`, g.pick("#/$defs/d", "#anchor"), g.r.IntN(g.defs))
	case "combine":
		add(`"%s":[%s,%s]`, g.pick("anyOf", "oneOf", "allOf"), g.schema(depth-1), g.schema(depth-1))
		if g.r.IntN(3) == 0 {
			add(`"not":{"%s":%s}`, g.pick("const", "const", "minimum"), g.number())
		}
		if g.r.IntN(3) == 0 {
			add(`"if":%s`, g.schema(depth-1))
		}
		for _, branch := range []string{"then", "else"} {
			if g.r.IntN(3) == 0 {
				add(`"%s":%s`, branch, g.schema(depth-1))
			}
		}
	default:
		add(`"description":"x"`)
	}
	return list
}

func (g *generator) objectKeywords(depth int, add func(string, ...any)) {
	var props []string
	for _, name := range []string{"a", "b", "é"} {
		if g.r.IntN(2) == 0 {
			props = append(props, fmt.Sprintf(`"%s":%s`, name, g.schema(depth-1)))
		}
	}
	add(`"properties":{%s}`, strings.Join(props, ","))
	if g.r.IntN(2) == 0 {
		add(`"required":[%s]`, g.pick(`"a"`, `"b"`, `"a","b"`, `"z"`))
	}
	if g.r.IntN(2) == 0 {
		add(`"additionalProperties":%s`, g.pick("false", "true", g.schema(depth-1)))
	}
	if g.r.IntN(5) == 0 {
		add(`"%s":%d`, g.pick("minProperties", "maxProperties"), g.r.IntN(3))
	}
	if g.r.IntN(4) == 0 {
		add(`"patternProperties":{"%s":%s,"%s":%s}`, g.pick("^[a-c]$", "", "z|b"), g.schema(depth-1), g.pick("(?!x)", "^.$"), g.schema(depth-1))
	}
	if g.r.IntN(5) == 0 {
		add(`"propertyNames":{"%s":%s}`, g.pick("pattern", "const"), g.pick(`"^[ab]"`, `"a"`))
	}
	if g.r.IntN(5) == 0 {
		add(`"dependentRequired":{"%s":["%s"]}`, g.pick("a", "b", "z"), g.pick("a", "b", "z"))
	}
	if g.r.IntN(5) == 0 {
		add(`"dependentSchemas":{"%s":%s}`, g.pick("a", "b", "z"), g.schema(depth-1))
	}
}

func (g *generator) arrayKeywords(depth int, add func(string, ...any)) {
	if g.r.IntN(4) == 0 {
		add(`"prefixItems":[%s,%s]`, g.schema(depth-1), g.schema(depth-1))
	}
	if g.r.IntN(4) == 0 {
		add(`"uniqueItems":%s`, g.pick("true", "true", "false"))
	}
	if g.r.IntN(4) == 0 {
		add(`"contains":%s`, g.schema(depth-1))
	}
	if g.r.IntN(6) == 0 {
		add(`"%s":%d`, g.pick("minContains", "maxContains"), g.r.IntN(3))
	}
}

func (g *generator) number() string {
	return g.pick("0", "1", "1.0", "1e0", "-1", "2", "2.5", "0.1", "1e2", "100", "-0", "0.10", "1e-1",
		"9007199254740993", "9007199254740992", "0.1000000000000000000001", "123456789012345678901234567890", "3", "4", "6")
}

func (g *generator) value(depth int) string {
	n := 8
	if depth <= 0 {
		n = 6
	}
	switch g.r.IntN(n) {
	case 0:
		return g.pick("true", "false", "null")
	case 1, 2:
		return g.number()
	case 3, 4, 5:
		return g.pick(`"a"`, `"bc"`, `"\u0061"`, `"é"`, `"\ud83d\ude00"`, `""`, `"x\ny"`, `"dd"`)
	case 6:
		var list []string
		for range g.r.IntN(4) {
			list = append(list, g.value(depth-1))
		}
		return "[" + strings.Join(list, " , ") + "]"
	default:
		var list []string
		for _, name := range []string{"a", "b", "\\u00e9", "z"} {
			if g.r.IntN(2) == 0 {
				list = append(list, fmt.Sprintf(` "%s" : %s`, name, g.value(depth-1)))
			}
		}
		return "{" + strings.Join(list, ",") + " }"
	}
}
