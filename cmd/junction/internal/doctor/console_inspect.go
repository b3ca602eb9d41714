package doctor

import (
	"net/http"
)

// HasAuthorization reports whether headers include Authorization.
func HasAuthorization(headers map[string]string) bool {
	for name := range headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}
