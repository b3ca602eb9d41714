package plaintext

import "strings"

// URI returns a URI as [Line] does, without what may carry secrets: an ellipsis
// stands for user information, for the query and for the fragment. Of an
// authority that makes no sense, such as a password with a slash in it, nothing
// is left.
func URI(s string, max int) string {
	if max <= 0 {
		return ""
	}
	rest, _, fragment := strings.Cut(s, "#")
	rest, _, query := strings.Cut(rest, "?")
	scheme, after, found := strings.Cut(rest, "://")
	if found {
		rest = scheme + "://" + location(after)
	}
	switch {
	case query:
		rest += "?…"
	case fragment:
		rest += "#…"
	}
	return Line(rest, max)
}

// location is the authority and path of a URI, without user information.
func location(s string) string {
	host, _, _ := strings.Cut(s, "/")
	path, user := s[len(host):], ""
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		user, host = "…@", host[at+1:]
	}
	if _, port, found := strings.Cut(host, ":"); found && strings.Trim(port, "0123456789") != "" && !strings.HasPrefix(host, "[") {
		return "…"
	}
	return user + host + path
}
