package console

import (
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	wordLine = regexp.MustCompile(`(?m)^  '([a-z][\w.-]*)': (?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"),$`)
	// wordUse is a key as the modules name it; one that is put together ends at its first part: t(`app.theme.${name}`).
	wordUse = regexp.MustCompile("(?:\\bt|\\bplural)\\((?:'([^']+)'|`([^`$]+)([`$]))")
	value   = regexp.MustCompile(`\{\w+\}`)
)

// wordsOf are the texts of a language.
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

func TestBothLanguagesHaveTheSameTexts(t *testing.T) {
	en, zh := wordsOf(t, "en"), wordsOf(t, "zh")
	for _, key := range slices.Sorted(maps.Keys(en)) {
		other, is := zh[key]
		if !is {
			t.Errorf("%s is missing in Chinese", key)
			continue
		}
		if a, b := values(en[key]), values(other); !slices.Equal(a, b) {
			t.Errorf("%s has the values %v in English and %v in Chinese", key, a, b)
		}
	}
	for key := range zh {
		if _, is := en[key]; !is {
			t.Errorf("%s is missing in English", key)
		}
	}
}

// values are what is replaced in a text, without the number of a plural, which a language may say otherwise.
func values(text string) []string {
	all := slices.DeleteFunc(value.FindAllString(text, -1), func(v string) bool { return v == "{n}" })
	slices.Sort(all)
	return slices.Compact(all)
}

func TestEveryTextIsThereAndUsed(t *testing.T) {
	words := wordsOf(t, "en")
	var modules strings.Builder
	entries, err := fs.Glob(web, "web/*.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range entries {
		data, err := fs.ReadFile(web, path)
		if err != nil {
			t.Fatal(err)
		}
		modules.Write(data)
		for _, found := range wordUse.FindAllStringSubmatch(string(data), -1) {
			switch key := found[1] + found[2]; {
			case found[3] == "$":
				if !slices.ContainsFunc(slices.Collect(maps.Keys(words)), func(k string) bool { return strings.HasPrefix(k, key) }) {
					t.Errorf("%s: no text begins with %s", path, key)
				}
			case words[key] == "" && words[key+".one"] == "":
				t.Errorf("%s: there is no text %s", path, key)
			}
		}
	}
	all := modules.String()
	for key := range words {
		whole := strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".other")
		if strings.Contains(all, "'"+whole+"'") {
			continue
		}
		// One that is put together is named by its beginning, or by a view's name.
		beginning := whole[:strings.LastIndexByte(whole, '.')+1]
		if !strings.Contains(all, "`"+beginning+"${") && !strings.HasSuffix(whole, ".title") {
			t.Errorf("nothing uses the text %s", key)
		}
	}
}
