package secret

import (
	"net/url"
	"regexp"
	"strings"
)

// variable is one that is not replaced yet, as in https://${HOST}/mcp.
var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// URL returns a URL to show: without user information, query and fragment, and
// without segments of its path that look made by a machine. What cannot be
// read as a URL is hidden. Variables, as in https://${HOST}/mcp, stay, and may
// stand for the beginning of the URL.
//
// Text may stand around the URL, as in --url=https://example.com, and other
// URLs behind it; then all of the text is hidden that could belong to a query.
func URL(text string) string {
	before, rest, found := strings.Cut(text, "://")
	if !found {
		before, rest = "", text
	}
	beginning := text[:len(text)-len(rest)]
	if strings.ContainsAny(before, " /?") {
		return beginning + afterScheme(rest)
	}
	name := strings.LastIndexByte(before, '=') + 1 // where --url= ends
	if !readable(beginning[name:], rest) {
		return text[:name] + Hidden
	}
	return beginning + afterScheme(rest)
}

// readable reports whether the parts are those of a URL; its beginning may be
// missing.
func readable(scheme, rest string) bool {
	if scheme == "" {
		scheme = "https://"
	}
	scheme = variable.ReplaceAllString(scheme, "x")
	u, err := url.Parse(scheme + variable.ReplaceAllString(rest, "1"))
	return err == nil && strings.EqualFold(u.Scheme+"://", scheme)
}

// isURL reports whether an argument is a URL, and not a text with one in it.
func isURL(arg string) bool {
	scheme, _, found := strings.Cut(arg, "://")
	return found && !strings.ContainsAny(scheme, "= /?")
}

// afterScheme hides what is secret in a URL behind its scheme.
func afterScheme(rest string) string {
	rest, _, hasFragment := strings.Cut(rest, "#")
	rest, _, hasQuery := strings.Cut(rest, "?")
	segments := strings.Split(rest, "/")
	for i, segment := range segments {
		if i > 0 && looksRandom(segment) {
			segments[i] = Hidden
		}
		if i > 0 && !(i > 1 && segments[i-1] == "" && strings.HasSuffix(segments[i-2], ":")) {
			continue
		}
		at := strings.LastIndexByte(segment, '@')
		if at >= 0 {
			segment = Hidden + segment[at:]
			segments[i] = segment
		}
		if isHalf(segment) {
			return strings.Join(append(segments[:i], Hidden), "/")
		}
	}
	shown := strings.Join(segments, "/")
	if hasQuery {
		shown += "?" + Hidden
	}
	if hasFragment {
		shown += "#" + Hidden
	}
	return shown
}

// isHalf reports whether what should be a host ends in half of a password, one
// that has a slash, a question mark or a # in it.
func isHalf(host string) bool {
	_, port, found := strings.Cut(host, ":")
	return found && strings.Trim(port, "0123456789") != "" && !strings.ContainsAny(host, "$[")
}

// looksRandom finds long words of letters and digits, as keys in paths are.
func looksRandom(segment string) bool {
	return len(segment) >= 20 && strings.ContainsAny(segment, "0123456789") && !strings.ContainsAny(segment, "${}@")
}
