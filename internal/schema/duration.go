package schema

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// In JSON, a time.Duration is a string. It is encoded in ISO 8601 (PT1H30M), the format that
// "format":"duration" requires. It is decoded from ISO 8601, including weeks and days of 24 hours,
// or from Go's notation (1h30m). Years and months are rejected, as they have no fixed length.

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

// formatDuration returns Go's notation in capitals. It is the same as ISO 8601, except for units
// below a second, which it converts.
func formatDuration(d time.Duration) string {
	text := d.String()
	if -time.Second < d && d < time.Second {
		text = strconv.FormatFloat(d.Seconds(), 'f', -1, 64) + "s"
	}
	text = strings.Replace(strings.Replace(text, "m0s", "m", 1), "h0m", "h", 1)
	digits, negative := strings.CutPrefix(strings.ToUpper(text), "-")
	if negative {
		return "-PT" + digits
	}
	return "PT" + digits
}

// isoDuration has groups for the sign, the weeks, the days, and the hours to seconds.
var isoDuration = regexp.MustCompile(`^(-?)P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T((?:\d+H)?(?:\d+M)?(?:\d+(?:\.\d+)?S)?))?$`)

func parseDuration(s string) (time.Duration, error) {
	text := s
	if parts := isoDuration.FindStringSubmatch(s); parts != nil && !strings.HasSuffix(s, "T") {
		weeks, _ := strconv.Atoi(parts[2])
		days, _ := strconv.Atoi(parts[3])
		text = strings.ToLower(parts[4])
		if hours := weeks*7*24 + days*24; hours > 0 || parts[2]+parts[3] != "" {
			text = strconv.Itoa(hours) + "h" + text
		}
		text = parts[1] + text
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration such as PT1H30M or 90s", clip(s))
	}
	return d, nil
}
