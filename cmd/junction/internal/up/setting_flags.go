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

// SettingFlags are the flags of junction up that set a member of [settings.Settings]. The struct
// tag flag of the member has the name of the flag and of its value. A flag that the user gives
// overrides that member of the file only.
type SettingFlags struct {
	Set   *pflag.FlagSet
	given settings.Settings // values of the flags or their defaults
	All   []settingFlag
}

// A settingFlag is one flag of [SettingFlags].
type settingFlag struct {
	Name  string
	path  []int  // index of the member for [reflect.Value.FieldByIndex]
	group string // flag without which this one has no effect; may be empty
}

// NewSettingFlags defines the flags in a set and returns them.
func NewSettingFlags(set *pflag.FlagSet) *SettingFlags {
	f := &SettingFlags{Set: set, given: settings.Settings{Audit: &settings.Audit{}}}
	f.define(reflect.TypeFor[settings.Settings](), nil, "")
	set.Lookup("audit").NoOptDefVal = layer.DefaultAudit
	return f
}

// define defines the flags for the members of a struct type. path is the index of the struct in the
// settings. If the struct is optional, all its flags need the first one.
func (f *SettingFlags) define(of reflect.Type, path []int, group string) {
	for i := range of.NumField() {
		field := of.Field(i)
		at := append(slices.Clone(path), i)
		if field.Type == reflect.TypeFor[*settings.Audit]() {
			f.define(field.Type.Elem(), at, field.Tag.Get("json"))
			continue
		}
		name, value, _ := strings.Cut(field.Tag.Get("flag"), " ")
		if name == "" {
			continue
		}
		one := settingFlag{Name: name, path: at}
		usage := field.Tag.Get("doc")
		if group, _, _ = strings.Cut(group, ","); group != "" && group != name {
			one.group, usage = group, "with --"+group+": "+usage
		} else if own := field.Tag.Get("usage"); own != "" {
			usage = own
		}
		if enum := field.Tag.Get("enum"); enum != "" {
			value = strings.ReplaceAll(enum, ",", "|")
		}
		f.All = append(f.All, one)
		switch p := reflect.ValueOf(&f.given).Elem().FieldByIndex(at).Addr().Interface().(type) {
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

// Apply returns a copy of s with the flags that the user gave applied. The error names a flag that
// is invalid or has no effect.
func (f *SettingFlags) Apply(s *settings.Settings) (*settings.Settings, error) {
	merged := *s
	if merged.Audit != nil || f.Set.Changed("audit") {
		merged.Audit = new(settings.Audit)
		if s.Audit != nil {
			*merged.Audit = *s.Audit
		}
	}
	for _, one := range f.All {
		if !f.Set.Changed(one.Name) {
			continue
		}
		if one.group != "" && merged.Audit == nil {
			return nil, cli.Usagef("--%s goes with --%s", one.Name, one.group)
		}
		value := reflect.ValueOf(&f.given).Elem().FieldByIndex(one.path)
		if _, err := settings.Parse(one.asJSON(value)); err != nil {
			_, why, _ := strings.Cut(err.Error(), ": ")
			return nil, cli.Usagef("--%s: %s", one.Name, why)
		}
		reflect.ValueOf(&merged).Elem().FieldByIndex(one.path).Set(value)
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
	v := value.Interface()
	if d, is := v.(time.Duration); is {
		v = d.String()
	}
	of := reflect.TypeFor[settings.Settings]()
	names := make([]string, 0, len(one.path))
	for _, i := range one.path {
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		names, of = append(names, name), of.Field(i).Type
	}
	for _, name := range slices.Backward(names) {
		v = map[string]any{name: v}
	}
	data, _ := json.Marshal(v) // encoding strings cannot fail
	return data
}
