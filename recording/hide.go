package recording

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/redact"
)

const (
	// maxSecrets is the largest number of secrets found in a recording that get their own
	// placeholders.
	maxSecrets = 1_000
	// maxHidden is the largest number of secrets passed to Recorder.Hide. The next one ends the
	// recording, because the recording could not hide it.
	maxHidden = 10_000
	// maxSecret is the largest size in bytes of a found secret with its own placeholder. Such
	// secrets are kept in memory.
	maxSecret = 64 << 10
)

// placeholders matches placeholders of secrets.
var placeholders = regexp.MustCompile(`\{\{secret-\d+\}\}`)

// manySecrets is the common placeholder of secrets beyond maxSecrets and of secrets longer than
// maxSecret.
const manySecrets = "{{secret-0}}"

// A hider replaces secrets by placeholders. Only one goroutine may use it.
type hider struct {
	placeholder map[string]string // placeholder of each known secret
	given       int               // number of secrets passed to hide; they do not count for maxSecrets
	everywhere  []spelling        // texts that are replaced wherever they occur
	replacer    *strings.Replacer // replaces everywhere; nil until it is needed
	renamed     bool              // whether a secret was replaced in the name of a member
}

// learn returns the placeholder of a secret. From now on the secret is replaced wherever it occurs,
// unless it is too short or a plain word.
func (h *hider) learn(secret string) string {
	if placeholders.MatchString(secret) {
		return secret // a placeholder is not a secret
	}
	if known := h.placeholder[secret]; known != "" {
		return known
	}
	if len(h.placeholder)-h.given >= maxSecrets || len(secret) > maxSecret {
		return manySecrets
	}
	return h.give(secret)
}

// hide is like learn, but for a secret that the Recorder's user passed. It ignores maxSecrets,
// because a server could use up that limit with invented secrets.
func (h *hider) hide(secret string) {
	if h.placeholder[secret] == "" && !placeholders.MatchString(secret) {
		h.given++
		name := h.give(secret)
		if isTelling(secret) {
			h.everywhere, h.replacer = appendSpellings(h.everywhere, secret, name), nil
		}
	}
}

// A spelling is a text that reveals a secret, with the placeholder that replaces it.
type spelling struct{ text, placeholder string }

// appendSpellings appends other spellings of a secret. These are the secret as part of a JSON
// string, as part of a URL, and in base64 at each offset modulo three.
func appendSpellings(all []spelling, secret, placeholder string) []spelling {
	add := func(text string) {
		if text != secret {
			all = append(all, spelling{text, placeholder})
		}
	}
	quoted := string(jsonrpc.AppendString(nil, secret))
	add(quoted[1 : len(quoted)-1])
	add(url.QueryEscape(secret))
	add(url.PathEscape(secret))
	const enough = 9 // the base64 of fewer bytes can occur in a picture by chance
	for before := 0; before < 3 && len(secret) >= enough; before++ {
		const bits, ofByte = 6, 8
		first, last := (before*ofByte+bits-1)/bits, (before+len(secret))*ofByte/bits // range of the characters that depend only on the secret
		within := append(make([]byte, before), secret...)
		add(base64.StdEncoding.EncodeToString(within)[first:last])
		add(base64.URLEncoding.EncodeToString(within)[first:last])
	}
	return all
}

// give assigns a new placeholder to a secret.
func (h *hider) give(secret string) string {
	if h.placeholder == nil {
		h.placeholder = map[string]string{}
	}
	name := fmt.Sprintf("{{secret-%d}}", len(h.placeholder)+1)
	h.placeholder[secret] = name
	if !isTelling(secret) {
		return name
	}
	h.everywhere, h.replacer = append(h.everywhere, spelling{secret, name}), nil
	return name
}

// replace replaces all texts in h.everywhere. If several begin at the same place, it replaces the
// longest.
func (h *hider) replace(text string) string {
	if len(h.everywhere) == 0 {
		return text
	}
	if h.replacer == nil {
		slices.SortStableFunc(h.everywhere, func(a, b spelling) int {
			return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
		})
		var pairs []string
		for _, s := range h.everywhere {
			pairs = append(pairs, s.text, s.placeholder)
		}
		h.replacer = strings.NewReplacer(pairs...)
	}
	return h.replacer.Replace(text)
}

// isTelling reports whether a secret is unlikely to occur in other text by chance.
func isTelling(secret string) bool {
	const shortest, longestWord = 6, 15
	if len(secret) < shortest {
		return false
	}
	isWord := !strings.ContainsFunc(secret, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	return !isWord || len(secret) > longestWord
}

// text returns a text with all secrets replaced. The text may be JSON or contain JSON.
func (h *hider) text(text string) string { return h.within(text, new(redact.Place)) }

func (h *hider) within(text string, p *redact.Place) string {
	text, _ = h.walk().Text(text, p)
	return h.plain(text)
}

// walk returns a walk that rewrites single strings and numbers and keeps all other bytes.
func (h *hider) walk() redact.Walk { return redact.Walk{Rewriter: h, Verbatim: true, Deep: h.learn} }

// plain returns a text that is not JSON with all secrets replaced.
func (h *hider) plain(text string) string {
	return redact.Replace(h.replaceKnown(text), func(secret, _ string) string { return h.learn(secret) })
}

// replaceKnown returns a text with the known secrets replaced. If the text has any, it first learns
// the unknown secrets next to them. After the replacement, the remains of such a secret could not
// be recognized.
func (h *hider) replaceKnown(text string) string {
	is := h.replace(text)
	if is != text {
		redact.Replace(text, func(secret, _ string) string { return h.learn(secret) })
		is = h.replace(text)
	}
	return is
}

// json returns valid JSON with all secrets replaced. All other bytes stay the same. If the result
// would have duplicate names because secrets in names were replaced, json returns an empty value.
func (h *hider) json(data json.RawMessage) json.RawMessage {
	h.renamed = false
	out := h.walk().JSON(data)
	if !h.renamed || jsonrpc.Valid(out, jsonrpc.Limits{Depth: 1 << 20, Members: 1 << 30}) == nil {
		return out
	}
	if data[jsonrpc.SkipSpace(data, 0)] == '{' {
		return json.RawMessage(`{}`)
	}
	return json.RawMessage(`[]`)
}

// Name implements [redact.Rewriter].
func (h *hider) Name(dst, quoted []byte, p *redact.Place) ([]byte, bool) {
	p.Name, _ = jsonrpc.Unquote(quoted)
	if is := h.plain(p.Name); is != p.Name {
		h.renamed = true
		return jsonrpc.AppendString(dst, is), true
	}
	return append(dst, quoted...), false
}

// Value implements [redact.Rewriter].
func (h *hider) Value(dst, raw []byte, p *redact.Place) ([]byte, bool) {
	was, isText := jsonrpc.Unquote(raw)
	if !isText {
		if c := raw[0]; (c == '-' || c >= '0' && c <= '9') && !placeholders.MatchString(p.Name) && redact.Certain(p.Name) {
			return jsonrpc.AppendString(dst, h.learn(string(raw))), true
		}
		return dst, false
	}
	is := was
	switch {
	case !placeholders.MatchString(p.Name) && redact.Holds(p.Name, was):
		is = h.learn(was)
	case p.Name == "blob" || p.Name == "data":
		is = h.base64(was, p)
	default:
		is = h.within(was, p)
	}
	if is == was {
		return dst, false
	}
	return jsonrpc.AppendString(dst, is), true
}

// base64 returns base64 text with the secrets in the decoded text replaced. Data that does not
// decode to text may be a picture, or a key that only looks like base64.
func (h *hider) base64(encoded string, p *redact.Place) string {
	const longestKey = 4 << 10
	decoded, err := base64.StdEncoding.DecodeString(encoded)
	switch isText := utf8.Valid(decoded); {
	case err != nil || !isText && len(encoded) <= longestKey:
		return h.within(encoded, p)
	case !isText:
		return h.replace(encoded)
	}
	if is := h.within(string(decoded), p); is != string(decoded) {
		return base64.StdEncoding.EncodeToString([]byte(is))
	}
	return encoded
}
