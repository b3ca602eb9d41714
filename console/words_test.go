package console

import (
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	wordLine = regexp.MustCompile(`(?m)^  '([a-z][\w.-]*)': (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"),$`)
	// wordUse matches a key in the modules; a composed key ends at its first part:
	// t(`app.theme.${name}`).
	wordUse = regexp.MustCompile("(?:\\bt|\\bplural)\\((?:'([^']+)'|`([^`$]+)([`$]))")
	// languageRow matches a row of the table in words.js.
	languageRow = regexp.MustCompile(`(?m)^  (\w+): \{name: '[^']+', locale: '[^']+', words: (\w+)\},$`)
	value       = regexp.MustCompile(`\{\w+\}`)
)

// wordsOf returns the texts of a language.
func wordsOf(t *testing.T, language string) map[string]string {
	t.Helper()
	data, err := fs.ReadFile(web, "web/words/"+language+".js")
	if err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for _, found := range wordLine.FindAllStringSubmatch(string(data), -1) {
		if _, twice := words[found[1]]; twice {
			t.Errorf("%s: %s is there twice", language, found[1])
		}
		words[found[1]] = found[2] + found[3]
	}
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "  ") && !wordLine.MatchString(strings.TrimSuffix(line, "\n")) {
			t.Errorf("%s: expected a line of the form 'key': 'text', and not %s", language, line)
		}
	}
	return words
}

// languages returns the keys of the page's table of languages.
func languages(t *testing.T) (keys []string) {
	t.Helper()
	data, err := fs.ReadFile(web, "web/words.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range languageRow.FindAllStringSubmatch(string(data), -1) {
		if row[1] != row[2] {
			t.Errorf("the language %s has the words of %s", row[1], row[2])
		}
		keys = append(keys, row[1])
	}
	slices.Sort(keys)
	return keys
}

func TestEveryLanguageIsInTheTable(t *testing.T) {
	files, err := fs.Glob(web, "web/words/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range files {
		files[i] = strings.TrimSuffix(path.Base(name), ".js")
	}
	if keys := languages(t); len(keys) < 2 || !slices.Equal(keys, files) {
		t.Errorf("the table has %v, and there are words of %v", keys, files)
	}
}

func TestAllLanguagesHaveTheSameTexts(t *testing.T) {
	en := wordsOf(t, "en")
	for _, language := range languages(t) {
		words := wordsOf(t, language)
		for _, key := range slices.Sorted(maps.Keys(en)) {
			other, is := words[key]
			if !is {
				t.Errorf("%s: %s is missing", language, key)
				continue
			}
			if a, b := values(en[key]), values(other); !slices.Equal(a, b) {
				t.Errorf("%s: %s has the values %v, and in English %v", language, key, b, a)
			}
		}
		for key := range words {
			if _, is := en[key]; !is {
				t.Errorf("%s has %s, which is missing in English", language, key)
			}
		}
	}
}

// values returns the placeholders of a text, without the number of a plural, which languages may
// treat differently.
func values(text string) []string {
	all := slices.DeleteFunc(value.FindAllString(text, -1), func(v string) bool { return v == "{n}" })
	slices.Sort(all)
	return slices.Compact(all)
}

func TestAllTextsExistAndAreUsed(t *testing.T) {
	words := wordsOf(t, "en")
	var modules strings.Builder
	entries, err := fs.Glob(web, "web/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range entries {
		data, err := fs.ReadFile(web, name)
		if err != nil {
			t.Fatal(err)
		}
		modules.Write(data)
		for _, found := range wordUse.FindAllStringSubmatch(string(data), -1) {
			switch key := found[1] + found[2]; {
			case found[3] == "$":
				if !slices.ContainsFunc(slices.Collect(maps.Keys(words)), func(k string) bool { return strings.HasPrefix(k, key) }) {
					t.Errorf("%s: no text begins with %s", name, key)
				}
			case words[key] == "" && words[key+".one"] == "":
				t.Errorf("%s: there is no text %s", name, key)
			}
		}
	}
	all := modules.String()
	for key := range words {
		whole := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".other")
		if strings.Contains(all, "'"+whole+"'") {
			continue
		}
		// A composed key occurs as its beginning, or by a view's name.
		beginning := whole[:strings.LastIndexByte(whole, '.')+1]
		if !strings.Contains(all, "`"+beginning+"${") && !strings.HasSuffix(whole, ".title") {
			t.Errorf("nothing uses the text %s", key)
		}
	}
}
