package guard

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
)

const (
	// maxConfirmation is the maximum size in bytes of a result that only confirms a call.
	maxConfirmation = 2 << 10
	// maxConfirmed is the maximum number of words and arguments in such a result.
	maxConfirmed = 32
	// maxRepeated is the maximum number of arguments in such a result.
	maxRepeated = 8
	// maxGiven is the maximum number of texts in the call's arguments, because many short ones
	// could serve as an alphabet.
	maxGiven = 32
	// leastRepeated is the minimum length in letters of an argument that a result may repeat.
	leastRepeated = 3
)

// confirming lists the words that a confirmation may use. None describes a state or existence.
var confirming = strings.Fields("successfully success successful ok done wrote written write to into file files directory directories folder created create " +
	"updated update deleted delete removed moved renamed from copied saved added stored edited set sent the and has have been was were with as")

// Confirms reports whether the result of a writing call only confirms the call. Such a result
// repeats arguments of the call, each whole and once, and its other words are in a short list. So
// it contains nothing that the server read, and need not be [Private].
func Confirms(arguments []byte, result string) bool {
	if len(result) > maxConfirmation {
		return false
	}
	var decoded any
	if json.Unmarshal(arguments, &decoded) != nil {
		return false
	}
	words, given, repeated := confirmedWords(result), appendWords(nil, decoded), 0
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

// appendWords appends the words of each text in the arguments and of each member's name.
func appendWords(all [][]string, value any) [][]string {
	switch value := value.(type) {
	case string:
		all = append(all, confirmedWords(value))
	case []any:
		for _, element := range value {
			all = appendWords(all, element)
		}
	case map[string]any:
		for name, member := range value {
			all = appendWords(append(all, confirmedWords(name)), member)
		}
	}
	return all
}

// confirmedWords returns the words and numbers of a text. Characters outside ASCII are part of
// words.
func confirmedWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool {
		return r < unicode.MaxASCII && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}
