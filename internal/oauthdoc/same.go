package oauthdoc

import (
	"net/url"
	"strings"
)

// Same reports whether two http or https URLs that identify an issuer or a resource are spellings
// of one URL (RFC 3986 section 6.2). Three differences do not count: the case of the scheme, the
// host and percent-encodings, an explicit default port, and the slash as the only path. All other
// differences count: a slash at the end of a longer path, dot segments, other encodings, and the
// query. Otherwise one issuer could pass for another at the same host. Texts with a fragment, a
// user or a host that is not ASCII must be identical.
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
	path := "" // taken from the text, because parsing makes some different spellings equal
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

// lower returns text with its ASCII letters in lower case. Other letters stay unchanged, as they
// belong to other hosts.
func lower(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}
