package schema

import (
	"bytes"
	"math/big"
	"strconv"
)

// maxExponent bounds the exponent and the digits of a number that is compared:
// beyond it no float64 exists, and exact arithmetic would cost memory.
const maxExponent = 400

// bound is one limit of a number keyword.
type bound struct {
	text    string // as written in the schema
	float   float64
	integer int64
	isInt   bool // integer holds the exact value
}

func newBound(raw []byte) (*bound, bool) {
	if kindAt(raw, 0) != kindNumber || !inRange(raw) {
		return nil, false
	}
	b := &bound{text: string(raw)}
	b.integer, b.isInt = plainInt(raw)
	f, err := strconv.ParseFloat(b.text, 64)
	b.float = f
	return b, err == nil
}

// plainInt reads a number written as an integer of at most 18 digits.
func plainInt(raw []byte) (int64, bool) {
	digits, negative := raw, false
	if len(raw) > 0 && raw[0] == '-' {
		digits, negative = raw[1:], true
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// compare tells how the number raw stands to the bound: -1, 0 or +1, exactly.
func (b *bound) compare(raw []byte) int {
	if n, ok := plainInt(raw); ok && b.isInt {
		switch {
		case n < b.integer:
			return -1
		case n > b.integer:
			return 1
		}
		return 0
	}
	// Rounding keeps order, so two floats that differ tell the truth.
	f, _ := strconv.ParseFloat(string(raw), 64)
	switch {
	case f < b.float:
		return -1
	case f > b.float:
		return 1
	}
	return compareExact(raw, []byte(b.text))
}

func compareExact(x, y []byte) int {
	if bytes.Equal(x, y) {
		return 0
	}
	p, ok := new(big.Rat).SetString(string(x))
	q, also := new(big.Rat).SetString(string(y))
	if !ok || !also {
		return bytes.Compare(x, y)
	}
	return p.Cmp(q)
}

// inRange refuses numbers no float64 comes near, and endless digits.
func inRange(raw []byte) bool {
	if len(raw) <= 18 && bytes.IndexByte(raw, 'e') < 0 && bytes.IndexByte(raw, 'E') < 0 {
		return true
	}
	if len(raw) > 2*maxExponent {
		return false
	}
	mark := bytes.IndexAny(raw, "eE")
	if mark < 0 {
		return true
	}
	exponent, err := strconv.Atoi(string(raw[mark+1:]))
	return err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// decimal is a number split at its marks: 12.50e1 has digits 1250, of which
// point are before the decimal point once the exponent is applied.
func decimal(raw []byte) (negative bool, digits []byte, point int) {
	if byteAt(raw, 0) == '-' {
		negative, raw = true, raw[1:]
	}
	exponent := 0
	if mark := bytes.IndexAny(raw, "eE"); mark >= 0 {
		exponent, _ = strconv.Atoi(string(raw[mark+1:]))
		raw = raw[:mark]
	}
	point = len(raw)
	digits = raw
	if dot := bytes.IndexByte(raw, '.'); dot >= 0 {
		point = dot
		digits = append(append(make([]byte, 0, len(raw)), raw[:dot]...), raw[dot+1:]...)
	}
	return negative, digits, point + exponent
}

// isInteger tells whether a number has no fraction: 1, 1.0 and 1e3 have none.
func isInteger(raw []byte) bool {
	if !bytes.ContainsAny(raw, ".eE") {
		return true
	}
	if !inRange(raw) {
		return false
	}
	_, digits, point := decimal(raw)
	fraction := digits[min(max(point, 0), len(digits)):]
	if point < 0 {
		fraction = digits
	}
	return len(bytes.TrimRight(fraction, "0")) == 0
}

// plainInteger writes an integer that has a fraction or an exponent (1.0,
// 1e3) with digits only; anything else it returns as it is.
func plainInteger(raw []byte) []byte {
	if !bytes.ContainsAny(raw, ".eE") || !isInteger(raw) {
		return raw
	}
	negative, digits, point := decimal(raw)
	for len(digits) < point {
		digits = append(digits[:len(digits):len(digits)], '0')
	}
	digits = bytes.TrimLeft(digits[:max(point, 0)], "0")
	if len(digits) == 0 {
		return []byte("0")
	}
	if negative {
		return append([]byte{'-'}, digits...)
	}
	return digits
}
