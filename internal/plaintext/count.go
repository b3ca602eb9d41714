package plaintext

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Count returns a number of things. The plural of the name gets an s, or es after an s: "1 tool",
// "2 tools".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if strings.HasSuffix(thing, "s") {
		thing += "e"
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Beginning returns the longest prefix of s of at most n bytes that ends with a whole character.
func Beginning(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:max(n, 0)]
}

// Short returns s if it has at most n bytes, otherwise its Beginning and an ellipsis.
func Short(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Beginning(s, n) + "…"
}

// plainWord matches a word that no shell changes.
var plainWord = regexp.MustCompile(`^[\w./:@%+=,-]+$`)

// ShellWord returns a word as it can be typed. Servers choose names of files, hosts and tools, and
// a shell executes "$(…)".
func ShellWord(word string) string {
	switch {
	case plainWord.MatchString(word):
		return word
	case strings.ContainsAny(word, "$`\\!\""):
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strconv.Quote(word)
}

// ShellWords returns words as they can be typed.
func ShellWords(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, ShellWord(word))
	}
	return strings.Join(all, " ")
}

// maxNames limits the names that FirstNames returns.
const maxNames = 2

// FirstNames returns the first names and the number of others.
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
