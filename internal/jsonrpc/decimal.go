package jsonrpc

import (
	"strconv"
	"strings"
)

// Decimal returns a normal form of a JSON number: its digits without leading and trailing zeros,
// and a power of ten, such as -12e-1. All spellings of a number have the same normal form. If the
// exponent does not fit in an int32, Decimal returns s unchanged.
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
