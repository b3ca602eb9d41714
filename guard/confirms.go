package guard

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
)

const (
	// maxConfirmation is how many bytes a text has at most that only confirms a call.
	maxConfirmation = 2 << 10
	// maxConfirmed is how many words and arguments it has at most.
	maxConfirmed = 32
	// maxRepeated is how many of them are arguments.
	maxRepeated = 8
	// maxGiven is how many texts the call has at most: many could serve as an alphabet.
	maxGiven = 32
	// leastRepeated is how many letters an argument has that counts.
	leastRepeated = 3
)

// confirming are the words of texts that only say that a call was carried out. None says how something is, or whether it is
// there.
var confirming = strings.Fields("successfully success successful ok done wrote written write to into file files directory directories folder created create " +
	"updated update deleted delete removed moved renamed from copied saved added stored edited set sent the and has have been was were with as")

// Confirms reports whether a result of a call that writes says no more than that it was carried out: it repeats arguments of the call,
// each of them whole and once, and its other words are those of a short list. So it has nothing that the server read, and need not be [Private].
func Confirms(arguments []byte, result string) bool {
	if len(result) > maxConfirmation {
		return false
	}
	var decoded any
	if json.Unmarshal(arguments, &decoded) != nil {
		return false
	}
	words, given, repeated := confirmedWords(result), givenIn(nil, decoded), 0
	if len(given) > maxGiven {
		return false
	}
	for pieces := 0; len(words) > 0; pieces++ {
		longest, which := 0, -1
		for i, argument := range given {
			if len(argument) > longest && len(argument) <= len(words) && slices.Equal(argument, words[:len(argument)]) && len(strings.Join(argument, "")) >= leastRepeated {
				longest, which = len(argument), i
			}
		}
		if which >= 0 {
			given = slices.Delete(given, which, which+1)
			if repeated++; repeated > maxRepeated {
				return false
			}
		}
		if longest == 0 && slices.Contains(confirming, strings.ToLower(words[0])) {
			longest = 1
		}
		if longest == 0 || pieces == maxConfirmed {
			return false
		}
		words = words[longest:]
	}
	return repeated > 0
}

// givenIn appends the words of each text, and of each name of a member, in arguments.
func givenIn(all [][]string, value any) [][]string {
	switch value := value.(type) {
	case string:
		all = append(all, confirmedWords(value))
	case []any:
		for _, element := range value {
			all = givenIn(all, element)
		}
	case map[string]any:
		for name, member := range value {
			all = givenIn(append(all, confirmedWords(name)), member)
		}
	}
	return all
}

// confirmedWords are the words and numbers of a text; what is not ASCII is part of a word.
func confirmedWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
