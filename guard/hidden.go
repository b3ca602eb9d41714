package guard

import (
	"strings"
	"unicode/utf8"
)

// addHidden adds signals for hidden characters. It reports whether some are at places where only
// concealment explains them.
func addHidden(r *report, text string, at Where) (concealed bool) {
	found, tags := hiddenIn(text)
	if !found {
		return false
	}
	weight := 2
	switch {
	case tags:
		weight = warnAt + 1
	case at.Part != InResult && at.Part != InResource:
		weight = warnAt
	}
	r.add(signal{rule: "hidden-characters", weight: weight, where: at.Field, excerpt: hiddenExcerpt(text), why: "has invisible characters"})
	return true
}

// addControls adds a signal for characters that control a terminal, with which text can overwrite
// or hide other text. Definitions have no use for them. The output of programs may have colors,
// except colors that hide text.
func addControls(r *report, text string, at Where) {
	start := strings.IndexFunc(text, func(c rune) bool {
		return c < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f' || c == 0x7f || c >= 0x80 && c < 0xa0 && c != 0x85
	})
	if start < 0 {
		return
	}
	if at.Part == InResult || at.Part == InResource {
		if start = strings.Index(text, "\x1b[8m"); start < 0 {
			return
		}
	}
	r.add(signal{rule: "hidden-characters", weight: warnAt, where: at.Field, excerpt: excerpt(text, start, start+1), why: "has characters that command a terminal, which can hide what is written"})
}

// hiddenIn reports whether text has hidden characters other than a byte order mark, and whether tag
// characters are among them.
func hiddenIn(text string) (found, tags bool) {
	if !hasHidden(text) {
		return false, false
	}
	position := 0
	eachHidden(text, func(part string, hidden bool) {
		if hidden && (part != "\ufeff" || position > 0) {
			first, _ := utf8.DecodeRuneInString(part)
			found, tags = true, tags || isTag(first)
		}
		position += len(part)
	})
	return found, tags
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func hiddenExcerpt(text string) string {
	found, position, result := false, 0, ""
	eachHidden(text, func(part string, hidden bool) {
		if hidden && !found {
			found, result = true, excerpt(text, position, position+min(len(part), 80))
		}
		position += len(part)
	})
	return result
}
