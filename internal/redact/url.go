package redact

import (
	"net/url"
	"regexp"
	"strings"
)

// variable is one that is not replaced yet, as in https://${HOST}/mcp.
var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// withVariables returns a text with something in the place of each variable.
func withVariables(text, as string) string {
	if !strings.Contains(text, "${") {
		return text
	}
	return variable.ReplaceAllString(text, as)
}

// URL returns a URL to show: without user information, values of its query and
// fragment, and without segments of its path that look made by a machine. Of
// the query's names those stay that are plain words. What cannot be read as a
// URL is hidden. Variables, as in https://${HOST}/mcp, stay, and may
// stand for the beginning of the URL.
//
// Text may stand around the URL, as in --url=https://example.com, and other
// URLs behind it; then all of the text is hidden that could belong to a query.
func URL(text string) string {
	if IsPlainURL(text) {
		return text
	}
	return urlByParts(text)
}

// urlByParts is URL, of any text.
func urlByParts(text string) string {
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

// noURL are characters that stand around URLs in JSON, HTML and Markdown, and in none.
const noURL = "\"<>`"

// urlsIn returns a word in which there are URLs to show.
func urlsIn(word string) string {
	if strings.Contains(word, "@") { // which may stand behind a password that has such characters
		return URL(word)
	}
	var shown strings.Builder
	for isOpen := false; word != ""; {
		end := strings.IndexAny(word, noURL)
		if end < 0 {
			end = len(word)
		}
		part := strings.TrimRight(word[:end], `\`) // before a quotation mark within a string
		switch {
		case isOpen && part != "":
			shown.WriteString(Hidden)
		case strings.Contains(part, "://"):
			shown.WriteString(URL(part))
		default:
			shown.WriteString(part)
		}
		isOpen = isOpen || strings.Contains(part, "://") && strings.HasSuffix(part, "=") // the value is in quotation marks
		end = min(end+1, len(word))
		shown.WriteString(word[len(part):end])
		word = word[end:]
	}
	return shown.String()
}

// IsPlainURL reports whether a text is a URL with a short host, perhaps a port, and a path of short names, so that it has no
// secret, no escape, and nothing but ASCII.
func IsPlainURL(text string) bool {
	end := plainURL(text, 0, strings.IndexByte(text, ':'))
	return end > 0 && end == len(text)
}

// readable reports whether the parts are those of a URL; its beginning may be
// missing.
func readable(scheme, rest string) bool {
	if scheme == "" {
		scheme = "https://"
	}
	scheme = withVariables(scheme, "x")
	u, err := url.Parse(scheme + withVariables(rest, "1"))
	return err == nil && strings.EqualFold(u.Scheme+"://", scheme)
}

// isURL reports whether an argument is a URL, and not a text with one in it.
func isURL(arg string) bool {
	scheme, _, found := strings.Cut(arg, "://")
	return found && !strings.ContainsAny(scheme, "= /?")
}

// URI returns the URI of a resource to show: without user information, query
// and fragment. Its path stays, whatever it looks like, as it says which
// resource it is.
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

// afterScheme hides what is secret in a URL behind its scheme.
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

// isPlainWord reports whether a name is made of letters, and so no key.
func isPlainWord(name string) bool {
	const longest = 30
	return name != "" && len(name) <= longest && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '-' && r != '.'
	})
}

// segments are host and path of a URL, with secrets hidden; keys in the path
// only where it may hold them. Other URLs in the path have a host too. Nothing
// is shown behind a host that is not valid.
func segments(rest string, keys bool) []string {
	all := strings.Split(rest, "/")
	for i, segment := range all {
		if keys && i > 0 && looksRandom(segment) {
			all[i] = Hidden
			if strings.HasSuffix(segment, ":") { // the scheme of another URL, perhaps
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

// looksRandom finds long words of letters and digits, as keys in paths are.
func looksRandom(segment string) bool {
	return len(segment) >= 20 && strings.ContainsAny(segment, "0123456789") && !strings.ContainsAny(segment, "${}@")
}
