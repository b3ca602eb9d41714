package offline

import (
	"regexp"
	"strings"
)

// maxSteps is how many steps of one question are taken.
const maxSteps = 16

var (
	separator = regexp.MustCompile(`^(?:[;\n]|(?i:[,.]?\s{1,8}(?:and\s{1,8})?then[,:]?\s))`)
	opening   = regexp.MustCompile(`^(?i:(?:first|finally|please|and|then)[,:]?\s+)+`)
)

// steps takes a question apart at "then", semicolons and line ends. What is
// quoted stays together, and so does JSON. cut tells that there were too many.
func steps(question string) (found []string, cut bool) {
	add := func(s string) {
		if s = strings.TrimSpace(opening.ReplaceAllString(strings.TrimSpace(s), "")); s != "" {
			found = append(found, s)
		}
	}
	start := 0
	for i := 0; i < len(question); {
		if _, end, ok := literal(question, i); ok && (i == 0 || strings.IndexByte(" \t\n=:(,", question[i-1]) >= 0) {
			i = end
			continue
		}
		if at := separator.FindStringIndex(question[i:]); at != nil {
			add(question[start:i])
			start = i + at[1]
			i = start
			continue
		}
		i++
	}
	add(question[start:])
	if len(found) > maxSteps {
		return found[:maxSteps], true
	}
	return found, false
}
