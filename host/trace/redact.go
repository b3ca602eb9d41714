package trace

import (
	"regexp"
	"slices"
	"strings"
)

// blot stands in the place of what looks like a secret.
const blot = "•••"

// The ways in which secrets are found: by the name that they are given, by the
// scheme before them, and by how keys of known services look.
var (
	named  = regexp.MustCompile(`(?i)((?:password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key|(?:access|auth|bearer|refresh|session|id)[_-]?token|credentials?|authorization|\btoken\b)(?:_\w{1,20})?\\*["']?\s{0,3}[:=]\s{0,3})("(?:[^"\\]|\\.)*(?:"|\\?$)|\\+"(?s:.*?)(?:\\+"\s*[,}\]]|$)|'[^']*(?:'|$)|[^\s,;"'&}\]]{6,})`)
	scheme = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9+/_.=~-]{8,}`)
	shapes = regexp.MustCompile(`\b(?:sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{16,}|npm_\w{30,}|hf_\w{20,}|eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}|[rs]k_live_\w{16,})`)
	keys   = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]{0,30}PRIVATE KEY.*?(?:-----END [A-Z ]{0,30}PRIVATE KEY[A-Z ]{0,10}-----|$)`)
	inURL  = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]{1,20}://)[^\s/:@"'<>]{1,100}:[^\s/@"'<>]{1,200}@`)
)

// redact blots out what looks like a secret.
func redact(text string) string {
	lower := strings.ToLower(text)
	has := func(signs ...string) bool {
		return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(lower, sign) })
	}
	// The patterns are slow compared to a look whether they can match at all.
	if has("private key") {
		text = keys.ReplaceAllString(text, blot)
	}
	if has("bearer", "basic") {
		text = scheme.ReplaceAllString(text, "$1 "+blot)
	}
	if has("sk-", "gh", "glpat-", "xox", "akia", "asia", "aiza", "ya29.", "npm_", "hf_", "eyj", "k_live_") {
		text = shapes.ReplaceAllString(text, blot)
	}
	if has("://") && has("@") {
		text = inURL.ReplaceAllString(text, "$1"+blot+"@")
	}
	if !has("pass", "secret", "key", "token", "credential", "authorization") {
		return text
	}
	return named.ReplaceAllStringFunc(text, func(found string) string {
		parts := named.FindStringSubmatch(found)
		return parts[1] + quoted(parts[2])
	})
}

// quoted is the blot in the quotes that the value has, so that JSON stays JSON.
func quoted(value string) string {
	switch value[0] {
	case '"', '\'':
		return value[:1] + blot + value[:1]
	case '\\':
		end := value[len(value)-1:]
		return `\"` + blot + `\"` + strings.Trim(end, `\"`)
	}
	return blot
}
