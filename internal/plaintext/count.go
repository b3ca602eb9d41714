package plaintext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Count returns a number and a noun in singular or plural, such as "1 tool" or "2 tools". The
// plural ends in s, or in es if the noun ends in s.
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "s") {
		thing += "e"
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Beginning returns the longest prefix of s that has at most n bytes and does not split a
// character.
func Beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:max(n, 0)]
}

// Short returns s if it has at most n bytes. Otherwise it returns a prefix of at most n bytes and
// an ellipsis.
func Short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Beginning(s, n) + "…"
}

// plainWord matches a word without characters that have a meaning in a shell.
var plainWord = regexp.MustCompile(`^[\w./:@%+=,-]+$`)

// ShellWord returns word with the quotes that it needs in a shell. Words such as names of files,
// hosts and tools can come from servers, and a shell executes "$(…)".
func ShellWord(word string) string {
	switch {
	case plainWord.MatchString(word):
		return word
	case strings.ContainsAny(word, "$`\\!\""):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strconv.Quote(word)
}

// ShellWords returns words, with the quotes that they need in a shell, joined by spaces.
func ShellWords(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, ShellWord(word))
	}
	return strings.Join(all, " ")
}

// maxNames is the number of names that FirstNames returns.
const maxNames = 2

// FirstNames returns the first names, and the number of further names.
func FirstNames(names []string) string {
	some := make([]string, 0, maxNames+1)
	for _, name := range names[:min(len(names), maxNames)] {
		some = append(some, Line(name, 100))
	}
	if more := len(names) - len(some); more > 0 {
		some = append(some, fmt.Sprintf("%d more", more))
	}
	return strings.Join(some, ", ")
}
