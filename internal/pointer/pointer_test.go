package pointer

import (
	"slices"
	"testing"
)

func TestPathsAreSplit(t *testing.T) {
	for path, want := range map[string][]string{
		"/user/email": {"user", "email"}, "/user": {"user"}, "/a~1b/~0/*": {"a/b", "~", "*"}, "/a//b": {"a", "", "b"},
		"": nil, "/": nil, "user": nil, "entities.*.observations": nil, "$.user": nil, "/a~": nil, "/~2": nil,
	} {
		if got, err := Split(path); !slices.Equal(got, want) || (err == nil) != (want != nil) {
			t.Errorf("%q: got %q, %v", path, got, err)
		}
	}
}
