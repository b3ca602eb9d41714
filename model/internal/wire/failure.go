package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/plaintext"
	"github.com/junction-mcp/junction/model"
)

// maxErrorText is how many bytes of a provider's error are reported.
const maxErrorText = 2 << 10

// Sentinel returns which of model's errors a status stands for; nil for those that
// need a look at the answer itself.
func Sentinel(status int) error {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.ErrUnauthorized
	case http.StatusTooManyRequests:
		return model.ErrRateLimited
	case http.StatusServiceUnavailable, 529:
		return model.ErrOverloaded
	}
	return nil
}

// RetryAfter returns how long the headers of an answer ask to wait, or 0. It knows
// seconds, dates, and the milliseconds that some providers send.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds > 0 && seconds < 1e6 {
			return time.Duration(seconds * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Text returns a provider's text as it may be reported: bounded, and without any of
// the secrets, which some servers repeat in what they complain about.
func Text(text string, secrets ...string) string {
	for _, secret := range secrets {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "[key]")
		}
	}
	return plaintext.Short(strings.ToValidUTF8(strings.TrimSpace(text), "\ufffd"), maxErrorText)
}
