package toolsearch

import (
	"sync"

	"github.com/kljensen/snowball/english"
)

// maxStems is how many stems are cached; when there are more the cache starts anew.
const maxStems = 32_768

// stems is a cache of stems: stemming takes a microsecond, and a catalogue has
// the same few thousand words again and again. It is safe for concurrent use.
type stems struct {
	mu    sync.RWMutex
	known map[string]string
}

// of returns the stem of word, or "" if the word says nothing.
func (s *stems) of(word []byte) string {
	s.mu.RLock()
	stem, ok := s.known[string(word)]
	s.mu.RUnlock()
	if ok {
		return stem
	}
	w := string(word)
	if !isStopWord(w) {
		stem = stemOf(w)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil || len(s.known) >= maxStems {
		s.known = make(map[string]string)
	}
	s.known[w] = stem
	return stem
}

// stemOf is the stem of a word in lower case. Words with other letters than
// those of English are their own stem.
func stemOf(word string) string {
	for i := range len(word) {
		if word[i] < 'a' || word[i] > 'z' {
			return word
		}
	}
	return english.Stem(word, true)
}

// isStopWord reports whether a word is too common in English to tell anything.
// Words that name what a tool does, like "get", are not among them.
func isStopWord(word string) bool {
	switch word {
	case "a", "an", "the", "this", "that", "these", "those", "such", "some", "any",
		"and", "or", "but", "if", "then", "than", "so", "as", "also", "too", "just", "very",
		"of", "in", "on", "at", "by", "for", "with", "from", "to", "into", "onto", "about", "via",
		"is", "are", "was", "were", "be", "been", "being", "am", "do", "does", "did", "done",
		"has", "have", "had", "having", "can", "could", "will", "would", "should", "may", "might", "must", "shall",
		"i", "me", "my", "mine", "we", "us", "our", "you", "your", "yours", "it", "its",
		"he", "him", "his", "she", "her", "they", "them", "their",
		"what", "which", "who", "whom", "whose", "when", "where", "why", "how",
		"there", "here", "please", "s", "t", "m", "d", "re", "ve", "ll":
		return true
	}
	return false
}
