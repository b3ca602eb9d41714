package nearest

import (
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	names := []string{"message", "city", "get-image", "add", "cityName", strings.Repeat("long", 100)}
	for typed, want := range map[string]string{
		"mesage": "message", "massage": "message", "MESSAGE": "message", "cty": "city", "citi": "city", "ad": "add",
		"get_image": "get-image", "getImage": "get-image", "city_name": "cityName",
		"dad": "add", "ctiy": "city", "dda": "", "ityc": "",
		"zzz": "", "a": "", "": "", "mess": "", strings.Repeat("long", 90): strings.Repeat("long", 100), strings.Repeat("x", 90): "",
	} {
		if got := Name(typed, names); got != want {
			t.Errorf("%q is taken for %q, want %q", typed, got, want)
		}
	}
	if got := Name("x", nil); got != "" {
		t.Errorf("of no names, %q is the nearest", got)
	}
}

func TestDistance(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "axc", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 2}} {
		if got := distance(test.a, test.b); got != test.want {
			t.Errorf("from %q to %q: %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
