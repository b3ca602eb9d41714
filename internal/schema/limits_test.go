package schema

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/junction-mcp/junction/internal/threadtime"
)

// Without limits each of these would run very long or end the process.
func TestNoSchemaMakesValidationEndless(t *testing.T) {
	var doubling []string
	for i := range 25 {
		doubling = append(doubling, fmt.Sprintf(`"d%d":{"%%s":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	chain := `{"$ref":"#/$defs/d0","$defs":{` + strings.Join(doubling, ",") + `,"d25":{"type":"string"}}%s}`
	nested := strings.Repeat(`{"a":`, 100) + `1` + strings.Repeat(`}`, 100)
	for _, schema := range []string{
		strings.ReplaceAll(strings.TrimSuffix(chain, "%s}"), "%s", "anyOf") + `}`,
		strings.ReplaceAll(strings.TrimSuffix(chain, "%s}"), "%s", "anyOf") + `,"multipleOf":1}`,
		`{"patternProperties":{"a":{"$ref":"#"},"a+":{"$ref":"#"}}}`,
		`{"properties":{"a":{"$ref":"#"}},"patternProperties":{"a+":{"$ref":"#"}}}`,
		`{"dependentSchemas":{"a":{"properties":{"a":{"$ref":"#"}}}},"properties":{"a":{"$ref":"#"}}}`,
		`{"if":{"properties":{"a":{"$ref":"#"}}},"then":{"properties":{"a":{"$ref":"#"}}}}`,
		`{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}},"patternProperties":{"a+":{"$dynamicRef":"#n"}}}`,
		`{"properties":{"a":{"$ref":"#"}},"patternProperties":{"a+":{"$ref":"#"}},"unevaluatedProperties":false}`,
		`{"anyOf":[{"properties":{"a":{"$ref":"#"}},"type":"object"},{"properties":{"a":{"$ref":"#"}},"type":"object"}]}`,
	} {
		v, err := Compile(json.RawMessage(schema))
		if err != nil {
			t.Errorf("%.60s: %v", schema, err)
			continue
		}
		spent := threadtime.Of(func() { err = v.Validate([]byte(nested)) })
		if text(err) != text(tooMuchWork()) {
			t.Errorf("%.60s: %v", schema, err)
		}
		if spent > 2*time.Second*threadtime.Slowdown {
			t.Errorf("%.60s took %v", schema, spent)
		}
	}
}

func TestValuesBeyondTheLimitsAreRefused(t *testing.T) {
	deep := strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200)
	for _, schema := range []string{`{"items":{"$ref":"#"}}`, `{"items":{"$ref":"#"},"uniqueItems":true}`, `{"items":{"$ref":"#"},"unevaluatedItems":true}`} {
		v, err := Compile(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := text(v.Validate([]byte(deep))); got != "expected at most 128 levels of nesting, got more" {
			t.Errorf("%s: %s", schema, got)
		}
		if got := text(v.Validate([]byte(`[1e99999999]`))); got != "[0]: expected a number within the range of float64, got 1e99999999" {
			t.Errorf("%s: %s", schema, got)
		}
	}
}

func TestOneValidatorServesManyGoroutines(t *testing.T) {
	slow, err := Compile(json.RawMessage(`{"uniqueItems":true,"allOf":[{"items":{"type":"integer"}}],"unevaluatedItems":false}`))
	if err != nil {
		t.Fatal(err)
	}
	fast := validatorFor[forecastIn](t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 200 {
				if err := slow.Validate([]byte(`[1,2,3]`)); err != nil {
					t.Error(err)
				}
				if err := slow.Validate([]byte(`[1,1]`)); err == nil {
					t.Error("a duplicate passed")
				}
				if got := text(fast.Validate([]byte(`{"city":1}`))); got != "city: expected string of at least 1 character, got 1" {
					t.Error(got)
				}
			}
		})
	}
	group.Wait()
}

// The cost of a hostile value grows with its size, not with its size times the size of the schema.
func TestLargeValuesAreRefusedInTime(t *testing.T) {
	var alternatives, names []string
	for i := range 1000 {
		alternatives = append(alternatives, `{"type":"null"}`)
		names = append(names, fmt.Sprintf(`"name%d":{}`, i))
	}
	list := `[` + strings.Repeat(`1,`, 200_000) + `1]`
	var unknown strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&unknown, `"unknown%d":1,`, i)
	}
	for _, c := range []struct{ schema, value string }{
		{`{"items":{"anyOf":[` + strings.Join(alternatives, ",") + `]}}`, list},
		{`{"uniqueItems":true,"items":{"anyOf":[` + strings.Join(alternatives, ",") + `]}}`, list},
		{`{"items":{"type":"null"}}`, list},
		{`{"pattern":"^(?:a?){900}$"}`, `"` + strings.Repeat("a", 1<<20) + `"`},
		{`{"pattern":"^(?:a?){900}$","multipleOf":1}`, `"` + strings.Repeat("a", 1<<20) + `"`},
		{`{"items":{"enum":[{"a":1},` + strings.Join(alternatives[1:], ",") + `]}}`, `[` + strings.Repeat(`{"a":1.0},`, 50_000) + `1]`},
		{`{"uniqueItems":true,"items":{"type":"null"}}`, list},
		{`{"uniqueItems":true}`, list},
		{`{"contains":{"anyOf":[` + strings.Join(alternatives, ",") + `]}}`, list},
		{`{"uniqueItems":true,"unevaluatedItems":false}`, list},
		{`{"items":{"anyOf":[` + strings.Join(alternatives, ",") + `]},"unevaluatedItems":false}`, list},
		{`{"pattern":"^(?:a?){900}$","unevaluatedItems":false}`, `"` + strings.Repeat("a", 1<<20) + `"`},
		{`{"properties":{` + strings.Join(names[:200], ",") + `},"additionalProperties":false}`, `{` + unknown.String() + `"x":1}`},
		{`{"properties":{` + strings.Join(names, ",") + `},"additionalProperties":false}`, `{` + unknown.String() + `"x":1}`},
	} {
		v, err := Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		spent := threadtime.Of(func() { err = v.Validate([]byte(c.value)) })
		if err == nil {
			t.Errorf("%.60s takes the value", c.schema)
		}
		if spent > 10*time.Second {
			t.Errorf("%.60s took %v", c.schema, spent)
		} else {
			t.Logf("%.60s took %v", c.schema, spent)
		}
	}
}

// The library repeats and stores the path to each schema, and reads a text once for each enclosing
// schema.
func TestHostileSchemasAreCompiledInTime(t *testing.T) {
	var refs, ids strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&refs, `"d%d":{"$ref":"#/$defs/d%d"},`, i, i/2+2000)
		fmt.Fprintf(&refs, `"d%d":{},`, i+2000)
		fmt.Fprintf(&ids, `{"$id":"%d","$ref":"#/$defs/x"},`, i)
	}
	for _, schema := range []string{
		strings.Repeat(`{"not":`, 60) + `{"description":"` + strings.Repeat("x", 250_000) + `"}` + strings.Repeat(`}`, 60),
		`{"allOf":[` + strings.Repeat(`{"not":{}},`, 2000) + `{}]}`,
		`{"not":{},"$defs":{` + refs.String() + `"x":{}}}`,
		`{"$id":"http://x/` + strings.Repeat("x", 2000) + `","allOf":[` + ids.String() + `{}],"$defs":{"x":{}}}`,
		`{"not":{},"properties":{"` + strings.Repeat("x", 2000) + `":{"allOf":[` + strings.Repeat(`{},`, 4000) + `{}]}}}`,
		`{"not":{},"properties":{"` + strings.Repeat("x", 200_000) + `":{"allOf":[` + strings.Repeat(`{},`, 4000) + `{}]}}}`,
		`{"anyOf":[` + strings.Repeat(`{"pattern":"(a{31}){31}"},`, 2000) + `{}]}`,
		`{"$defs":{` + refs.String() + `"x":{}},"properties":{"a":{"$ref":"#/$defs/d0"}}}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		spent := threadtime.Of(func() { _, _ = Compile(json.RawMessage(schema)) })
		runtime.ReadMemStats(&after)
		if spent > 3*time.Second*threadtime.Slowdown {
			t.Errorf("%.60s took %v", schema, spent)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 256<<20 {
			t.Errorf("%.60s allocated %d MiB", schema, took>>20)
		}
		t.Logf("%.60s took %v, %d MiB", schema, spent, (after.TotalAlloc-before.TotalAlloc)>>20)
	}
}

// The library's work on a value that passes the estimate is bounded.
func TestTheLibraryIsNotAskedForMoreThanItsBudget(t *testing.T) {
	nulls := strings.TrimSuffix(strings.Repeat(`{"type":"null"},`, 100), ",")
	object := `{"a":1,"b":"xx"},`
	for _, c := range []struct{ schema, value string }{
		{`{"items":{"anyOf":[` + nulls + `,{}]}}`, `[` + strings.Repeat(`1,`, 400) + `1]`},
		{`{"items":{"oneOf":[` + nulls + `]}}`, `[` + strings.Repeat(object, 400) + `1]`},
		{`{"items":{"not":{"enum":[` + strings.TrimSuffix(strings.Repeat(object, 200), ",") + `]}}}`, `[` + strings.Repeat(`{"a":1,"b":"xy"},`, 300) + `1]`},
		{`{"anyOf":[` + nulls + `],"properties":{"a":{"$ref":"#"}}}`, strings.Repeat(`{"a":`, 60) + `1` + strings.Repeat(`}`, 60)},
	} {
		v, err := Compile(json.RawMessage(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		spent := threadtime.Of(func() { err = v.Validate([]byte(c.value)) })
		if spent > 2*time.Second*threadtime.Slowdown {
			t.Errorf("%.60s took %v: %v", c.schema, spent, err)
		}
	}
}
