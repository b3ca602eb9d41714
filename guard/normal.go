package guard

import (
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxDecoded is the number of encoded pieces of one text that are decoded.
const maxDecoded = 64

// A layer is one reading of a text: its visible text, or a text hidden in it.
type layer struct {
	text string
	how  string // how it was hidden; "" for the visible text

	isEncoded bool // the text was in one of the encodings
}

// howSplit is the how of a layer whose visible words hidden characters join or split.
const howSplit = "split by hidden characters"

// encodings lists the encodings of bytes as a run of letters, in the order in which they are tried.
// decode returns the bytes of a run, or "" if the run has another encoding.
var encodings = [...]struct {
	how    string
	decode func(run string) string
}{{"in hexadecimal", decodeHex}, {"in base32", decodeBase32}, {"in base64", decodeBase64}}

// layersOf returns the readings of text: first its visible text in plain characters, then the
// concealed ones. all reports whether the limits sufficed for all of them.
func layersOf(text string) (_ []layer, all bool) {
	layers := []layer{{text: plainForm(Clean(text))}}
	if any, _ := hiddenIn(text); any {
		layers = append(layers, hiddenLayers(text)...)
	}
	if unseen := unseenElements(layers[0].text); unseen != "" {
		layers = append(layers, layer{text: unseen, how: "in a part of a page that is not shown"})
	}
	if spelled := spelledOut(layers[0].text); spelled != "" {
		layers = append(layers, layer{text: spelled, how: "spelled letter by letter"})
	}
	decoded, all := decodedLayers(layers[0].text)
	return append(layers, decoded...), all
}

// hiddenLayers returns up to two layers. One has spaces in place of hidden characters, which may
// have replaced gaps between words. The other is the text of the tag characters.
func hiddenLayers(text string) []layer {
	var spaced, tags strings.Builder
	eachHidden(text, func(part string, hidden bool) {
		if !hidden {
			spaced.WriteString(part)
			return
		}
		spaced.WriteByte(' ')
		tags.WriteString(decodeTags(part))
	})
	layers := []layer{{text: plainForm(spaced.String()), how: howSplit}}
	if tags.Len() > 0 {
		layers = append(layers, layer{text: tags.String(), how: "in tag characters"})
	}
	return layers
}

// plainForm replaces compatibility characters (full width, mathematical, circled) by plain ones,
// and decodes character references of HTML.
func plainForm(text string) string {
	if strings.Contains(text, "&") && strings.Contains(text, ";") {
		text = html.UnescapeString(text)
	}
	if isASCII(text) {
		return text
	}
	return strings.Map(plainHyphen, norm.NFKC.String(strings.Map(withoutPhrases, text)))
}

// plainHyphen replaces characters that look like a hyphen, because file servers accept file names
// with them.
func plainHyphen(r rune) rune {
	if '\u2010' <= r && r <= '\u2015' || r == '\u2212' {
		return '-'
	}
	return r
}

// withoutPhrases replaces two characters that stand for Arabic phrases, because normalization would
// make them 18 times as long.
func withoutPhrases(r rune) rune {
	if r == 0xfdfa || r == 0xfdfb {
		return ' '
	}
	return r
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

var escapedRun = regexp.MustCompile(`(?:%|\\x)[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}`)

// decodedLayers returns the texts decoded once from encoded runs, percent escapes and backslash
// escapes in text. all reports whether the limits sufficed for all of them.
func decodedLayers(text string) (layers []layer, all bool) {
	all = true
	eachEncoded(text, func(run string) bool {
		for _, e := range encodings {
			decoded := e.decode(run)
			if !readsAsText(decoded) {
				continue
			}
			if all = len(layers) < maxDecoded; all {
				layers = append(layers, layer{plainForm(decoded), e.how, true})
			}
			break
		}
		return all
	})
	const few = 3
	if strings.Count(text, "%")+strings.Count(text, `\x`)+strings.Count(text, `\u`) < few {
		return layers, all
	}
	if len(escapedRun.FindAllStringIndex(text, few)) == few {
		layers = append(layers, layer{text: plainForm(Clean(unescaped(text))), how: "in escapes"})
	}
	return layers, all
}

// unescaped returns the parts of text with escapes, decoded. Each part includes some of the text
// around it, because an order may have only one escaped word.
func unescaped(text string) string {
	const around = 48
	var decoded strings.Builder
	end := 0 // end of the part already written
	for _, at := range escapedRun.FindAllStringIndex(text, -1) {
		if at[0]-end > 2*around {
			decoded.WriteString(text[end:end+around] + "\n\n" + text[at[0]-around:at[0]])
		} else {
			decoded.WriteString(text[end:at[0]])
		}
		decoded.WriteString(unescape(text[at[0]:at[1]]))
		end = at[1]
	}
	decoded.WriteString(text[end:min(len(text), end+around)])
	return strings.ToValidUTF8(decoded.String(), " ")
}

// unseenStyle matches the styles that make an element of a page invisible.
var unseenStyle = regexp.MustCompile(`(?i)(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|opacity\s*:\s*0(?:[^.\d]|$)|color\s*:\s*(?:white|transparent|#fff)|(?:left|top|text-indent)\s*:\s*-\d{3,})[^<>]{0,200}>`)

// unseenElements returns the texts of a page's elements whose style makes them invisible.
func unseenElements(text string) string {
	if !strings.Contains(text, "style=") {
		return ""
	}
	const many, long = 64, 2 << 10 // text beyond long bytes of an element counts as visible
	var unseen strings.Builder
	for _, at := range unseenStyle.FindAllStringIndex(text, many) {
		inside := text[at[1]:min(len(text), at[1]+long)]
		if end := strings.Index(inside, "</"); end >= 0 {
			inside = inside[:end]
		}
		unseen.WriteString(inside)
		unseen.WriteString("\n\n")
	}
	return unseen.String()
}

// spelledOut returns words that are written with a character between all letters ("i g n o r e t h
// i s"), or "".
func spelledOut(text string) string {
	const short = 4
	var words strings.Builder
	spelled := false
	for i := 0; i+1 < len(text); i++ {
		if !isLetter(text[i]) || isLetter(text[i+1]) || i > 0 && isLetter(text[i-1]) {
			continue
		}
		between, letters, start := text[i+1], 1, i
		for i+2 < len(text) && text[i+1] == between && isLetter(text[i+2]) && (i+3 == len(text) || !isLetter(text[i+3])) {
			i, letters = i+2, letters+1
		}
		spelled = spelled || letters >= short
		for j := start; j <= i; j += 2 {
			words.WriteByte(text[j])
		}
		words.WriteByte(' ')
	}
	if !spelled {
		return ""
	}
	return words.String()
}

// eachEncoded calls f with the runs of characters in text that may be encoded, until f returns
// false.
func eachEncoded(text string, f func(run string) bool) {
	const short = 16
	start := 0
	for i := 0; i <= len(text); i++ {
		if i < len(text) && isBase64(text[i]) {
			continue
		}
		if i-start >= short && !f(text[start:i]) {
			return
		}
		start = i + 1
	}
}

func isBase64(c byte) bool { return isNameByte(c) || c == '+' || c == '/' }

func decodeHex(s string) string {
	if len(s)%2 != 0 {
		return ""
	}
	decoded, err := hex.DecodeString(s)
	if err != nil {
		return ""
	}
	return string(decoded)
}

func decodeBase32(s string) string {
	if !strings.ContainsAny(s, "234567") { // probably a word: only one in a thousand runs of 32 base32 letters has no digit
		return ""
	}
	s = strings.ToUpper(strings.TrimRight(s, "="))
	if n := len(s) % 8; n == 1 || n == 3 || n == 6 {
		s = s[:len(s)-1]
	}
	decoded, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(s)
	if err != nil {
		return ""
	}
	return string(decoded)
}

func decodeBase64(s string) string {
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	if len(s)%4 == 1 {
		s = s[:len(s)-1]
	}
	decoded, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return ""
	}
	return string(decoded)
}

// unescape returns the character of one escape.
func unescape(escape string) string {
	digits := strings.TrimLeft(escape, `%\xu`)
	n, err := strconv.ParseUint(digits, 16, 32)
	if err != nil {
		return escape
	}
	if strings.HasPrefix(escape, `\u`) {
		return string(rune(n))
	}
	return string([]byte{byte(n)})
}

// readsAsText reports whether decoded bytes are text, and not the result of decoding something that
// was not encoded.
func readsAsText(s string) bool {
	if len(s) < 8 || !utf8.ValidString(s) {
		return false
	}
	letters := 0
	for _, r := range s {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' && r != '\r' {
			return false
		}
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == ' ' {
			letters++
		}
	}
	return letters*10 >= utf8.RuneCountInString(s)*6
}

// skeleton returns the Latin letter that a Cyrillic, Greek or other letter resembles, or the letter
// itself.
func skeleton(r rune) rune {
	if r < utf8.RuneSelf || r >= 0x590 {
		return r
	}
	if i := strings.IndexRune(lookAlikes, r); i >= 0 {
		return rune(looksLike[utf8.RuneCountInString(lookAlikes[:i])])
	}
	return r
}

// lookAlikes lists lower-case letters of other scripts, and looksLike the Latin letters that they
// resemble, in the same order.
const (
	lookAlikes = "абвгдекмнорстухісјѕԁһԛԝѵӏүɡɑαβγεικνορτυχωѡոհսօցւɩıŀłøđħ"
	looksLike  = "a6brgekmhopctyxicjsdhqwvlygaabyeikvoptuxwwnhuoguiillodh"
)
