package console

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// viewRow matches a row of the table in views.js.
var viewRow = regexp.MustCompile(`(?m)^  \{name: '(\w+)', key: '(\w)', module: (\w+)\},$`)

func TestViewsOfTheTable(t *testing.T) {
	table, err := fs.ReadFile(web, "web/views.js")
	if err != nil {
		t.Fatal(err)
	}
	rows := viewRow.FindAllStringSubmatch(string(table), -1)
	if lines := strings.Count(string(table), "\n  {"); len(rows) < 4 || len(rows) != lines {
		t.Fatalf("%d of %d rows have the form {name: 'NAME', key: 'K', module: NAME}", len(rows), lines)
	}
	words, keys := wordsOf(t, "en"), map[string]string{}
	for _, row := range rows {
		name, key, module := row[1], row[2], row[3]
		text, err := fs.ReadFile(web, "web/"+name+".js")
		if err != nil || name != module || !strings.Contains(string(text), "\nexport function view(") {
			t.Errorf("%s: expected a module of that name with a function view: %v", name, err)
		}
		if words[name+".title"] == "" {
			t.Errorf("%s: there is no text %s.title", name, name)
		}
		if other := keys[key]; other != "" {
			t.Errorf("%s and %s have the key %s", other, name, key)
		}
		keys[key] = name
	}
}
