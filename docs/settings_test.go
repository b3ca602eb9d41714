package docs

import (
	"cmp"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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

func TestPagesHaveEverySetting(t *testing.T) {
	for _, table := range []struct {
		page, header string
		of           reflect.Type
	}{
		{"authorization.md", "| member | is | value |", reflect.TypeFor[settings.Authorization]()},
		{"authorization.md", "| member of `provider` | is | value |", reflect.TypeFor[settings.Provider]()},
		{"sandbox.md", "| member | is | value |", reflect.TypeFor[settings.Sandbox]()},
		{"who.md", "| member of a role | is | value |", reflect.TypeFor[settings.Role]()},
		{"registry.md", "| member | is | value |", reflect.TypeFor[settings.Registry]()},
	} {
		rows := &settingRows{seen: map[reflect.Type]string{}}
		rows.add(table.of, "")
		fieldstest.Page(t, table.page, table.header, rows.String(), *update)
	}
}

// asWritten are the parts of a text that a user writes so: flags, references and patterns.
var asWritten = regexp.MustCompile(`--[a-z][a-z-]*|\$\{[^}]+\}|[^\s,;()]*\*[^\s,;()]*`)

// settingRows are the rows of a table of settings.
type settingRows struct {
	strings.Builder
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
		doc, value := written(field.Tag.Get("doc")), settingValue(field)
		if place := cmp.Or(settingsMore[path], settingsElsewhere[typ]); place != "" {
			doc += "; [more](" + place + ")"
		}
		before := r.seen[typ]
		if before != "" {
			value = "as `" + before + "`"
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
func settingValue(field reflect.StructField) string {
	value, byDefault, most := "", field.Tag.Get("default"), field.Tag.Get("max")
	switch of := field.Type; {
	case field.Tag.Get("enum") != "":
		return strings.Replace("`"+strings.ReplaceAll(field.Tag.Get("enum"), ",", "`, `")+"`", "`"+byDefault+"`", "`"+byDefault+"` (default)", 1)
	case of.Kind() == reflect.Bool:
		return "`false` (default), `true`"
	case of.Kind() == reflect.Slice || of.Kind() == reflect.Map:
		value = "up to " + most
	case field.Tag.Get("min") != "":
		value = field.Tag.Get("min") + " to " + most
	case field.Tag.Get("example") != "":
		value = "such as `" + field.Tag.Get("example") + "`"
	case most != "":
		value = "up to " + most + " characters"
	}
	if byDefault != "" {
		value = strings.TrimPrefix(value+", `"+byDefault+"` (default)", ", ")
	}
	return value
}

// settingsBegin is the heading of settings.md below which everything is generated.
const settingsBegin = "## All settings\n"

func TestTheReferenceHasEverySetting(t *testing.T) {
	page, err := os.ReadFile("settings.md")
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(page), settingsBegin)
	if !found {
		t.Fatalf("settings.md has no heading %q", settingsBegin)
	}
	r := &settingsReference{}
	r.add(reflect.TypeFor[settings.Settings](), "", "", 3)
	if want := before + settingsBegin + r.String(); want != string(page) {
		if !*update {
			t.Fatal("settings.md is not that of the tags; write it with -update")
		}
		if err := os.WriteFile("settings.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var rows strings.Builder
	for field := range reflect.TypeFor[settings.Settings]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fmt.Fprintf(&rows, "| [`%s`](settings.md#%s) | %s |\n", name, strings.ToLower(name), written(field.Tag.Get("doc")))
	}
	fieldstest.Page(t, "gateway.md", "| setting | is |", rows.String(), *update)
}

// written returns a text in which flags, references and patterns are code.
func written(doc string) string { return asWritten.ReplaceAllString(doc, "`$0`") }

// A settingsReference is the generated part of settings.md.
type settingsReference struct {
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
		doc := written(field.Tag.Get("doc"))
		fmt.Fprintf(r, "\n%s %s\n\n%s\n", strings.Repeat("#", level), path, wrapped(strings.ToUpper(doc[:1])+doc[1:]+"."))
		below := path
		if field.Type.Kind() == reflect.Map {
			below += "." + strings.ToUpper(strings.TrimSuffix(name, "s"))
		}
		var facts []string
		before := slices.IndexFunc(r.seen, func(one string) bool { return strings.HasSuffix(one, " "+typ.Name()) })
		switch {
		case isStruct && before >= 0:
			first, _, _ := strings.Cut(r.seen[before], " ")
			facts = append(facts, "Its members are those of `"+first+"`.")
		case !isStruct:
			facts = append(facts, settingType(field))
		}
		if settings.HasDefaults(field.Type) {
			facts = append(facts, "With the defaults: `\""+name+"\": {}`.")
		}
		if flag, _, _ := strings.Cut(field.Tag.Get("flag"), " "); flag != "" {
			facts = append(facts, "Flag: `--"+flag+"`.")
		}
		if !isStruct {
			facts = append(facts, "A change takes effect "+strings.ReplaceAll(restart.Effect(), "junction up", "`junction up`")+".")
		}
		if more := cmp.Or(settingsMore[path], settingsElsewhere[typ]); more != "" {
			facts = append(facts, "[More]("+more+").")
		}
		if len(facts) > 0 {
			fmt.Fprintf(r, "\n%s\n", wrapped(strings.Join(facts, " ")))
		}
		if isStruct && before < 0 {
			r.seen = append(r.seen, below+" "+typ.Name())
			r.add(typ, below, restart, min(level+1, 4))
		}
	}
}

// settingType returns sentences about the values that a member can have, its default and an example.
func settingType(field reflect.StructField) string {
	tag := field.Tag.Get
	name, _, _ := strings.Cut(tag("json"), ",")
	text := ""
	switch of := field.Type; {
	case tag("enum") != "":
		text = "One of `" + strings.ReplaceAll(tag("enum"), ",", "`, `") + "`."
	case of.Kind() == reflect.Bool:
		return "`true`, or `false`, which is the default."
	case of == reflect.TypeFor[time.Duration]() || of == reflect.TypeFor[*time.Duration]():
		text = "A duration, such as `90s` or `24h`."
	case of.Kind() == reflect.Int || of.Kind() == reflect.Float64:
		text = "A number from " + tag("min") + " to " + tag("max") + "."
	case of.Kind() == reflect.Slice:
		text = "A list with up to " + tag("max") + " entries."
	case of.Kind() == reflect.Map:
		text = "An object with up to " + tag("max") + " members."
	case tag("max") != "":
		text = "A text of up to " + tag("max") + " characters."
	default:
		text = "A text."
	}
	if tag("default") != "" {
		text += " The default is `" + tag("default") + "`."
	}
	if tag("example") != "" {
		value := tag("example")
		if k := field.Type.Kind(); k != reflect.Float64 {
			value = `"` + value + `"`
		}
		text += " Example: `\"" + name + `": ` + value + "`."
	}
	return text
}

// wrapped breaks a text into lines of at most 100 characters.
func wrapped(text string) string {
	var b strings.Builder
	length := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case length == 0:
		case length+1+utf8.RuneCountInString(word) > 100:
			b.WriteByte('\n')
			length = 0
		default:
			b.WriteByte(' ')
			length++
		}
		b.WriteString(word)
		length += utf8.RuneCountInString(word)
	}
	return b.String()
}
