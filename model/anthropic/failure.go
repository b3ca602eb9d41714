package anthropic

import (
	"net/http"
	"regexp"

	"github.com/junction-mcp/junction/model"
	"github.com/junction-mcp/junction/model/internal/wire"
)

var tooLong = regexp.MustCompile(`(?i)prompt is too long|exceed(s|ed)? (the )?(context|model's context)|context (limit|window|length)|too many total text bytes|request_too_large`)

// causeOf is what callers branch on.
func causeOf(c wire.Complaint, status int) error {
	switch c.Code {
	case "authentication_error", "permission_error":
		return model.ErrUnauthorized
	case "rate_limit_error":
		return model.ErrRateLimited
	case "overloaded_error":
		return model.ErrOverloaded
	case "not_found_error":
		return model.ErrNoModel
	case "request_too_large":
		return model.ErrWindow
	}
	if (status == 0 || status == http.StatusBadRequest || status == http.StatusRequestEntityTooLarge) && tooLong.MatchString(c.Message) {
		return model.ErrWindow
	}
	return wire.Sentinel(status)
}
