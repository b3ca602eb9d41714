package schema

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
)

// maxExponent is the maximum exponent of a number that is compared, and half its maximum number of
// characters. Numbers with larger exponents are beyond float64, and exact arithmetic would need too
// much memory for them.
const maxExponent = 400

// bound is the value of a keyword such as minimum. The zero value means that there is no bound.
type bound struct {
	text    string // text in the schema
	integer int64
	isInt   bool // integer contains the value
}

func (b *bound) set(raw []byte) bool {
	if kindAt(raw, 0) != kindNumber || !inRange(raw) {
		return false
	}
	b.text = string(raw)
	b.integer, b.isInt = plainInt(raw)
	return true
}

// compare compares the number raw with the bound and returns -1, 0 or +1. It returns none if there
// is no bound.
func (b *bound) compare(raw []byte, none int) int {
	if b.text == "" {
		return none
	}
	if n, ok := plainInt(raw); ok && b.isInt {
		return cmp.Compare(n, b.integer)
	}
	// Rounding preserves the order, so if the floats differ, their order is the order of the
	// numbers.
	x, _ := strconv.ParseFloat(string(raw), 64)
	y, _ := strconv.ParseFloat(b.text, 64)
	if x != y {
		return cmp.Compare(x, y)
	}
	return exact(raw).Cmp(exact([]byte(b.text)))
}

// divides reports whether raw is a multiple of the bound.
func (b *bound) divides(raw []byte) bool {
	if b.text == "" {
		return true
	}
	if n, ok := plainInt(raw); ok && b.isInt {
		return n%b.integer == 0
	}
	return new(big.Rat).Quo(exact(raw), exact([]byte(b.text))).IsInt()
}

// exact returns the exact value of a number. inRange must hold for it.
func exact(raw []byte) *big.Rat {
	n, ok := new(big.Rat).SetString(string(raw))
	if !ok {
		return new(big.Rat)
	}
	return n
}

// plainInt parses a number that is written as an integer of at most 18 digits.
func plainInt(raw []byte) (int64, bool) {
	digits := raw
	if len(raw) > 0 && raw[0] == '-' {
		digits = raw[1:]
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
	if len(digits) < len(raw) {
		n = -n
	}
	return n, true
}

// inRange reports whether the exponent and the number of digits of a number are within the limits.
func inRange(raw []byte) bool {
	if len(raw) > 2*maxExponent || bytes.IndexByte(raw, 'e') < 0 && bytes.IndexByte(raw, 'E') < 0 {
		return len(raw) <= 2*maxExponent
	}
	mark := bytes.IndexAny(raw, "eE")
	exponent, err := strconv.Atoi(string(raw[mark+1:]))
	return err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// isInteger reports whether the value of a number is an integer, as for 1, 1.0 and 1e3.
func isInteger(raw []byte) bool { return !bytes.ContainsAny(plainInteger(raw), ".eE") }

// plainInteger returns an integer with a fraction or an exponent (1.0, 1e3) as digits only. It
// returns other numbers unchanged.
func plainInteger(raw []byte) []byte {
	if !bytes.ContainsAny(raw, ".eE") || !inRange(raw) {
		return raw
	}
	if n := exact(raw); n.IsInt() {
		return n.Num().Append(nil, 10)
	}
	return raw
}
