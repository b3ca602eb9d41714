package oauth

import (
	"iter"
	"net/http"
	"slices"
	"strings"
)

// A challenge holds the parameters in the WWW-Authenticate header of a 401 or 403 (RFC 6750, RFC
// 9728).
type challenge struct {
	metadata string   // URL of the protected resource's metadata
	scopes   []string // required scopes
	fault    string   // error code, such as insufficient_scope
	proof    bool     // set if the server requires proof of possession (RFC 9449)
}

// challengeOf returns the challenge for an access token in the headers of a response.
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

// challenges yields the challenges in one WWW-Authenticate header as schemes with their parameters
// (RFC 9110 section 11). It stops at malformed text.
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

// token splits a text after its leading token (RFC 9110 section 5.6.2).
func token(text string) (word, rest string) {
	end := strings.IndexFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
	if end < 0 {
		end = len(text)
	}
	return text[:end], text[end:]
}

// parameter splits a text after its leading value, which is a token or a quoted string.
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
