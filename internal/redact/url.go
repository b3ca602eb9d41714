package redact

import (
	"net/url"
	"regexp"
	"strings"
)

// variable matches a variable that was not replaced yet, as in https://${HOST}/mcp.
var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// withVariables returns text with each variable replaced by as.
func withVariables(text, as string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return variable.ReplaceAllString(text, as)
}

// URL returns a URL for display. It removes or hides the user information, the values in the query,
// the fragment, and path segments that look generated. It keeps the names in the query only if they
// are plain words. It keeps variables, as in https://${HOST}/mcp, even at the beginning of the URL.
// It hides a text that cannot be parsed as a URL.
//
// The text may have a prefix before the URL, as in --url=https://example.com, and further URLs
// after it. URL then hides all text that may be a part of a query.
func URL(text string) string {
	if IsPlainURL(text) {
		return text
	}
	return urlByParts(text)
}

// urlByParts is URL without the shortcut for plain URLs.
func urlByParts(text string) string {
	before, rest, found := strings.Cut(text, "://")
	if !found {
		before, rest = "", text
	}
	beginning := text[:len(text)-len(rest)]
	if strings.ContainsAny(before, " /?") {
		return beginning + afterScheme(rest)
	}
	name := strings.LastIndexByte(before, '=') + 1 // the position after --url=
	if !readable(beginning[name:], rest) {
		return text[:name] + Hidden
	}
	return beginning + afterScheme(rest)
}

// noURL contains the characters that surround URLs in JSON, HTML and Markdown, and never occur
// within URLs.
const noURL = "\"<>`"

// urlsIn returns a word in which the secrets in URLs are hidden.
func urlsIn(word string) string {
	if strings.Contains(word, "@") { // a password before the @ may contain such characters
		return URL(word)
	}
	var shown strings.Builder
	for isOpen := false; word != ""; {
		end := strings.IndexAny(word, noURL)
		if end < 0 {
			end = len(word)
		}
		part := strings.TrimRight(word[:end], `\`) // without the backslashes before a quotation mark in a nested string
		switch {
		case isOpen && part != "":
			shown.WriteString(Hidden)
		case strings.Contains(part, "://"):
			shown.WriteString(URL(part))
		default:
			shown.WriteString(part)
		}
		isOpen = isOpen || strings.Contains(part, "://") && strings.HasSuffix(part, "=") // the value after = is in quotation marks
		end = min(end+1, len(word))
		shown.WriteString(word[len(part):end])
		word = word[end:]
	}
	return shown.String()
}

// IsPlainURL reports whether a text is a URL with a short host, an optional port, and a path of
// short names. Such a URL consists of ASCII characters without escapes, and contains no secret.
func IsPlainURL(text string) bool {
	end := plainURL(text, 0, strings.IndexByte(text, ':'))
	return end > 0 && end == len(text)
}

// readable reports whether scheme and rest form a valid URL. scheme may be empty.
func readable(scheme, rest string) bool {
	if scheme == "" {
		scheme = "https://"
	}
	scheme = withVariables(scheme, "x")
	u, err := url.Parse(scheme + withVariables(rest, "1"))
	return err == nil && strings.EqualFold(u.Scheme+"://", scheme)
}

// isURL reports whether an argument is a URL, and not just a text that contains one.
func isURL(arg string) bool {
	scheme, _, found := strings.Cut(arg, "://")
	return found && !strings.ContainsAny(scheme, "= /?")
}

// URI returns the URI of a resource for display, without user information, query and fragment. It
// never changes the path, as the path identifies the resource.
func URI(uri string) string {
	if !strings.ContainsAny(uri, "?#:") {
		return uri
	}
	hidden := ""
	if end := strings.IndexAny(uri, "?#"); end >= 0 {
		uri, hidden = uri[:end], uri[end:end+1]+Hidden
	}
	if scheme, rest, found := strings.Cut(uri, "://"); found {
		uri = scheme + "://" + strings.Join(segments(rest, false), "/")
	}
	return uri + hidden
}

// afterScheme hides the secrets in the part of a URL after its scheme.
func afterScheme(rest string) string {
	rest, _, hasFragment := strings.Cut(rest, "#")
	rest, query, hasQuery := strings.Cut(rest, "?")
	shown := strings.Join(segments(rest, true), "/")
	if hasQuery {
		pairs := strings.Split(query, "&")
		for i, pair := range pairs {
			pairs[i] = Hidden
			if name, _, assigned := strings.Cut(pair, "="); assigned && isPlainWord(name) {
				pairs[i] = name + "=" + Hidden
			}
		}
		shown += "?" + strings.Join(pairs, "&")
	}
	if hasFragment {
		shown += "#" + Hidden
	}
	return shown
}

// isPlainWord reports whether a name consists of letters and separators, so that it is probably not
// a key.
func isPlainWord(name string) bool {
	const longest = 30
	return name != "" && len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-' && r != '.'
	})
}

// segments returns the host and the path segments of a URL with secrets hidden. It hides segments
// that look like keys only if keys is set. It treats a URL in the path in the same way, including
// its host. After an invalid host, it hides everything.
func segments(rest string, keys bool) []string {
	all := strings.Split(rest, "/")
	for i, segment := range all {
		if keys && i > 0 && looksRandom(segment) {
			all[i] = Hidden
			if strings.HasSuffix(segment, ":") { // the segment may be the scheme of another URL
				all[i] += ":"
			}
		}
		if i > 0 && !(i > 1 && all[i-1] == "" && strings.HasSuffix(all[i-2], ":")) {
			continue
		}
		at := strings.LastIndexByte(segment, '@')
		if at >= 0 {
			all[i] = Hidden + segment[at:]
		}
		host := segment[at+1:]
		host = withVariables(host, "1")
		if strings.HasPrefix(host, "[") { // an IPv6 address
			_, host, _ = strings.Cut(host, "]")
		}
		_, port, _ := strings.Cut(host, ":")
		if strings.Trim(port, "0123456789") != "" {
			return append(all[:i], Hidden)
		}
	}
	return all
}

// looksRandom reports whether a path segment looks like a key: a long word with digits.
func looksRandom(segment string) bool {
	return len(segment) >= 20 && strings.ContainsAny(segment, "0123456789") && !strings.ContainsAny(segment, "${}@")
}
