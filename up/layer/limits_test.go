package layer

import (
	"testing"

	"github.com/junction-mcp/junction/config/settings"
)

// The counts of a limit stay when the first roles appear, and when the last ones go.
func TestLimitsGoOnWhenRolesAppear(t *testing.T) {
	planOf := func(text string) *Plan {
		roles, s := rolesOf(t, text)
		p := &Plan{Settings: s, roles: roles}
		if err := readLimits(&Stack{}, p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	const limits = `"limits": {"rate": "10/h", "bytes": "1MB/h", "concurrent": 3}`
	without, with := `{`+limits+`}`, `{`+limits+`, "roles": {"all": {"who": ["*"], "rate": "99/h"}, "keys": {"who": ["key:ann"]}}}`
	for name, texts := range map[string][2]string{"roles appear": {without, with}, "roles go": {with, without}} {
		before, next := planOf(texts[0]), planOf(texts[1])
		keepLimits(next, before)
		for _, one := range kindsOf(settings.Limits{Rate: "10/h", Bytes: "1MB/h", Concurrent: 3}) {
			of := limitOf{user: one}
			if was, is := before.limits[of].Limiter, next.limits[of].Limiter; was == nil || was != is {
				t.Errorf("%s: the counts of %+v restart", name, one)
			}
		}
	}
}
