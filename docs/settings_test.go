package docs_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/internal/fields/fieldstest"
)

// settingsElsewhere are the parts of the settings that have a table of their own, and where that is.
var settingsElsewhere = map[reflect.Type]string{
	reflect.TypeFor[settings.Authorization](): "authorization.md#a-team-that-logs-in",
	reflect.TypeFor[settings.Provider]():      "authorization.md#users-of-an-openid-provider",
	reflect.TypeFor[settings.Sandbox]():       "sandbox.md",
	reflect.TypeFor[settings.Registry]():      "registry.md",
	reflect.TypeFor[settings.Role]():          "who.md",
}

// settingsMore are the places of its page that say more of a setting, by its path.
var settingsMore = map[string]string{
	"audit": "gateway.md#the-audit-log", "drain": "gateway.md#always-there", "limits": "gateway.md#limits-of-calls", "maxResult": "gateway.md#long-results", "servers.SERVER.maxResult": "gateway.md#long-results",
	"servers.SERVER.isolation": "gateway.md#instances-for-each-user", "servers.SERVER.only": "gateway.md#which-tools-prompts-and-resources",
	"stateKeys": "gateway.md#several-replicas", "peers": "gateway.md#several-replicas", "listen": "gateway.md#for-several-people", "listen.admin": "gateway.md#watching-over-it", "servers.SERVER.onSecretChange": "gateway.md#the-configuration",
	"servers.SERVER.redact": "gateway.md#what-redact-finds", "servers.SERVER.retries": "gateway.md#what-goes-through", "profiles.PROFILE.only": "gateway.md#which-tools-prompts-and-resources",
	"by": "#containers", "watch": "#allow-and-take-away",
}

// settingTables are the tables of settings on other pages than settings.md.
var settingTables = []struct {
	page, header string
	of           reflect.Type
}{
	{"authorization.md", "| member | is | value |", reflect.TypeFor[settings.Authorization]()},
	{"authorization.md", "| member of `provider` | is | value |", reflect.TypeFor[settings.Provider]()},
	{"sandbox.md", "| member | is | value |", reflect.TypeFor[settings.Sandbox]()},
	{"who.md", "| member of a role | is | value |", reflect.TypeFor[settings.Role]()},
	{"registry.md", "| member | is | value |", reflect.TypeFor[settings.Registry]()},
}

func TestPagesHaveEverySetting(t *testing.T) {
	for _, table := range settingTables {
		fieldstest.Page(t, table.page, table.header, settingRowsOf(english, table.page, table.of), *update)
	}
}

// settingRowsOf returns the rows of the members of a struct on a page.
func settingRowsOf(l language, page string, of reflect.Type) string {
	rows := &settingRows{language: l, page: page, seen: map[reflect.Type]string{}}
	rows.add(of, "")
	return rows.String()
}

// settingRows are the rows of a table of settings.
type settingRows struct {
	language
	strings.Builder
	page string
	seen map[reflect.Type]string // the paths of structs that have rows for their members
}

// add writes a row for each member of a struct, whose own path is at.
func (r *settingRows) add(of reflect.Type, at string) {
	for field := range of.Fields() {
		if field.Anonymous {
			r.add(field.Type, at)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		path, typ := at+name, field.Type
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		doc, value := r.doc(field.Tag.Get("doc")), r.settingValue(field)
		if place := cmp.Or(settingsMore[path], settingsElsewhere[typ]); place != "" {
			doc += r.text("; ") + r.link(r.page, "more", place)
		}
		before := r.seen[typ]
		if before != "" {
			value = r.text("as `%s`", before)
		}
		fmt.Fprintf(r, "| `%s` | %s | %s |\n", path, doc, value)
		if typ.Kind() != reflect.Struct || before != "" || settingsElsewhere[typ] != "" {
			continue
		}
		r.seen[typ] = path
		if field.Type.Kind() == reflect.Map {
			path += "." + strings.ToUpper(strings.TrimSuffix(name, "s"))
		}
		r.add(typ, path+".")
	}
}

// settingValue returns what a table says of the values that a setting can have.
func (l language) settingValue(field reflect.StructField) string {
	value, byDefault, most := "", field.Tag.Get("default"), field.Tag.Get("max")
	switch of := field.Type; {
	case field.Tag.Get("enum") != "":
		return strings.Replace("`"+strings.ReplaceAll(field.Tag.Get("enum"), ",", "`"+l.text(", ")+"`")+"`", "`"+byDefault+"`", l.text("`%s` (default)", byDefault), 1)
	case of.Kind() == reflect.Bool:
		return l.text("`false` (default), `true`")
	case of.Kind() == reflect.Slice || of.Kind() == reflect.Map:
		value = l.text("up to %s", most)
	case field.Tag.Get("min") != "":
		value = l.text("%s to %s", field.Tag.Get("min"), most)
	case field.Tag.Get("example") != "":
		value = l.text("such as `%s`", field.Tag.Get("example"))
	case most != "":
		value = l.text("up to %s characters", most)
	}
	if byDefault != "" {
		byDefault = l.text("`%s` (default)", byDefault)
		if value != "" {
			byDefault = l.text("%s, %s", value, byDefault)
		}
		value = byDefault
	}
	return value
}

// settingsBegin is the heading of settings.md below which everything is generated.
const settingsBegin = "All settings"

func TestTheReferenceHasEverySetting(t *testing.T) {
	english.checkReference(t)
	fieldstest.Page(t, "gateway.md", "| setting | is |", english.settingsIndex(), *update)
}

// checkReference fails the test unless the reference of the settings is that of the tags.
func (l language) checkReference(t *testing.T) {
	t.Helper()
	r := &settingsReference{language: l}
	r.add(reflect.TypeFor[settings.Settings](), "", "", 3)
	l.checkPart(t, "settings.md", "## "+l.text(settingsBegin)+"\n", "", r.String())
}

// settingsIndex returns the rows of the settings that have no member above them.
func (l language) settingsIndex() string {
	var rows strings.Builder
	for field := range reflect.TypeFor[settings.Settings]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fmt.Fprintf(&rows, "| [`%s`](settings.md#%s) | %s |\n", name, strings.ToLower(name), l.doc(field.Tag.Get("doc")))
	}
	return rows.String()
}

// checkPart fails the test unless a part of a page, between two texts, is the wanted one. Without
// the second text the part is the rest of the page. With -update it writes the part.
func (l language) checkPart(t *testing.T, page, begin, end, want string) {
	t.Helper()
	page = filepath.Join(l.folder, page)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	after := ""
	if i := strings.Index(rest, end); end != "" && i >= 0 {
		after = rest[i:]
	} else if end != "" {
		found = false
	}
	if !found {
		t.Fatalf("%s lacks %q or %q", page, begin, end)
	}
	written := before + begin + want + after
	if written == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s differs from its tables in the code; write it with -update", page)
	}
	if err := os.WriteFile(page, []byte(written), 0o644); err != nil {
		t.Fatal(err)
	}
}

// A settingsReference is the generated part of settings.md.
type settingsReference struct {
	language
	strings.Builder
	seen []string // paths of structs that have headings for their members, with the name of their type
}

// add writes a heading for each member of a struct whose own path is at, and whose own tag restart is outer.
func (r *settingsReference) add(of reflect.Type, at string, outer settings.Restart, level int) {
	for field := range of.Fields() {
		if field.Anonymous {
			r.add(field.Type, at, outer, level)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		path, typ := strings.TrimPrefix(at+"."+name, "."), field.Type
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		isStruct := typ.Kind() == reflect.Struct
		restart := cmp.Or(settings.Restart(field.Tag.Get("restart")), outer)
		fmt.Fprintf(r, "\n%s %s\n\n%s\n", strings.Repeat("#", level), path, r.wrapped(r.sentence(r.doc(field.Tag.Get("doc")))))
		below := path
		if field.Type.Kind() == reflect.Map {
			below += "." + strings.ToUpper(strings.TrimSuffix(name, "s"))
		}
		var facts []string
		before := slices.IndexFunc(r.seen, func(one string) bool { return strings.HasSuffix(one, " "+typ.Name()) })
		switch {
		case isStruct && before >= 0:
			first, _, _ := strings.Cut(r.seen[before], " ")
			facts = append(facts, r.text("Its members are those of `%s`.", first))
		case !isStruct:
			facts = append(facts, r.settingType(field)...)
		}
		if settings.HasDefaults(field.Type) {
			facts = append(facts, "With the defaults: `\""+name+"\": {}`.")
		}
		if flag, _, _ := strings.Cut(field.Tag.Get("flag"), " "); flag != "" {
			facts = append(facts, r.text("Flag: `--%s`.", flag))
		}
		if !isStruct {
			facts = append(facts, r.text("A change takes effect "+strings.ReplaceAll(restart.Effect(), "junction up", "`junction up`")+"."))
		}
		if more := cmp.Or(settingsMore[path], settingsElsewhere[typ]); more != "" {
			facts = append(facts, r.sentence(r.link("settings.md", "More", more)))
		}
		if len(facts) > 0 {
			fmt.Fprintf(r, "\n%s\n", r.wrapped(r.joined(facts)))
		}
		if isStruct && before < 0 {
			r.seen = append(r.seen, below+" "+typ.Name())
			r.add(typ, below, restart, min(level+1, 4))
		}
	}
}

// settingType returns sentences about the values that a member can have, its default and an example.
func (l language) settingType(field reflect.StructField) []string {
	tag := field.Tag.Get
	name, _, _ := strings.Cut(tag("json"), ",")
	var texts []string
	switch of := field.Type; {
	case tag("enum") != "":
		texts = append(texts, l.text("One of %s.", "`"+strings.ReplaceAll(tag("enum"), ",", "`"+l.text(", ")+"`")+"`"))
	case of.Kind() == reflect.Bool:
		return []string{l.text("`true`, or `false`, which is the default.")}
	case of == reflect.TypeFor[time.Duration]() || of == reflect.TypeFor[*time.Duration]():
		texts = append(texts, l.text("A duration, such as `90s` or `24h`."))
	case of.Kind() == reflect.Int || of.Kind() == reflect.Float64:
		texts = append(texts, l.text("A number from %s to %s.", tag("min"), tag("max")))
	case of.Kind() == reflect.Slice:
		texts = append(texts, l.text("A list with up to %s entries.", tag("max")))
	case of.Kind() == reflect.Map:
		texts = append(texts, l.text("An object with up to %s members.", tag("max")))
	case tag("max") != "":
		texts = append(texts, l.text("A text of up to %s characters.", tag("max")))
	default:
		texts = append(texts, l.text("A text."))
	}
	if tag("default") != "" {
		texts = append(texts, l.text("The default is `%s`.", tag("default")))
	}
	if tag("example") != "" {
		value := tag("example")
		if field.Type.Kind() != reflect.Float64 {
			value = `"` + value + `"`
		}
		texts = append(texts, l.text("Example: `%s`.", `"`+name+`": `+value))
	}
	return texts
}
