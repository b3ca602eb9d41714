package up

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/junction-mcp/junction/gateway/search"
	"github.com/junction-mcp/junction/up/layer"
	"github.com/spf13/pflag"
)

// SettingFlags are the flags of a command that set a member of [settings.Settings]. The struct tag
// flag of the member has the name of the flag and of its value. A flag that the user gives overrides
// that member of the file only.
type SettingFlags struct {
	Set   *pflag.FlagSet
	given settings.Settings // values of the flags or their defaults
	All   []settingFlag
	only  []string // paths of the members that have flags, or of structs with them; empty means all
}

// A settingFlag is one flag of [SettingFlags].
type settingFlag struct {
	Name   string
	Member string // path of the member, such as listen.http
	path   []int  // index of the member for [reflect.Value.FieldByIndex]
	group  string // flag without which this one has no effect; may be empty
}

// NewSettingFlags defines the flags of the members at some paths in a set, and returns them. Without
// paths it defines all flags.
func NewSettingFlags(set *pflag.FlagSet, only ...string) *SettingFlags {
	f := &SettingFlags{Set: set, only: only}
	f.define(reflect.TypeFor[settings.Settings](), nil, "", "")
	if audit := set.Lookup("audit"); audit != nil {
		audit.NoOptDefVal = layer.DefaultAudit
	}
	return f
}

// define defines the flags for the members of a struct type. path is the index of the struct in the
// settings, and at its path. If a flag has the name of the struct, the other flags need that one.
func (f *SettingFlags) define(of reflect.Type, path []int, at, group string) {
	for i := range of.NumField() {
		field := of.Field(i)
		index := append(slices.Clone(path), i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		member := strings.Trim(at+"."+name, ".")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			f.define(inner, index, member, name)
			continue
		}
		if field.Tag.Get("flag") != "" && (len(f.only) == 0 || slices.ContainsFunc(f.only, func(some string) bool { return within(member, some) })) {
			f.defineOne(field, settingFlag{path: index, Member: member}, group)
		}
	}
}

// within reports whether the member at a path is the one at outer, or a part of it.
func within(member, outer string) bool {
	return member == outer || strings.HasPrefix(member, outer+".")
}

// defineOne defines the flag of a member. group is the name of the struct that has the member.
func (f *SettingFlags) defineOne(field reflect.StructField, one settingFlag, group string) {
	name, value, _ := strings.Cut(field.Tag.Get("flag"), " ")
	one.Name = name
	usage := cmp.Or(field.Tag.Get("usage"), field.Tag.Get("doc"))
	if name != group && f.Set.Lookup(group) != nil {
		one.group, usage = group, "with --"+group+": "+field.Tag.Get("doc")
	}
	if enum := field.Tag.Get("enum"); enum != "" && value == "" {
		value = strings.ReplaceAll(enum, ",", "|")
	}
	f.All = append(f.All, one)
	to := memberAt(&f.given, one.path)
	if to.Kind() == reflect.Pointer {
		to.Set(reflect.New(to.Type().Elem()))
		to = to.Elem()
	}
	switch p := to.Addr().Interface().(type) {
	case *string:
		f.Set.StringVar(p, name, field.Tag.Get("default"), usage)
	case *bool:
		f.Set.BoolVar(p, name, false, usage)
	case *time.Duration:
		f.Set.DurationVar(p, name, 0, usage)
	case *[]string:
		f.Set.StringSliceVar(p, name, nil, usage)
	case *int:
		f.Set.IntVar(p, name, 0, usage)
	default:
		panic(fmt.Sprintf("settings: %s: the tag flag is not for a %T", field.Name, p))
	}
	flag := f.Set.Lookup(name)
	flag.DefValue = field.Tag.Get("default")
	if list, is := flag.Value.(pflag.SliceValue); is {
		flag.Value = listWord{flag.Value, list, value}
	} else if value != "" {
		flag.Value = valueWord{flag.Value, value}
	}
}

// memberAt returns the member of settings at an index. Optional structs on the way to it are made if
// they are missing.
func memberAt(s *settings.Settings, path []int) reflect.Value {
	v := reflect.ValueOf(s).Elem()
	for _, i := range path {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}

// Given returns the flag that the user gave for the member at a path, such as --http, or "".
func (f *SettingFlags) Given(member string) string {
	if i := slices.IndexFunc(f.All, func(one settingFlag) bool { return one.Member == member }); i >= 0 && f.Set.Changed(f.All[i].Name) {
		return "--" + f.All[i].Name
	}
	return ""
}

// A valueWord is a flag value that names its own type in the help. A listWord is the same for a
// list.
type (
	valueWord struct {
		pflag.Value
		name string
	}
	listWord struct {
		pflag.Value
		pflag.SliceValue
		name string
	}
)

// Type implements [pflag.Value].
func (n valueWord) Type() string { return n.name }

// Type implements [pflag.Value].
func (n listWord) Type() string { return n.name }

// memberOf returns the path of the member that a flag sets, or "".
func (f *SettingFlags) memberOf(flag string) string {
	if i := slices.IndexFunc(f.All, func(one settingFlag) bool { return one.Name == flag }); i >= 0 {
		return f.All[i].Member
	}
	return ""
}

// wrong returns an error about members, which it names by their flags, or else as the settings do if
// the first one is not given by a flag. The error is one of usage in the first case.
func (f *SettingFlags) wrong(format string, members ...string) error {
	byFlag := f.Given(members[0]) != ""
	names := make([]any, len(members))
	for i, member := range members {
		names[i] = member
		if at := slices.IndexFunc(f.All, func(one settingFlag) bool { return one.Member == member }); byFlag && at >= 0 {
			names[i] = "--" + f.All[at].Name
		}
	}
	if byFlag {
		return cli.Usagef(format, names...)
	}
	return fmt.Errorf(format, names...)
}

// check returns an error for a flag with a value that its member cannot have.
func (f *SettingFlags) check() error {
	for _, one := range f.All {
		if !f.Set.Changed(one.Name) {
			continue
		}
		if _, err := settings.Parse(one.asJSON(memberAt(&f.given, one.path))); err != nil {
			_, why, _ := strings.Cut(err.Error(), ": ")
			return cli.Usagef("--%s: %s", one.Name, why)
		}
	}
	return nil
}

// Apply returns a copy of s with the flags that the user gave applied. The error names a flag that
// is invalid or has no effect.
func (f *SettingFlags) Apply(s *settings.Settings) (*settings.Settings, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	merged := *s
	copied := map[any]bool{}
	for _, one := range f.All {
		if !f.Set.Changed(one.Name) {
			continue
		}
		if outer := reflect.ValueOf(&merged).Elem().Field(one.path[0]); outer.Kind() == reflect.Pointer {
			switch {
			case outer.IsNil() && one.group != "" && !f.Set.Changed(one.group):
				return nil, cli.Usagef("--%s goes with --%s", one.Name, one.group)
			case !outer.IsNil() && !copied[outer.Interface()]: // s stays as it is
				fresh := reflect.New(outer.Type().Elem())
				fresh.Elem().Set(outer.Elem())
				outer.Set(fresh)
				copied[fresh.Interface()] = true
			}
		}
		memberAt(&merged, one.path).Set(memberAt(&f.given, one.path))
	}
	merged.Tools, merged.Review = cmp.Or(merged.Tools, string(search.Auto)), cmp.Or(merged.Review, reach.ReviewNone)
	switch given := f.Set.Changed; {
	case given("pin") && given("tools") && merged.Tools == string(search.All):
		return nil, cli.Usagef("--pin goes with --tools search or --tools auto: all tools are listed")
	case given("shadow") && merged.Shadow && merged.Policy == "":
		return nil, cli.Usagef("--shadow goes with --policy FILE, the rules to try")
	}
	return &merged, nil
}

// asJSON returns settings as JSON that contain only the flag's member. They are used to check the
// value of the flag.
func (one *settingFlag) asJSON(value reflect.Value) []byte {
	v := reflect.Indirect(value).Interface()
	if d, is := v.(time.Duration); is {
		v = d.String()
	}
	for _, name := range slices.Backward(strings.Split(one.Member, ".")) {
		v = map[string]any{name: v}
	}
	data, _ := json.Marshal(v) // encoding strings cannot fail
	return data
}
