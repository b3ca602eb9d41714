package docs

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/hostconfig"
)

// UPDATE=1 writes the table.
func TestTheGatewaysPageHasTheMembersOfAnEntry(t *testing.T) {
	const title = "| member of an entry | is |\n|---|---|\n"
	page, err := os.ReadFile("gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	before, list, found := strings.Cut(string(page), title)
	list, after, ends := strings.Cut(list, "\n\n")
	if !found || !ends {
		t.Fatalf("gateway.md has no table %q", title)
	}
	var rows []string
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
		rows = append(rows, "| `"+name+"` | "+doc+" |")
	}
	if want := strings.Join(rows, "\n"); list != want {
		if os.Getenv("UPDATE") != "" {
			err = os.WriteFile("gateway.md", []byte(before+title+want+"\n\n"+after), 0o644)
		}
		t.Errorf("gateway.md has another table of members (%v); UPDATE=1 go test ./docs -run Members writes it:\n%s", err, want)
	}
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
