package docs

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
)

func TestTheGatewaysPageNamesEveryMemberOfAnEntry(t *testing.T) {
	text, err := os.ReadFile("gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "The members of an entry are ")
	list, _, ends := strings.Cut(list, "\n\n")
	if !found || !ends {
		t.Fatal("gateway.md has no paragraph \"The members of an entry are …\"")
	}
	for _, member := range config.EntryMembers() {
		if !strings.Contains(list, "`"+member+"`") {
			t.Errorf("gateway.md does not name %q among the members of an entry", member)
		}
	}
}

// Each member of the settings stands on the page about what it belongs to.
func TestThePagesNameEveryMemberOfTheSettings(t *testing.T) {
	pages := map[reflect.Type]string{
		reflect.TypeFor[settings.Authorization](): "authorization.md", reflect.TypeFor[settings.Sandbox](): "sandbox.md", reflect.TypeFor[settings.Registry](): "registry.md",
	}
	texts := map[string]string{}
	seen := map[reflect.Type]bool{}
	var check func(typ reflect.Type, page string)
	check = func(typ reflect.Type, page string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		if own := pages[typ]; own != "" {
			page = own
		}
		if texts[page] == "" {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			texts[page] = string(text)
		}
		text := texts[page]
		if page == "gateway.md" {
			_, text, _ = strings.Cut(text, "\n## Settings\n")
			text, _, _ = strings.Cut(text, "\n## ")
		}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, `"`+name+`":`) {
				t.Errorf("%s does not name %q of %s", page, name, typ.Name())
			}
			check(f.Type, page)
		}
	}
	check(reflect.TypeFor[settings.Settings](), "gateway.md")
}
