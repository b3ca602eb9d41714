package recording

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/redact"
	"github.com/junction-mcp/junction/internal/sorting"
)

const (
	// maxSecrets limits the secrets found in one recording that get separate placeholders.
	maxSecrets = 1_000
	// maxHidden limits the secrets passed to Recorder.Hide. One more ends the recording, which
	// would contain it.
	maxHidden = 10_000
	// maxSecret limits the bytes of a found secret that gets a separate placeholder, because it is
	// stored in full.
	maxSecret = 64 << 10
)

// placeholders matches the placeholders of secrets.
var placeholders = regexp.MustCompile(`\{\{secret-\d+\}\}`)

// manySecrets is the placeholder of all secrets beyond maxSecrets, and of those longer than
// maxSecret.
const manySecrets = "{{secret-0}}"

// A hider replaces secrets by placeholders. Only one goroutine may use it.
type hider struct {
	placeholder map[string]string // by secret
	given       int               // number of secrets passed to hide; they always get placeholders
	everywhere  []spelling        // spellings that are replaced everywhere
	replacer    *strings.Replacer // for everywhere; nil until it is needed
	renamed     bool              // whether the name of a member held a secret
}

// learn returns the placeholder of a secret. From now on the secret is replaced everywhere, unless
// it is too short for that, or a plain word.
func (h *hider) learn(secret string) string {
	if placeholders.MatchString(secret) {
		return secret // it is already a placeholder
	}
	if known := h.placeholder[secret]; known != "" {
		return known
	}
	if len(h.placeholder)-h.given >= maxSecrets || len(secret) > maxSecret {
		return manySecrets
	}
	return h.give(secret)
}

// hide is like learn, for a secret known from elsewhere. It ignores maxSecrets: otherwise a server
// could exhaust that with invented secrets.
func (h *hider) hide(secret string) {
	if h.placeholder[secret] == "" && !placeholders.MatchString(secret) {
		h.given++
		name := h.give(secret)
		if isTelling(secret) {
			h.everywhere, h.replacer = appendSpellings(h.everywhere, secret, name), nil
		}
	}
}

// A spelling is a text that reveals a secret, and the secret's placeholder.
type spelling struct{ text, placeholder string }

// appendSpellings appends the spellings of a secret: in a string of JSON within a text, in a URL,
// and in base64 at any offset of the encoded data.
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
	const enough = 9 // bytes; the base64 of fewer occurs in pictures by chance
	for before := 0; before < 3 && len(secret) >= enough; before++ {
		const bits, ofByte = 6, 8
		first, last := (before*ofByte+bits-1)/bits, (before+len(secret))*ofByte/bits // of the letters that depend only on the secret
		within := append(make([]byte, before), secret...)
		add(base64.StdEncoding.EncodeToString(within)[first:last])
		add(base64.URLEncoding.EncodeToString(within)[first:last])
	}
	return all
}

// give assigns a placeholder to a secret.
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

// replace returns a text without the secrets of everywhere. If several begin at one place, it
// replaces the longest.
func (h *hider) replace(text string) string {
	if len(h.everywhere) == 0 {
		return text
	}
	if h.replacer == nil {
		sorting.StableBy(h.everywhere, func(a, b spelling) int {
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

// isTelling reports whether a secret is unlikely to occur in a text by chance.
func isTelling(secret string) bool {
	const shortest, longestWord = 6, 15
	if len(secret) < shortest {
		return false
	}
	isWord := !strings.ContainsFunc(secret, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
	return !isWord || len(secret) > longestWord
}

// text returns a text without secrets.
func (h *hider) text(text string) string { return h.within(text, new(redact.Place)) }

func (h *hider) within(text string, p *redact.Place) string {
	text, _ = h.walk().Text(text, p)
	return h.plain(text)
}

// walk returns a walk that replaces single strings and numbers, and keeps everything else.
func (h *hider) walk() redact.Walk { return redact.Walk{Rewriter: h, Verbatim: true, Deep: h.learn} }

// plain returns a text other than JSON without secrets.
func (h *hider) plain(text string) string {
	return redact.Replace(h.known(text), func(secret, _ string) string { return h.learn(secret) })
}

// known returns a text without known secrets. It first learns unknown secrets around a known one,
// because their remaining parts would not be recognized.
func (h *hider) known(text string) string {
	is := h.replace(text)
	if is != text {
		redact.Replace(text, func(secret, _ string) string { return h.learn(secret) })
		is = h.replace(text)
	}
	return is
}

// json returns valid JSON without secrets. Everything else stays the same, byte for byte. If an
// object would get duplicate names, because a name held a secret, it returns an empty value.
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

// base64 returns base64 text without secrets. Decoded data that is not text is a picture or the
// like. Or the text is not base64 at all: a key of letters and digits can look like it.
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
