package schema

import (
	"bytes"
	"math/big"
)

func (c *compiler) parseTypes(raw []byte) (types kind, err error) {
	list, isList := elements(raw)
	if !isList {
		list = [][]byte{raw}
	}
	for _, text := range list {
		k := kindNamed(string(unquote(text, true)))
		switch {
		case k == 0 || kindAt(text, 0) != kindString:
			return 0, c.wrong("one of string, integer, number, boolean, object, array, null", text)
		case types&k != 0:
			return 0, c.wrong("each type once", raw)
		}
		types |= k
	}
	if types == 0 {
		return 0, c.wrong("array of at least 1 item", raw)
	}
	return types, nil
}

func kindNamed(name string) kind {
	for _, t := range typeNames {
		if t.name == name {
			return t.kind
		}
	}
	return 0
}

// fewConstants is up to where a linear search beats a map.
const fewConstants = 16

func (c *compiler) constants(t *check, name string, raw []byte) error {
	list := [][]byte{raw}
	if name == "enum" {
		var ok bool
		if list, ok = elements(raw); !ok {
			return c.wrong("array", raw)
		}
	}
	values := make([]constant, 0, len(list))
	for _, text := range list {
		value, err := decodeAny(text)
		if err != nil {
			return c.wrong("JSON values within the limits", text)
		}
		values = append(values, constant{
			text:  text,
			value: value,
			plain: kindAt(text, 0) != kindString || bytes.IndexByte(text, '\\') < 0,
		})
	}
	if t.enum != nil { // both enum and const
		t.all = append(t.all, newCheck())
		t = t.all[len(t.all)-1]
	}
	t.enum = values
	t.indexConstants()
	return nil
}

// indexConstants prepares the search of many constants.
func (c *check) indexConstants() {
	c.enumWork, c.plain = 0, true
	for _, e := range c.enum {
		c.plain = c.plain && e.plain
		c.enumWork += 1 + len(e.text)>>6
	}
	if len(c.enum) <= fewConstants {
		return
	}
	c.enumTexts = make(map[string]bool, len(c.enum))
	for _, e := range c.enum {
		c.enumTexts[string(e.text)] = true
	}
}

func (c *compiler) bound(t *check, name string, raw []byte) error {
	if c.draft == draft4 && kindAt(raw, 0) == kindBoolean {
		t.strictMin = t.strictMin || name == "exclusiveMinimum" && string(raw) == "true"
		t.strictMax = t.strictMax || name == "exclusiveMaximum" && string(raw) == "true"
		return nil
	}
	b, ok := newBound(raw)
	if !ok {
		return c.wrong("number", raw)
	}
	switch name {
	case "minimum":
		t.minimum = b
	case "maximum":
		t.maximum = b
	case "exclusiveMinimum":
		t.exclusiveMin = b
	case "exclusiveMaximum":
		t.exclusiveMax = b
	case "multipleOf":
		exact, ok := new(big.Rat).SetString(b.text)
		if !ok || exact.Sign() <= 0 {
			return c.wrong("number greater than 0", raw)
		}
		t.multiple, t.multipleOf = b, exact
	}
	return nil
}

func (c *compiler) count(t *check, name string, raw []byte) error {
	n, ok := plainInt(plainInteger(raw))
	if !ok || n < 0 {
		if kindAt(raw, 0) == kindNumber {
			return c.wrong("number at least 0", raw)
		}
		return c.wrong("integer", raw)
	}
	count := int(min(n, 1<<31-1))
	switch name {
	case "minLength":
		t.minLength = count
	case "maxLength":
		t.maxLength = count
	case "minItems":
		t.minItems = count
	case "maxItems":
		t.maxItems = count
	case "minProperties":
		t.minMembers = count
	case "maxProperties":
		t.maxMembers = count
	case "minContains":
		t.minContains = count
	case "maxContains":
		t.maxContains = count
	}
	return nil
}

func (c *compiler) pattern(t *check, raw []byte) error {
	if kindAt(raw, 0) != kindString {
		return c.wrong("string", raw)
	}
	if p, err := compilePattern(string(unquote(raw, true))); err == nil {
		t.pattern = p
	}
	return nil
}
