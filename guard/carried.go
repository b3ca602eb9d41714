package guard

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/junction-mcp/junction/internal/jsonrpc"
	"github.com/junction-mcp/junction/internal/redact"
)

const (
	// maxSpelled limits the decoded text that is examined, as a multiple of the length of the
	// argument. An argument that decodes to more gets a signal.
	maxSpelled = 64
	// maxOpenings is the number of beginnings of secrets that a Flow remembers from earlier calls;
	// the oldest is dropped first.
	maxOpenings = 32
	// maxTries limits the strings of one call that are tried as the beginning of a secret, and
	// maxJoins limits the joins of two strings. A call that exceeds either gets a signal.
	maxTries = 20_000
	maxJoins = 10_000
	// maxPiece is the number of bytes of a string that are examined as a piece of a secret.
	maxPiece = 512
)

// CarriedSecrets finds possible secrets in the arguments of a call, in clear text and in other
// spellings. Secrets may be in base64, base32 or hexadecimal, in escapes, with hidden or wide
// characters, or split into several strings. CarriedSecrets examines all strings, whatever their
// length.
func CarriedSecrets(arguments []byte) []Finding {
	w := &walker{report: newReport()}
	w.carried(arguments, InResult)
	return w.report.findings()
}

// carried adds signals for secrets in a call's arguments. It returns the beginnings of possible
// secrets among them.
func (w *walker) carried(raw []byte, part Part) (openings []string) {
	var pieces []string
	name := func(s, field string) {
		at := w.at(part, field)
		addSecrets(w.report, s, at)
		if !eachSpelling(s, func(decoded, how string) { addSpelled(w.report, decoded, how, at) }) {
			w.report.add(signal{rule: "secret", weight: warnAt, where: field, excerpt: "encoded too often", why: "has more encoded parts than are checked"})
		}
	}
	value := func(s, field string) {
		name(s, field)
		pieces = append(pieces, s)
	}
	if jsonrpc.Valid(raw, jsonrpc.Limits{}) != nil {
		value(string(raw), "arguments")
		return nil
	}
	visit(raw, "arguments", value, func(member string, value []byte, inside string) bool {
		name(member, inside)
		if len(value) > 2 && value[0] == '"' { // the member's name may mark its value as a secret
			addSecrets(w.report, member+"="+cut(text(value), maxPiece), w.at(part, inside))
		}
		return true
	})
	left := room{maxTries, maxJoins}
	for i, piece := range pieces {
		if left.isSpent() {
			break
		}
		if !left.opensSecret(piece) || spelledSecret(piece) != "" {
			continue
		}
		left.join(w, piece, append(slices.Clone(pieces[i+1:min(len(pieces), i+1+maxJoins)]), pieces[max(0, i-maxJoins):i]...))
		openings = append(openings, piece[max(0, len(piece)-maxPiece):])
	}
	left.done(w)
	return openings
}

// A room counts the work that one call may still spend on pieces of secrets.
type room struct{ tries, joins int }

func (left *room) isSpent() bool { return left.tries <= 0 || left.joins <= 0 }

// done adds a signal if the limits stopped the examination early.
func (left *room) done(w *walker) {
	if left.isSpent() {
		w.report.add(signal{rule: "secret", weight: warnAt, where: "arguments", excerpt: "too many pieces", why: "has too many strings that may be pieces of secrets"})
	}
}

// join adds a signal if a secret begins in opening and continues in one of the others, or in
// several of them in sequence.
func (left *room) join(w *walker, opening string, others []string) {
	opening = opening[max(0, len(opening)-maxPiece):]
	all := opening
	for _, other := range others {
		if left.joins--; left.joins <= 0 {
			return
		}
		if len(other) > maxPiece {
			other = other[:maxPiece]
		}
		tries := []string{opening + other}
		if len(all)+len(other) <= 8*maxPiece && strings.IndexFunc(other, unicode.IsSpace) < 0 {
			all += other
			tries = append(tries, all)
		}
		for _, joined := range tries {
			if kind := spelledSecret(joined); kind != "" {
				w.report.add(signal{rule: "secret", weight: warnAt, where: "arguments", excerpt: kind + ", in pieces", why: "holds what looks like a secret: " + kind + ", in pieces"})
				return
			}
		}
	}
}

// addSpelled adds signals for text that was decoded from an argument.
func addSpelled(r *report, decoded, how string, at Where) {
	if kind := secretKind(decoded); kind != "" {
		r.add(signal{rule: "secret", weight: warnAt, where: at.Field, excerpt: kind + ", " + how, why: "holds what looks like a secret " + how + ": " + kind})
	}
	if at.Part == InArguments && readsAsText(decoded) { // bytes of a picture may contain a path by accident
		addSecretPaths(r, decoded, at)
	}
}

// spelledSecret returns the kind of a secret in s or in the texts decoded from it, or "".
func spelledSecret(s string) (kind string) {
	if kind = secretKind(s); kind == "" {
		eachSpelling(s, func(decoded, _ string) {
			if kind == "" {
				kind = secretKind(decoded)
			}
		})
	}
	return kind
}

// opensSecret reports whether s, or a text decoded from it, ends in the beginning of a possible
// secret.
func (left *room) opensSecret(s string) bool {
	s = s[max(0, len(s)-maxPiece):]
	found := left.opensToken(s)
	eachSpelling(s, func(decoded, _ string) { found = found || left.opensToken(decoded) })
	return found
}

// fillers are possible continuations of secrets. The pattern of each kind decides which filler
// fits, and how much of it.
var fillers = []string{strings.Repeat("a1b2c3d4e5f60789", 5), strings.Repeat("A2B3C4D5E6F7G2H3", 5), strings.Repeat("k7Q2m9Xw4Rz8Tn3V", 5),
	"k7Q2m9Xw4Rz8Tn3V.k7Q2m9Xw4Rz8Tn3V", "k7Q2m9Xw4R.eyJk7Q2m9Xw4R.k7Q2m9Xw4Rz8"}

// openShapes holds [redact.Shapes] without the word boundary at their end, because more letters may
// follow a beginning.
var openShapes = sync.OnceValue(func() []redact.Shape {
	all := slices.Clone(redact.Shapes())
	for i := range all {
		all[i].Pattern = regexp.MustCompile(strings.TrimSuffix(all[i].Pattern.String(), `\b`))
	}
	return all
})

func (left *room) opensToken(s string) bool {
	run := s[strings.LastIndexFunc(s, unicode.IsSpace)+1:]
	if len(run) < 3 || len(run) > maxPiece {
		return false
	}
	for _, shape := range openShapes() {
		if !strings.Contains(run, shape.Sign) && !strings.HasPrefix(shape.Sign, run) {
			continue
		}
		if left.tries--; left.tries < 0 {
			return false
		}
		for _, filler := range fillers {
			if at := shape.Pattern.FindStringIndex(run + filler); at != nil && at[0] < len(run) && at[1] > len(run) {
				return true
			}
		}
	}
	return false
}

// separatedHex matches bytes in hexadecimal with separators.
var separatedHex = regexp.MustCompile(`(?:(?:0x)?[0-9a-fA-F]{2}[\s:,;-]{1,2}){7,}(?:0x)?[0-9a-fA-F]{2}`)

// eachSpelling calls f with each text decoded from s and the name of its encoding. It decodes up to
// twice, and reports whether the limit sufficed for everything.
func eachSpelling(s string, f func(decoded, how string)) (all bool) {
	left := maxSpelled * max(len(s), maxPiece)
	spellings(s, "", &left, func(decoded, how string) {
		f(decoded, how)
		spellings(decoded, how, &left, f)
	})
	return left >= 0
}

func spellings(s, outer string, left *int, f func(decoded, how string)) {
	give := func(decoded, how string) {
		if *left -= len(decoded); decoded != "" && *left >= 0 {
			if outer != "" && outer != how {
				how = outer + ", " + how
			}
			f(decoded, how)
		}
	}
	if plain := plainForm(Clean(s)); plain != s {
		give(plain, "with hidden or unusual characters")
	}
	if strings.ContainsAny(s, `%\`) {
		if plain := escapedRun.ReplaceAllStringFunc(s, unescape); plain != s {
			give(plain, "in escapes")
		}
	}
	for _, run := range separatedHex.FindAllString(s, -1) {
		give(decodeHex(strings.Map(hexDigit, strings.ReplaceAll(run, "0x", ""))), encodings[0].how)
	}
	eachEncoded(s, func(run string) bool {
		for _, part := range encodedParts(run) {
			for _, e := range encodings {
				decoded := e.decode(part)
				if eachText(decoded, func(text string) { give(text, e.how) }); readsAsText(decoded) {
					break // a run is text in at most one encoding
				}
			}
		}
		return *left >= 0
	})
	if wrapped := strings.Join(strings.Fields(s), ""); len(wrapped) < len(s) && isEncoded(wrapped) { // MIME breaks base64 into lines
		for _, e := range encodings {
			give(e.decode(wrapped), e.how)
		}
	}
}

// eachText calls f with decoded if it is text. Else it calls f with the parts that are text and
// long enough for a secret, because most decodable runs are names and pictures.
func eachText(decoded string, f func(text string)) {
	const shortest = 12
	if utf8.ValidString(decoded) {
		f(decoded)
		return
	}
	start := 0
	for i := 0; i <= len(decoded); {
		r, size := utf8.DecodeRuneInString(decoded[i:])
		if r == utf8.RuneError && size <= 1 || r < ' ' && !strings.ContainsRune("\x00\t\r\n", r) {
			if i-start >= shortest {
				f(decoded[start:i])
			}
			i++
			start = i
			continue
		}
		i += size
	}
}

func hexDigit(r rune) rune {
	if unicode.Is(unicode.Hex_Digit, r) {
		return r
	}
	return -1
}

// encodedParts returns the pieces of a run of base64 characters that may be encoded texts. These
// are the whole run, its parts between slashes, and both without their first one to three
// characters.
func encodedParts(run string) []string {
	parts := []string{run}
	if strings.ContainsRune(run, '/') {
		for part := range strings.SplitSeq(run, "/") {
			if len(part) >= 16 {
				parts = append(parts, part)
			}
		}
	}
	for _, part := range slices.Clone(parts) {
		for skip := 1; skip < 4 && len(part)-skip >= 16; skip++ {
			parts = append(parts, part[skip:])
		}
	}
	return parts
}

// isEncoded reports whether a text consists of base64 characters.
func isEncoded(s string) bool {
	s = strings.TrimRight(s, "=")
	if len(s) < 16 {
		return false
	}
	_, err := base64.RawStdEncoding.DecodeString(strings.NewReplacer("-", "+", "_", "/").Replace(s[:len(s)-len(s)%4]))
	return err == nil
}
