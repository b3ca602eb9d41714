package model_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/model"
)

var portable = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$`)

func TestNamesThatArePortableStayAsTheyAre(t *testing.T) {
	t.Parallel()
	names := model.NewNames()
	for _, name := range []string{"calculator__add", "_x", "a", "files__read-file", strings.Repeat("a", 64), "git__show_deadbee", "git__show_DEADBEEF"} {
		if got := names.Portable(name); got != name {
			t.Errorf("%q became %q", name, got)
		}
	}
}

func TestNamesThatAreNotPortableBecomeSo(t *testing.T) {
	t.Parallel()
	originals := []string{
		"", "1password__get", "-x", "git.hub__search", "git hub__search", "git/hub__search", "服务器__天气", "服务器__时间",
		strings.Repeat("a", 65), strings.Repeat("a", 65) + "b", strings.Repeat("é", 80), "emoji__😀", "x__y_0123abcd", "a\x00b", "a\xffb",
	}
	names := model.NewNames()
	seen := map[string]string{}
	for _, original := range originals {
		name := names.Portable(original)
		if !portable.MatchString(name) || name == original {
			t.Errorf("%q became %q", original, name)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q are both %q", original, other, name)
		}
		seen[name] = original
		if names.Portable(original) != name || names.Original(name) != original {
			t.Errorf("%q is %q, and back %q", original, name, names.Original(name))
		}
	}
	if names.Original("nobody") != "" {
		t.Error("a name that nobody made stands for something")
	}
}

func TestNamesDoNotDependOnTheirOrder(t *testing.T) {
	t.Parallel()
	originals := []string{"a.b__c", "a_b__c", "a b__c", "a/b__c", strings.Repeat("x", 70), strings.Repeat("x", 71)}
	forward, backward := model.NewNames(), model.NewNames()
	for i := range originals {
		forward.Portable(originals[i])
		backward.Portable(originals[len(originals)-1-i])
	}
	for _, original := range originals {
		if a, b := forward.Portable(original), backward.Portable(original); a != b {
			t.Errorf("%q is %q, or %q in another order", original, a, b)
		}
	}
}

func TestNoToolCanTakeAnothersHash(t *testing.T) {
	t.Parallel()
	names := model.NewNames()
	victim := names.Portable("bank.com__pay")
	if thief := names.Portable(victim); thief == victim || names.Original(victim) != "bank.com__pay" {
		t.Errorf("%q is taken by %q", victim, thief)
	}
	other := model.NewNames()
	other.Portable(victim)
	if got := other.Portable("bank.com__pay"); got != victim {
		t.Errorf("with the thief first it is %q, not %q", got, victim)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("server__tool", "server.tool")
	f.Fuzz(func(t *testing.T, a, b string) {
		names := model.NewNames()
		x, y := names.Portable(a), names.Portable(b)
		if !portable.MatchString(x) || !portable.MatchString(y) {
			t.Errorf("%q %q", x, y)
		}
		if (a == b) != (x == y) || names.Original(x) != a || names.Original(y) != b {
			t.Errorf("%q is %q, %q is %q", a, x, b, y)
		}
	})
}
