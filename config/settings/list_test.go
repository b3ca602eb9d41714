package settings

import (
	"fmt"
	"strings"
	"testing"
)

func TestMembersAreListedWithTheirValues(t *testing.T) {
	const key = "0123456789abcdef0123456789abcdef"
	s, err := Parse([]byte(`{"tools":"all","limits":{"sessions":5,"taskTime":"2h"},"stateKeys":["` + key + `","${file:key}"],
		"servers":{"a.b":{"sandbox":{"weaker":true},"tools":{"x":{"fixed":{"token":"ghp_` + strings.Repeat("a1B2", 9) + `"}}}}},"drain":{"time":"1s"}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, m := range s.List() {
		got[m.Name()] = fmt.Sprint(string(m.Shown()), " ", m.Restart)
	}
	for name, want := range map[string]string{
		"tools":                        `"all" `,
		"names":                        `"prefix" `,
		"limits.sessions":              `5 gateway`,
		"limits.unanswered":            `5 gateway`,
		"limits.taskTime":              `"2h0m0s" gateway`,
		"limits.sessionTime":           `"30m0s" gateway`,
		"drain.time":                   `"1s" gateway`,
		"stateKeys":                    `["***","${file:key}"] `,
		"servers.a.b.sandbox.weaker":   `true server`,
		"servers.a.b.tools.x.fixed":    `{"token":"***"} `,
		"servers.a.b.sandbox.memory":   "",
		"audit.sync":                   "", // there is no audit log
		"authorization.provider.email": "",
	} {
		if got[name] != want {
			t.Errorf("%s: %s, want %s", name, got[name], want)
		}
	}
}
