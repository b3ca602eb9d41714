package toolsearch

import (
	"fmt"
	"strings"
	"testing"
)

func read(t Tool, remembered ...string) document {
	r := newReader(new(stems))
	d := r.read(t)
	return r.remember(&d, remembered)
}

func (d *document) in(f field) string {
	var out []string
	for _, t := range d.terms {
		if t.counts[f] > 0 {
			out = append(out, fmt.Sprint(t.stem, ":", t.counts[f]))
		}
	}
	return " " + strings.Join(out, " ") + " "
}

func TestEveryTextOfAToolGoesToItsField(t *testing.T) {
	t.Parallel()
	d := read(Tool{
		Server: "weather", Name: "get_forecast", Title: "Forecast", Description: "Rain, rain and wind",
		Schema: []byte(`{"type":"object","properties":{
			"cityName":{"type":"string","description":"Where to look"},
			"options":{"type":"object","properties":{"units":{"enum":["metric"]}},"description":7},
			"days":{"type":"array","items":{"anyOf":[{"properties":{"weekday":{}}},true]}}},
			"then":{"properties":{"gusts":{}}},"not":{"properties":{"snow":{}}},
			"$defs":{"place":{"properties":{"latitude":{}}}}}`),
	}, "umbrella needed")
	for f, want := range map[field]string{
		nameField:     "get:1 forecast:2",
		serverField:   "weather:1",
		describeField: "rain:2 wind:1",
		paramField:    "citi:1 name:1 look:1 option:1 unit:1 day:1 weekday:1 gust:1 latitud:1",
		usageField:    "umbrella:1 need:1",
	} {
		for part := range strings.FieldsSeq(want) {
			if got := d.in(f); !strings.Contains(got, " "+part+" ") {
				t.Errorf("field %d is%s, without %s", f, got, part)
			}
		}
	}
	if got := d.in(paramField); strings.Contains(got, "metric") || strings.Contains(got, "snow") || strings.Contains(got, "object") {
		t.Errorf("values of the schema are indexed: %s", got)
	}
}

func TestTheTitleThatRepeatsTheNameCountsOnce(t *testing.T) {
	t.Parallel()
	d := read(Tool{Name: "find", Title: "find"})
	if d.lengths[nameField] != 1 {
		t.Errorf("%d words", d.lengths[nameField])
	}
}

func TestHostileTextsAreBounded(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"properties":{"a":`, 100) + `{}` + strings.Repeat(`}}`, 100)
	var wide strings.Builder
	for i := range 9_000 {
		fmt.Fprintf(&wide, `"w%d":{},`, i)
	}
	for name, tool := range map[string]Tool{
		"a huge description":     {Description: strings.Repeat("word ", 1<<20)},
		"a huge word":            {Description: strings.Repeat("w", 1<<22)},
		"a huge name":            {Name: strings.Repeat("a_", 1<<20)},
		"many different words":   {Description: strings.Repeat("aB1", 1<<20)},
		"a deep schema":          {Schema: []byte(deep)},
		"a wide schema":          {Schema: []byte(`{"properties":{` + strings.TrimSuffix(wide.String(), ",") + `}}`)},
		"a huge schema":          {Schema: []byte(`{"properties":{"a":{"description":"` + strings.Repeat("x ", 1<<20) + `"}}}`)},
		"a schema cut short":     {Schema: []byte(`{"properties":{"a":`)},
		"a schema that is text":  {Schema: []byte(`"properties"`)},
		"properties of no kind":  {Schema: []byte(`{"properties":[1],"anyOf":{"a":1},"items":3}`)},
		"invalid UTF-8":          {Name: "\xff\xfe", Description: "a\xc3", Schema: []byte("{\"properties\":{\"\xff\":{}}}")},
		"a description of nulls": {Description: strings.Repeat("\x00", 1<<16)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := read(tool)
			for f, n := range d.lengths {
				if n > maxFieldWords {
					t.Errorf("field %d has %d words", f, n)
				}
			}
			for _, term := range d.terms {
				if len(term.stem) > maxWord+4 {
					t.Errorf("a term of %d bytes", len(term.stem))
				}
			}
		})
	}
}
