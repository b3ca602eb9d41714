package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// divides tells whether a number is a multiple of what multipleOf says.
func (c *check) divides(raw []byte) bool {
	if n, ok := plainInt(raw); ok && c.multiple.isInt {
		return n%c.multiple.integer == 0
	}
	n, ok := new(big.Rat).SetString(string(raw))
	return ok && n.Quo(n, c.multipleOf).IsInt()
}

// elements checks what concerns the elements of w.raw[start:end] together.
func (w *walker) elements(c *check, start, end, depth int) bool {
	ok := true
	if c.unique && !w.unique(w.raw[start:end]) {
		ok = w.fail("array whose items all differ", w.raw[start:end])
	}
	if c.contains == nil {
		return ok
	}
	n := 0
	for i := start + 1; ; {
		i = skipSpace(w.raw, i)
		if kindAt(w.raw, i) == 0 || w.work < 0 {
			break
		}
		if w.fits(c.contains, i, depth+1) {
			n++
		}
		if i = skipSpace(w.raw, skipValue(w.raw, i)); byteAt(w.raw, i) == ',' {
			i++
		}
	}
	if n < c.minContains || c.maxContains >= 0 && n > c.maxContains {
		ok = w.fail("array with"+strings.TrimPrefix(countLimits(c.minContains, c.maxContains, "item"), " of")+
			" that fit: "+c.contains.describe(), w.raw[start:end])
	}
	return ok
}

// unique tells whether all elements of an array differ.
func (w *walker) unique(raw []byte) bool {
	if w.work -= len(raw) >> 3; w.work < 0 {
		w.refuseLimits(0, 0)
		return false
	}
	list, _ := elements(raw)
	seen := make(map[string]bool, len(list))
	for _, text := range list {
		value, err := decodeAny(text)
		if err != nil {
			return true // told where the element was checked
		}
		key := string(appendCanonical(nil, value))
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// appendCanonical writes a decoded value so that equal ones, and only they,
// have the same text.
func appendCanonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return strconv.AppendQuote(dst, v)
	case json.Number:
		return appendNumber(dst, []byte(v))
	case []any:
		dst = append(dst, '[')
		for _, e := range v {
			dst = append(appendCanonical(dst, e), ',')
		}
		return append(dst, ']')
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		dst = append(dst, '{')
		for _, name := range names {
			dst = append(strconv.AppendQuote(dst, name), ':')
			dst = append(appendCanonical(dst, v[name]), ',')
		}
		return append(dst, '}')
	}
	return dst
}

// appendNumber writes a number as its digits without outer zeros, and where
// the decimal point stands: 1, 1.0 and 10e-1 are all 1p1.
func appendNumber(dst, raw []byte) []byte {
	negative, digits, point := decimal(raw)
	for len(digits) > 0 && digits[0] == '0' {
		digits = digits[1:]
		point--
	}
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	if len(digits) == 0 {
		return append(dst, '0')
	}
	if negative {
		dst = append(dst, '-')
	}
	dst = append(append(dst, digits...), 'p')
	return strconv.AppendInt(dst, int64(point), 10)
}

// name checks the name of a member, whose text is at w.raw[i:].
func (w *walker) name(c *check, name []byte, i, depth int) bool {
	if w.fits(c.names, i, depth+1) {
		return true
	}
	if w.report != nil {
		w.enter(step{name: string(name), index: -1})
		w.tell("a name that is "+c.names.describe(), clip(strconv.Quote(string(name))))
		w.leave()
	}
	return false
}

// patterns checks the value at w.raw[i:] of a member by patternProperties.
func (w *walker) patterns(c *check, name []byte, i, depth int) (matched, ok bool) {
	ok = true
	for _, p := range c.patterns {
		if !w.matches(p.pattern, name) {
			continue
		}
		matched = true
		if _, fits := w.value(p.check, i, depth+1); !fits {
			if ok = false; w.report == nil {
				break
			}
		}
	}
	return matched, ok
}

// dependents checks what the presence of members asks of the object.
func (w *walker) dependents(c *check, start, depth int, seen *memberSet) bool {
	ok := true
	for _, d := range c.dependents {
		if !seen.has(d.at) {
			continue
		}
		if !seen.holds(&d.required) {
			ok = w.missing(c, &d.required, seen)
		}
		if d.check != nil {
			if _, fits := w.value(d.check, start, depth); !fits {
				ok = false
			}
		}
		if !ok && w.report == nil {
			break
		}
	}
	return ok
}
