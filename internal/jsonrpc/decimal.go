package jsonrpc

import (
	"strconv"
	"strings"
)

// Decimal returns a JSON number as digits without outer zeros and a power of ten, as -12e-1, which
// is the same for all its spellings. It returns a number unchanged if no int32 holds its exponent;
// such numbers are equal only if their spellings are.
func Decimal(s string) string {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	power := 0
	if exponent != "" {
		n, err := strconv.ParseInt(exponent, 10, 32)
		if err != nil {
			return s
		}
		power = int(n)
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	power -= len(fraction)
	digits = strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return "0"
	}
	short := strings.TrimRight(digits, "0")
	power += len(digits) - len(short)
	if negative {
		short = "-" + short
	}
	if power == 0 {
		return short
	}
	return short + "e" + strconv.Itoa(power)
}
