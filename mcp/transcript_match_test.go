package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// abbreviations replace text that nearly every message repeats.
var abbreviations = strings.NewReplacer(
	// The metadata of a modern request, of a client with all capabilities and of one with none.
	"@meta", `"_meta":{@able}`,
	"@bare", `"_meta":{@unable}`,
	"@able", `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{}}`,
	"@unable", `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`,
	// The metadata that a modern client of this library sends with a request.
	"@client", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":"$object","io.modelcontextprotocol/clientInfo":"$object"}`,
	// The metadata of a modern result.
	"@stamp", `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"fixture","version":"1"}}`,
	"@mcp", "io.modelcontextprotocol",
	"@changes", "io.github.junction-mcp/changes",
)

var (
	repeated = regexp.MustCompile(`(?s)%(\d+)\*(.*?)%`)
	named    = regexp.MustCompile(`"\$([a-z][a-zA-Z0-9]*)"`)
)

// expand replaces abbreviations and replaces %3*ab% by ababab. If vars is not nil, it replaces
// "$name" by the captured value of that name.
func expand(text string, vars map[string]any) string {
	for old := ""; old != text; {
		old, text = text, abbreviations.Replace(text)
	}
	text = repeated.ReplaceAllStringFunc(text, func(s string) string {
		parts := repeated.FindStringSubmatch(s)
		n, _ := strconv.Atoi(parts[1])
		return strings.Repeat(parts[2], n)
	})
	if vars == nil {
		return text
	}
	return named.ReplaceAllStringFunc(text, func(s string) string {
		value, known := vars[s[2:len(s)-1]]
		if !known {
			return s
		}
		data, _ := json.Marshal(value)
		return string(data)
	})
}

func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // 9007199254740993 is not 9007199254740992
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// matchText compares a message with the expected one and stores captured values in vars.
func matchText(want, got string, vars map[string]any) error {
	w, err := decode(want)
	if err != nil {
		return fmt.Errorf("the transcript: %w in %s", err, want)
	}
	g, err := decode(got)
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	captured := map[string]any{}
	if err := match(w, g, vars, captured, ""); err != nil {
		return err
	}
	for name, value := range captured {
		vars[name] = value
	}
	return nil
}

// match compares two values. A string that begins with $ is a pattern: "$any" matches anything;
// "$string", "$number", "$bool", "$object" and "$array" match a value of that type; "$~text"
// matches a string that contains the text. Any other name captures a value, which must be the same
// wherever the name occurs. "$absent" as the value of a member means that it must not be there. A
// member "$more" allows other members.
func match(want, got any, vars, captured map[string]any, at string) error {
	switch w := want.(type) {
	case string:
		if strings.HasPrefix(w, "$") {
			return matchNamed(w[1:], got, vars, captured, at)
		}
	case map[string]any:
		return matchObject(w, got, vars, captured, at)
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%s: expected an array of %d, got %v", at, len(w), got)
		}
		for i := range w {
			if err := match(w[i], g[i], vars, captured, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
		return nil
	}
	if want != got {
		return fmt.Errorf("%s: expected %v, got %v", at, want, got)
	}
	return nil
}

func matchObject(want map[string]any, got any, vars, captured map[string]any, at string) error {
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: expected an object, got %v", at, got)
	}
	_, more := want["$more"]
	for name := range g {
		if _, expected := want[name]; !expected && !more {
			return fmt.Errorf("%s: unexpected member %q: %v", at, name, g[name])
		}
	}
	names := make([]string, 0, len(want))
	for name := range want {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		w, value := want[name], g[name]
		_, there := g[name]
		switch {
		case name == "$more":
		case w == "$absent" && there:
			return fmt.Errorf("%s.%s: expected to be absent, got %v", at, name, value)
		case w == "$absent":
		case !there:
			return fmt.Errorf("%s: member %q is missing", at, name)
		default:
			if err := match(w, value, vars, captured, at+"."+name); err != nil {
				return err
			}
		}
	}
	return nil
}

func matchNamed(name string, got any, vars, captured map[string]any, at string) error {
	ok := true
	switch name {
	case "any":
	case "string":
		_, ok = got.(string)
	case "number":
		_, ok = got.(json.Number)
	case "bool":
		_, ok = got.(bool)
	case "object":
		_, ok = got.(map[string]any)
	case "array":
		_, ok = got.([]any)
	default:
		if text, contains := strings.CutPrefix(name, "~"); contains {
			s, isString := got.(string)
			ok = isString && strings.Contains(s, text)
			break
		}
		known, seen := vars[name]
		if now, again := captured[name]; again {
			known, seen = now, true
		}
		if !seen {
			captured[name] = got
			return nil
		}
		return match(known, got, nil, nil, at)
	}
	if !ok {
		return fmt.Errorf("%s: expected $%s, got %v", at, name, got)
	}
	return nil
}

func TestMatchComparesByStructure(t *testing.T) {
	for name, c := range map[string]struct {
		want, got string
		matches   bool
	}{
		"order does not count":         {`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		"an unexpected member counts":  {`{"a":1}`, `{"a":1,"b":2}`, false},
		"unless more may be there":     {`{"a":1,"$more":1}`, `{"a":1,"b":2}`, true},
		"a missing member counts":      {`{"a":"$any"}`, `{}`, false},
		"absent is absent":             {`{"a":"$absent"}`, `{}`, true},
		"absent is not there":          {`{"a":"$absent"}`, `{"a":null}`, false},
		"a type":                       {`["$string","$number"]`, `["x",1.5]`, true},
		"another type":                 {`["$string"]`, `[1]`, false},
		"a captured value is the same": {`["$x","$x"]`, `[{"a":1},{"a":1}]`, true},
		"a captured value is another":  {`["$x","$x"]`, `[1,"1"]`, false},
		"large integers are exact":     {`9007199254740993`, `9007199254740992`, false},
		"text within":                  {`"$~bc"`, `"abcd"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := matchText(c.want, c.got, map[string]any{}); (err == nil) != c.matches {
				t.Errorf("%v", err)
			}
		})
	}
}
