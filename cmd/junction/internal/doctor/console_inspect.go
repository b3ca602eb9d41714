package doctor

import (
	"net/http"
)

func NamesAuthorization(headers map[string]string) bool {
	for name := range headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}
