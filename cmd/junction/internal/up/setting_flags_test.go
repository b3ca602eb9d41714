package up_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config/settings"
	"github.com/spf13/pflag"
)

// TestFlagsOfSettings finds each tag flag below the settings among the flags of junction up.
func TestFlagsOfSettings(t *testing.T) {
	set := pflag.NewFlagSet("up", pflag.ContinueOnError)
	up.NewSettingFlags(set)
	seen := map[reflect.Type]bool{}
	tags := 0
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(of.Elem())
		case reflect.Struct:
			if seen[of] {
				return
			}
			seen[of] = true
			for i := range of.NumField() {
				field := of.Field(i)
				if name := field.Tag.Get("flag"); name != "" {
					tags++
					word, _, _ := strings.Cut(name, " ")
					if set.Lookup(word) == nil {
						t.Errorf("%s.%s: no flag --%s: only members of Settings and Audit are flags", of.Name(), field.Name, word)
					}
				}
				walk(field.Type)
			}
		}
	}
	walk(reflect.TypeFor[settings.Settings]())
	if tags < 10 {
		t.Errorf("%d tags", tags)
	}
}
