package console

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

var (
	scriptRow   = regexp.MustCompile("(?m)^\\| [^|]+ \\| `([^`]+)` \\| `(MAX_\\w+)` \\| `console/(web/\\w+\\.js)` \\|$")
	scriptLimit = regexp.MustCompile(`(?m)^(?:export )?const (MAX_\w+) = (.+);$`)
)

// A module of the page that has a limit in docs/limits.md has all of its limits there.
func TestTheLimitsOfThePageAreThoseOfTheTable(t *testing.T) {
	table, err := os.ReadFile("../docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]map[string]string{} // module → name → value
	for _, row := range scriptRow.FindAllStringSubmatch(string(table), -1) {
		if rows[row[3]] == nil {
			rows[row[3]] = map[string]string{}
		}
		rows[row[3]][row[2]] = row[1]
	}
	if len(rows) < 5 {
		t.Errorf("the table has limits of %d modules; are its rows | what | `value` | `MAX_NAME` | `console/web/module.js` |?", len(rows))
	}
	for module, named := range rows {
		text, err := fs.ReadFile(web, module)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, found := range scriptLimit.FindAllStringSubmatch(string(text), -1) {
			name, value := found[1], found[2]
			switch is := named[name]; {
			case is == "" && strings.HasSuffix(name, "_SHOWN"): // shortens what is shown
			case is == "":
				t.Errorf("%s: %s has no row in docs/limits.md", module, name)
			case is != value:
				t.Errorf("%s: %s is %s, and the table says %s", module, name, value, is)
			}
			delete(named, name)
		}
		for name := range named {
			t.Errorf("docs/limits.md: %s has no %s", module, name)
		}
	}
}
