package schema

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A time.Duration is a string in JSON. It is written as ISO 8601 has it
// (PT1H30M), which is what "format":"duration" promises; it is read from that,
// with weeks and days of 24 hours, or from Go's own notation (1h30m). Years
// and months have no fixed length and are refused.

func encodeDuration(e *jsontext.Encoder, d time.Duration) error {
	return e.WriteToken(jsontext.String(formatDuration(d)))
}

func decodeDuration(dec *jsontext.Decoder, d *time.Duration) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() != '"' {
		return fmt.Errorf("expected a duration such as PT1H30M or 90s, got %s", clip(token.String()))
	}
	*d, err = parseDuration(token.String())
	return err
}

func formatDuration(d time.Duration) string {
	if d == 0 {
		return "PT0S"
	}
	sign, left := "", uint64(d)
	if d < 0 {
		sign, left = "-", -left
	}
	text := sign + "PT"
	if h := left / uint64(time.Hour); h > 0 {
		text += strconv.FormatUint(h, 10) + "H"
		left %= uint64(time.Hour)
	}
	if m := left / uint64(time.Minute); m > 0 {
		text += strconv.FormatUint(m, 10) + "M"
		left %= uint64(time.Minute)
	}
	if left == 0 {
		return text
	}
	seconds, nanos := left/uint64(time.Second), left%uint64(time.Second)
	text += strconv.FormatUint(seconds, 10)
	if nanos > 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%09d", nanos), "0")
	}
	return text + "S"
}

func parseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration such as PT1H30M or 90s", clip(s))
	body, negative := strings.CutPrefix(s, "-")
	body, iso := strings.CutPrefix(body, "P")
	if !iso {
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, bad
		}
		return d, nil
	}
	date, clock, hasClock := strings.Cut(body, "T")
	if body == "" || hasClock && clock == "" {
		return 0, bad
	}
	text, rest := daysAsHours(date)
	if rest != "" || strings.Trim(clock, "0123456789.HMS") != "" {
		return 0, bad
	}
	if negative {
		text = "-" + text
	}
	// Go reads units in any order and more than once; ISO 8601 does not, but
	// no other reading of such a text exists.
	d, err := time.ParseDuration(text + strings.ToLower(clock))
	if err != nil {
		return 0, bad
	}
	return d, nil
}

// daysAsHours writes the weeks and days of a duration as hours; what it
// does not understand it returns as rest.
func daysAsHours(date string) (text, rest string) {
	for _, unit := range []struct {
		mark  string
		hours int
	}{{"W", 7 * 24}, {"D", 24}} {
		digits, after, ok := strings.Cut(date, unit.mark)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 20)
		if err != nil {
			return "", date
		}
		text += strconv.FormatUint(n*uint64(unit.hours), 10) + "h"
		date = after
	}
	return text, date
}
