package docs

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/fields/fieldstest"
)

func TestTheGatewaysPageHasTheMembersOfAnEntry(t *testing.T) {
	var rows strings.Builder
	for f := range reflect.TypeFor[config.Entry]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		doc := f.Tag.Get("doc")
		if opposite := f.Tag.Get("not"); opposite != "" {
			name += "`, `" + opposite
		}
		also := strings.Fields(f.Tag.Get("also"))
		if name == "url" {
			also = hostconfig.URLMembers()[1:]
		}
		if len(also) > 0 {
			doc += "; read as `" + strings.Join(also, "`, `") + "`, too"
		}
		rows.WriteString("| `" + name + "` | " + doc + " |\n")
	}
	fieldstest.Page(t, "gateway.md", "| member of an entry | is |", rows.String(), *update)
}

func TestThePageAboutLoginsNamesTheMembersOfAnEntrysObjects(t *testing.T) {
	page, err := os.ReadFile("cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []reflect.Type{reflect.TypeFor[config.OAuth](), reflect.TypeFor[config.TLS]()} {
		for f := range object.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" {
				name = f.Tag.Get("secret")
			}
			if name != "" && !strings.Contains(string(page), "`"+name+"`") && !strings.Contains(string(page), `"`+name+`"`) {
				t.Errorf("cli.md does not name %q of %s", name, object.Name())
			}
		}
	}
}

// Each member of the settings that gateway.md has no row for stands on the page about what it belongs to.
func TestThePagesNameEveryMemberOfTheSettings(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var check func(typ reflect.Type, page, text string)
	check = func(typ reflect.Type, page, text string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		if place := settingsElsewhere[typ]; place != "" {
			page, _, _ = strings.Cut(place, "#")
			read, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			text = string(read)
		}
		for f := range typ.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if page != "" && name != "" && !strings.Contains(text, "`"+name+"`") && !strings.Contains(text, `"`+name+`":`) {
				t.Errorf("%s does not name %q of %s", page, name, typ.Name())
			}
			check(f.Type, page, text)
		}
	}
	check(reflect.TypeFor[settings.Settings](), "", "")
}
