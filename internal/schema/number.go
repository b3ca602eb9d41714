package schema

import (
	"bytes"
	"cmp"
	"math/big"
	"strconv"
)

// maxExponent limits the exponent and the digits of a number that is compared. Beyond it no float64
// exists, and exact arithmetic would take too much memory.
const maxExponent = 400

// bound is the value of a keyword such as minimum; the zero value is none.
type bound struct {
	text    string // as written in the schema
	integer int64
	isInt   bool // integer holds the value
}

func (b *bound) set(raw []byte) bool {
	if kindAt(raw, 0) != kindNumber || !inRange(raw) {
		return false
	}
	b.text = string(raw)
	b.integer, b.isInt = plainInt(raw)
	return true
}

// compare compares the number raw with the bound and returns -1, 0 or +1, or none without a bound.
func (b *bound) compare(raw []byte, none int) int {
	if b.text == "" {
		return none
	}
	if n, ok := plainInt(raw); ok && b.isInt {
		return cmp.Compare(n, b.integer)
	}
	// Rounding keeps the order, so different floats decide.
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

// exact returns the value of a number in range.
func exact(raw []byte) *big.Rat {
	n, ok := new(big.Rat).SetString(string(raw))
	if !ok {
		return new(big.Rat)
	}
	return n
}

// plainInt parses a number written as an integer of at most 18 digits.
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

// inRange reports whether a number has a reasonable exponent and number of digits.
func inRange(raw []byte) bool {
	if len(raw) > 2*maxExponent || bytes.IndexByte(raw, 'e') < 0 && bytes.IndexByte(raw, 'E') < 0 {
		return len(raw) <= 2*maxExponent
	}
	mark := bytes.IndexAny(raw, "eE")
	exponent, err := strconv.Atoi(string(raw[mark+1:]))
	return err == nil && -maxExponent <= exponent && exponent <= maxExponent
}

// isInteger reports whether a number has no fraction, such as 1, 1.0 and 1e3.
func isInteger(raw []byte) bool { return !bytes.ContainsAny(plainInteger(raw), ".eE") }

// plainInteger returns an integer with a fraction or an exponent (1.0, 1e3) in digits only, and
// other numbers unchanged.
func plainInteger(raw []byte) []byte {
	if !bytes.ContainsAny(raw, ".eE") || !inRange(raw) {
		return raw
	}
	if n := exact(raw); n.IsInt() {
		return n.Num().Append(nil, 10)
	}
	return raw
}
