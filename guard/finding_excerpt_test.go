package guard

import (
	"strings"
	"testing"
)

func TestAnExcerptIsWholeWords(t *testing.T) {
	for _, test := range []struct{ text, place, want string }{
		{"a page (will be verified, and never shared with anyone else)", "never shared", "…be verified, and never shared with anyone else)"},
		{"never shared with anybody in the whole wide world", "never shared", "never shared with anybody in…"},
		{"never shared", "never shared", "never shared"},
		{"ééééééééééééééééééééénever sharedééééééééééééééééééééé", "never shared", "…never shared…"},
	} {
		start := strings.Index(test.text, test.place)
		if got := excerpt(test.text, start, start+len(test.place)); got != test.want {
			t.Errorf("of %q: %q, want %q", test.text, got, test.want)
		}
	}
}
