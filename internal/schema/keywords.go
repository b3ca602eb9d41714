package schema

import "bytes"

func parseTypes(raw []byte) (types kind, err error) {
	list, isList := elements(raw)
	if !isList {
		list = [][]byte{raw}
	}
	for _, text := range list {
		k := kindNamed(string(unquote(text, true)))
		if k == 0 || kindAt(text, 0) != kindString || types&k != 0 {
			return 0, errBeyondSubset
		}
		types |= k
	}
	if types == 0 {
		return 0, errBeyondSubset
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

// maxConstants is how long a list the fast validator searches.
const maxConstants = 1000

func (c *check) addConstants(name string, raw []byte) error {
	list := [][]byte{raw}
	if name == "enum" {
		var ok bool
		if list, ok = elements(raw); !ok || len(list) == 0 {
			return errBeyondSubset
		}
	}
	if c.enum != nil || len(list) > maxConstants {
		return errBeyondSubset
	}
	for _, text := range list {
		if kindAt(text, 0) == kindNumber && !inRange(text) {
			return errBeyondSubset
		}
		value, err := decodeAny(text)
		if err != nil {
			return errBeyondSubset
		}
		c.enum = append(c.enum, constant{
			text:  text,
			value: value,
			plain: kindAt(text, 0) != kindString || bytes.IndexByte(text, '\\') < 0,
		})
	}
	return nil
}

func (c *check) addBound(name string, raw []byte) error {
	b, ok := newBound(raw)
	if !ok {
		return errBeyondSubset
	}
	switch name {
	case "minimum":
		c.minimum = b
	case "maximum":
		c.maximum = b
	case "exclusiveMinimum":
		c.exclusiveMin = b
	case "exclusiveMaximum":
		c.exclusiveMax = b
	}
	return nil
}

func (c *check) addCount(name string, raw []byte) error {
	n, ok := plainInt(raw)
	if !ok || n < 0 {
		return errBeyondSubset
	}
	count := int(min(n, 1<<31-1))
	switch name {
	case "minLength":
		c.minLength = count
	case "maxLength":
		c.maxLength = count
	case "minItems":
		c.minItems = count
	case "maxItems":
		c.maxItems = count
	case "minProperties":
		c.minMembers = count
	case "maxProperties":
		c.maxMembers = count
	}
	return nil
}

func (c *check) addPattern(raw []byte) error {
	if kindAt(raw, 0) != kindString {
		return errBeyondSubset
	}
	text := string(unquote(raw, true))
	if re, err := compilePattern(text); err == nil {
		c.pattern = re
	}
	return nil
}
