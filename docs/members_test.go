package docs_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/config"
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
