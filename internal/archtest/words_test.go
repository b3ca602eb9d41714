package archtest

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
)

// A retiredWord gave way to a word of the specification or of Go. It matches
// whole words.
type retiredWord struct {
	pattern *regexp.Regexp
	instead string
}

func retire(words, instead string) retiredWord {
	return retiredWord{regexp.MustCompile(`\b(?:` + words + `)\b`), instead}
}

var retiredWords = []retiredWord{
	retire(`(?i)news|newsStream`, "notification"),
	retire(`(?i)upcall|courier`, "call"),
	retire(`(?i)patience`, "idle timeout"),
	retire(`Dead`, "Done"),
	retire(`lastWords|wokeModern|giveBack|letGo|setAside|nothingMirrored`, "what it does"),
	retire(`(?i)honou?red`, "obeyed"),
	retire(`(?i)mirrors?|mirrored`, "repeats in a header, paramheader"),
	retire(`Together`, "Parallel"),
	retire(`mcp\.Question|maxQuestions`, "ServerRequest"),
	retire(`left away|leaves? away`, "omitted, omits"),
	retire(`which is the most`, "at most N"),
	retire(`what is none`, "what is not valid"),
	retire(`sees? to it that`, "ensures that"),
	retire(`stands \S+ times`, "occurs N times"),
	retire(`or never was`, "or never existed"),
	retire(`(?:made|begun) anew`, "again"),
}

// retiredIn are the folders whose Go files must not use these words; those of archtest
// name them, and a server in a test is called news.
func retiredIn(p string) bool {
	if !strings.HasSuffix(p, ".go") || strings.HasPrefix(p, "internal/archtest/") || p == "config/format_test.go" {
		return false
	}
	for _, folder := range []string{"mcp", "internal", "gateway", "config", "definitions"} {
		if below(p, folder) {
			return true
		}
	}
	return false
}

func TestWordsAreThoseOfTheSpecificationAndOfGo(t *testing.T) {
	walk(t, func(p string, text []byte) {
		if !retiredIn(p) {
			return
		}
		for _, word := range retiredWords {
			if at := word.pattern.FindIndex(text); at != nil {
				t.Errorf("%s:%d: %q is retired; write %s", p, bytes.Count(text[:at[0]], []byte{'\n'})+1, text[at[0]:at[1]], word.instead)
			}
		}
	})
}
