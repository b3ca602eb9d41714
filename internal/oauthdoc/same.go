package oauthdoc

import (
	"net/url"
	"strings"
)

// Same reports whether two http or https URLs that identify an issuer or a resource are spellings
// of one URL (RFC 3986 section 6.2). Scheme and host may have any case, and the default port may be
// present. So may the slash of an otherwise empty path, and percent-encodings may have any case.
// All other differences count, so that one issuer cannot pass for another at the same host: a slash
// at the end of a longer path, dot segments, other encodings, the query. Texts with a fragment, a
// user or a host outside ASCII must be identical.
func Same(a, b string) bool {
	if a == b {
		return true
	}
	x, isURL := normal(a)
	y, isToo := normal(b)
	return isURL && isToo && x == y
}

func normal(text string) (name string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(text, "#\\") || strings.ContainsFunc(u.Host, isOdd) {
		return "", false
	}
	_, rest, _ := strings.Cut(text, "://")
	path := "" // as written: parsing makes some spellings equal
	if i := strings.IndexAny(rest, "/?"); i >= 0 && rest[i:] != "/" {
		path = rest[i:]
	}
	return Origin(u) + Path(path), true
}

func isOdd(r rune) bool { return r <= ' ' || r > '~' || r == '%' }

// Origin returns the scheme and the host of a URL, in lower case and without the default port.
func Origin(u *url.URL) string {
	scheme, host := lower(u.Scheme), lower(u.Host)
	if port := map[string]string{"http": ":80", "https": ":443"}[scheme]; port != "" {
		host = strings.TrimSuffix(strings.TrimSuffix(host, port), ":")
	}
	return scheme + "://" + host
}

// Path returns an encoded path with its percent-encodings in upper case.
func Path(encoded string) string {
	if !strings.Contains(encoded, "%") {
		return encoded
	}
	text := []byte(encoded)
	for i := range text {
		if text[i] == '%' && i+2 < len(text) {
			copy(text[i+1:], strings.ToUpper(string(text[i+1:i+3])))
		}
	}
	return string(text)
}

// lower returns a text with ASCII letters in lower case: other letters belong to other hosts.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}
