package docs

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"

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
	"audit": "#the-audit-log", "drain": "#always-there", "limits": "#limits-of-calls", "maxResult": "#long-results", "servers.SERVER.maxResult": "#long-results",
	"servers.SERVER.isolation": "#instances-for-each-user", "servers.SERVER.only": "#which-tools-prompts-and-resources",
	"servers.SERVER.redact": "#what-redact-finds", "servers.SERVER.retries": "#what-goes-through", "profiles.PROFILE.only": "#which-tools-prompts-and-resources",
	"by": "#containers", "watch": "#allow-and-take-away",
}

// settingsHold say when a change of a setting holds, by its tag restart.
var settingsHold = map[settings.Restart]string{
	"":                      "at once",
	settings.RestartServer:  "at once: the server starts anew",
	settings.RestartGateway: "when `junction up` starts again",
	settings.RestartTokens:  "when `junction up` starts again",
}

func TestPagesHaveEverySetting(t *testing.T) {
	for _, table := range []struct {
		page, header string
		of           reflect.Type
	}{
		{"gateway.md", "| setting | is | value | flag | a change holds |", reflect.TypeFor[settings.Settings]()},
		{"authorization.md", "| member | is | value |", reflect.TypeFor[settings.Authorization]()},
		{"authorization.md", "| member of `provider` | is | value |", reflect.TypeFor[settings.Provider]()},
		{"sandbox.md", "| member | is | value |", reflect.TypeFor[settings.Sandbox]()},
		{"who.md", "| member of a role | is | value |", reflect.TypeFor[settings.Role]()},
		{"registry.md", "| member | is | value |", reflect.TypeFor[settings.Registry]()},
	} {
		rows := &settingRows{seen: map[reflect.Type]string{}, columns: strings.Count(table.header, "|") - 1}
		rows.add(table.of, "")
		fieldstest.Page(t, table.page, table.header, rows.String(), *update)
	}
}

// asWritten are the parts of a text that a user writes so: flags, references and patterns.
var asWritten = regexp.MustCompile(`--[a-z][a-z-]*|\$\{[^}]+\}|[^\s,;()]*\*[^\s,;()]*`)

// settingRows are the rows of a table of settings.
type settingRows struct {
	strings.Builder
	seen    map[reflect.Type]string // the paths of structs that have rows for their members
	columns int
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
		doc, flag, value, holds := asWritten.ReplaceAllString(field.Tag.Get("doc"), "`$0`"), "", settingValue(field), settingsHold[settings.Restart(field.Tag.Get("restart"))]
		if place := cmp.Or(settingsMore[path], settingsElsewhere[typ]); place != "" {
			doc += "; [more](" + place + ")"
		}
		if name, _, _ := strings.Cut(field.Tag.Get("flag"), " "); name != "" {
			flag = "`--" + name + "`"
		}
		before := r.seen[typ]
		if before != "" {
			value = "as `" + before + "`"
		} else if typ.Kind() == reflect.Struct && field.Tag.Get("restart") == "" {
			holds = "" // that of its members
		}
		fmt.Fprintf(r, "| %s |\n", strings.Join([]string{"`" + path + "`", doc, value, flag, holds}[:r.columns], " | "))
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
