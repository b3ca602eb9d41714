package prefix_test

import (
	"testing"

	"github.com/junction-mcp/junction/state/internal/prefix"
)

func TestEnd(t *testing.T) {
	for of, want := range map[string]string{
		"": "", "a": "b", "a\xff": "b", "\xff\xff": "", "a/": "a0", "a\xfe": "a\xff", "a\uFFFD": "a\xef\xbf\xbe",
	} {
		if got := prefix.End(of); got != want {
			t.Errorf("the end of %q is %q, want %q", of, got, want)
		}
	}
}
