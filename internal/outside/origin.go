package outside

import (
	"net/url"
	"strings"
)

// SameOrigin reports whether two URLs have the same origin. A missing port means the default port
// of the scheme.
func SameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && Port(a) == Port(b)
}

// Port returns the port of a URL. If it is missing, Port returns the default port of http or https.
func Port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	case strings.EqualFold(u.Scheme, "http"):
		return "80"
	}
	return ""
}
