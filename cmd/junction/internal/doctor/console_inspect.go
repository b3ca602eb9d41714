package doctor

import (
	"net/http"
)

// NamesAuthorization reports whether headers include Authorization.
func NamesAuthorization(headers map[string]string) bool {
	for name := range headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}
