package oauth

import (
	"iter"
	"net/http"
	"slices"
	"strings"
)

// A challenge holds what a 401 or 403 says in WWW-Authenticate (RFC 6750, RFC 9728).
type challenge struct {
	metadata string   // URL of the protected resource's metadata
	scopes   []string // that are needed
	fault    string   // such as insufficient_scope
	proof    bool     // whether the server wants a proof of who has the token (RFC 9449)
}

// challengeOf reads the challenge for a token among those of a response.
func challengeOf(h http.Header) (c challenge) {
	for _, value := range h.Values("WWW-Authenticate") {
		for scheme, parameters := range challenges(value) {
			if !strings.EqualFold(scheme, "Bearer") && !strings.EqualFold(scheme, "DPoP") {
				continue
			}
			c.metadata, c.proof = parameters["resource_metadata"], strings.EqualFold(scheme, "DPoP")
			c.fault = parameters["error"]
			if scope := strings.Fields(parameters["scope"]); len(scope) > 0 {
				c.scopes = slices.Compact(scope)
			}
			return c
		}
	}
	return c
}

// challenges are those of one WWW-Authenticate header: schemes with their parameters (RFC 9110 section 11).
// What is malformed ends them.
func challenges(value string) iter.Seq2[string, map[string]string] {
	return func(yield func(string, map[string]string) bool) {
		scheme, parameters := "", map[string]string{}
		for rest := strings.TrimLeft(value, " \t,"); rest != ""; rest = strings.TrimLeft(rest, " \t,") {
			word, after := token(rest)
			if word == "" {
				break
			}
			if unpadded := strings.TrimLeft(after, " \t"); strings.HasPrefix(unpadded, "=") && scheme != "" {
				text, left, ok := parameter(strings.TrimLeft(unpadded[1:], " \t"))
				if !ok {
					break
				}
				parameters[strings.ToLower(word)], rest = text, left
				continue
			}
			if scheme != "" && !yield(scheme, parameters) {
				return
			}
			scheme, parameters, rest = word, map[string]string{}, after
		}
		if scheme != "" {
			yield(scheme, parameters)
		}
	}
}

// token is the token that begins a text (RFC 9110 section 5.6.2), and what follows it.
func token(text string) (word, rest string) {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

// parameter is the value, a token or a quoted string, that begins a text, and what follows it.
func parameter(text string) (value, rest string, ok bool) {
	if !strings.HasPrefix(text, `"`) {
		value, rest = token(text)
		return value, rest, value != ""
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], true
		case '\\':
			if i++; i == len(text) {
				return "", "", false
			}
		}
		b.WriteByte(text[i])
	}
	return "", "", false
}
