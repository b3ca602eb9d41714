package toolsearch

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func words(text string) (out []string) {
	var s splitter
	s.split(text, func(w []byte, _ bool) bool {
		out = append(out, string(w))
		return true
	})
	return out
}

func TestTextIsSplitIntoWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                                {"", ""},
		"signs alone":                            {" --_.!", ""},
		"plain words":                            {"Read the file.", "read the file"},
		"snake case":                             {"read_text_file", "read text file"},
		"kebab case":                             {"read-text", "read text"},
		"camel case gives the whole as well":     {"readFile", "read file readfile"},
		"a brand in camel case is still found":   {"GitHub", "git hub github"},
		"capitals before a word":                 {"HTTPServer", "http server httpserver"},
		"a plural of capitals stays whole":       {"APIs", "apis"},
		"the same before a sign":                 {"URLs, please", "urls please"},
		"digits are parts":                       {"base64", "base 64 base64"},
		"digits between letters":                 {"s3Bucket", "s 3 bucket s3bucket"},
		"a number":                               {"2026", "2026"},
		"an apostrophe ends a word":              {"what's", "what s"},
		"Chinese goes character by character":    {"搜索文件", "搜 索 文 件"},
		"Japanese as well, Latin in between not": {"ファイルread検索", "フ ァ イ ル read 検 索"},
		"Korean too":                             {"파일", "파 일"},
		"wide letters and signs are plain ones":  {"ｒｅａｄＦｉｌｅ，２", "read file readfile 2"},
		"accents stay":                           {"Café ÉCOLE", "café école"},
		"Greek and Cyrillic in lower case":       {"ΑΒΓ Файл", "αβγ файл"},
		"a combining mark belongs to its letter": {"e\u0301te", "e\u0301te"},
		"bytes that are no text separate":        {"a\xffb", "a b"},
		"a zero byte separates":                  {"a\x00b", "a b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(words(c.text), " "); got != c.want {
				t.Errorf("%q is %q, want %q", c.text, got, c.want)
			}
		})
	}
}

func TestALongWordIsCutAndSplittingStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	if got := words(strings.Repeat("a", 10_000)); len(got) != 1 || len(got[0]) != maxWord {
		t.Errorf("got %d words, the first of %d bytes", len(got), len(got[0]))
	}
	for _, text := range []string{"one two three", "oneTwoThree", "一二三"} {
		var s splitter
		n := 0
		s.split(text, func([]byte, bool) bool { n++; return n < 2 })
		if n != 2 {
			t.Errorf("%q: f was called %d times after it said stop at 2", text, n)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, text := range []string{"readFile", "HTTPServer2x", "搜索 files", "a\xff\xfe", "e\u0301", `a "b" 'c' d'e 'f`, strings.Repeat("aB1", 50)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var s splitter
		var first []string
		s.split(text, func(w []byte, _ bool) bool {
			if len(w) == 0 || len(w) > maxWord+utf8.UTFMax || bytes.ContainsAny(w, " \t\n_-./") {
				t.Fatalf("%q has the word %q", text, w)
			}
			if utf8.ValidString(text) && !utf8.Valid(w) {
				t.Fatalf("%q is valid, its word %q is not", text, w)
			}
			first = append(first, string(w))
			return true
		})
		var again []string
		s.split(text, func(w []byte, _ bool) bool { again = append(again, string(w)); return true })
		if !slices.Equal(first, again) {
			t.Fatalf("%q is %q, and then %q", text, first, again)
		}
		for _, w := range first {
			stemOf(w)
		}
		at := 0
		for _, q := range appendQuoted(nil, text) {
			if q.start < at || q.end < q.start+2 || q.end > len(text) {
				t.Fatalf("%q: the quotation %+v comes after %d", text, q, at)
			}
			at = q.end
		}
	})
}

func TestWordsAreStemmedAndStopWordsAreNothing(t *testing.T) {
	t.Parallel()
	var s stems
	for word, want := range map[string]string{"files": "file", "searching": "search", "the": "", "what": "", "news": "news", "get": "get", "café": "café", "64": "64", "文": "文"} {
		for range 2 { // the second answer is from the cache
			if got := s.of([]byte(word)); got != want {
				t.Errorf("the stem of %q is %q, want %q", word, got, want)
			}
		}
	}
}

func TestTheCacheOfStemsIsBounded(t *testing.T) {
	t.Parallel()
	var s stems
	word := []byte("0000000")
	for range maxStems + 10 {
		for i := len(word) - 1; ; i-- {
			if word[i]++; word[i] <= '9' {
				break
			}
			word[i] = '0'
		}
		s.of(word)
	}
	if len(s.known) > maxStems {
		t.Errorf("%d stems are cached", len(s.known))
	}
}

func TestSynonymsGoBothWaysAndNotToThemselves(t *testing.T) {
	t.Parallel()
	all := newSynonyms()
	for stem, others := range all {
		for _, o := range others {
			if o == stem {
				t.Errorf("%q is its own synonym", stem)
			}
			if !slices.Contains(all[o], stem) {
				t.Errorf("%q is a synonym of %q, but not the other way", o, stem)
			}
		}
		if isStopWord(stem) {
			t.Errorf("%q is a stop word", stem)
		}
	}
	if !slices.Contains(all[stemOf("mail")], stemOf("email")) {
		t.Error("email is no synonym of mail")
	}
}
