package fields

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

type filter struct {
	Since  time.Time `match:"since" member:"time" doc:"from WHEN on"`
	Until  time.Time `match:"until" member:"time" doc:"before WHEN"`
	Kind   string    `match:"equal" enum:"call,note" doc:"of this KIND"`
	User   string    `match:"equal" doc:"of this USER"`
	Name   string    `name:"tool" match:"part" member:"name" doc:"whose tool has this TEXT"`
	Texts  []string  `name:"grep" doc:"with TEXT (repeatable)"`
	Errors bool      `doc:"only HTTP errors"`
	Count  int       `doc:"end after N lines"`
	PID    int32     `doc:"of this process"`
	Call   uint64    `doc:"of this call"`
	own    int
}

var filters = ParamsOf[filter]()

var whole = filter{Since: time.Date(2026, 11, 29, 1, 2, 3, 0, time.UTC), Kind: "note,call", User: "a,b", Name: "x", Texts: []string{"a", ""}, Errors: true, Count: 3, own: 7}

func TestFlagsSetFields(t *testing.T) {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	read := filters.Flags(set, "until", "pid", "call")
	if err := set.Parse(strings.Fields("--since 2026-11-29T01:02:03Z --kind note,call --user a,b --tool x --grep a --grep= --errors --count 3")); err != nil {
		t.Fatal(err)
	}
	got := filter{own: 7}
	if err := read(&got); err != nil || !reflect.DeepEqual(got, whole) {
		t.Errorf("got %+v, %v", got, err)
	}
	var usages []string
	set.VisitAll(func(f *pflag.Flag) { usages = append(usages, f.Name+": "+f.Usage) })
	want := []string{"count: end after `N` lines", "errors: only HTTP errors", "grep: with `TEXT` (repeatable)", "kind: of this `KIND`", "since: from `WHEN` on", "tool: whose tool has this `TEXT`", "user: of this `USER`"}
	if !reflect.DeepEqual(usages, want) {
		t.Errorf("got %q", usages)
	}
}

func TestParametersSetFields(t *testing.T) {
	q, err := url.ParseQuery("since=2026-11-29T01:02:03Z&kind=note,call&user=a,b&tool=x&grep=a&grep=&errors=true&count=3&unknown=x&until=")
	if err != nil {
		t.Fatal(err)
	}
	got := filter{own: 7}
	if err := filters.Query(&got, q); err != nil || !reflect.DeepEqual(got, whole) {
		t.Errorf("got %+v, %v", got, err)
	}
	got = filter{Errors: true, Count: 2}
	if err := filters.Query(&got, url.Values{"errors": {"0"}}); err != nil || got.Errors || got.Count != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestInvalidValuesAreReported(t *testing.T) {
	for query, want := range map[string]string{
		"since=soon":                `since: expected a time such as 2026-11-23T12:00:00Z, a date, or how long ago, such as 24h, got "soon"`,
		"kind=calls":                `kind: expected one of call, note, got "calls"`,
		"kind=call,":                `kind: expected one of call, note, got ""`,
		"errors=some":               `errors: expected true or false, got "some"`,
		"count=-1":                  `count: expected a number, got "-1"`,
		"pid=2147483648":            `pid: expected a number, got "2147483648"`,
		"call=18446744073709551616": `call: expected a number, got "18446744073709551616"`,
	} {
		q, _ := url.ParseQuery(query)
		err := filters.Query(&filter{}, q)
		wrong := new(ParamError)
		if err == nil || err.Error() != want || !errors.As(err, &wrong) || query != wrong.Name+"="+wrong.Got {
			t.Errorf("%s: got %v", query, err)
		}
		name, value, _ := strings.Cut(query, "=")
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		read := filters.Flags(set)
		if err := set.Parse([]string{"--" + name + "=" + value}); err != nil {
			continue // pflag reports it
		}
		if err := read(&filter{}); err == nil || err.Error() != "--"+want {
			t.Errorf("--%s: got %v", query, err)
		}
	}
}

func TestObjectsFitAFilter(t *testing.T) {
	at := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, test := range []struct {
		filter filter
		object string
		want   bool
	}{
		{filter{}, `{}`, true},
		{filter{Count: 3, Errors: true, Texts: []string{"a"}}, `{}`, true}, // the caller checks these
		{filter{User: "ann"}, `{"user":"ann"}`, true},
		{filter{User: "ann"}, `{"user":"\u0061nn"}`, true},
		{filter{User: "ann"}, `{"user":"Ann"}`, false},
		{filter{User: "ann,bob"}, `{"user":"ann"}`, false},
		{filter{User: "3"}, `{"user":3}`, false},
		{filter{User: "ann"}, `{}`, false},
		{filter{Kind: "call"}, `{"kind":"call"}`, true},
		{filter{Kind: "note,call"}, `{"kind":"call"}`, true},
		{filter{Kind: "note"}, `{"kind":"call"}`, false},
		{filter{Name: "FILE"}, `{"name":"read_file"}`, true},
		{filter{Name: "file"}, `{"name":"a","tool":"file"}`, false},
		{filter{User: "ann", Name: "b"}, `{"user":"ann","name":"a"}`, false},
		{filter{Since: at("2026-11-29T00:00:00Z")}, `{"time":"2026-11-29T00:00:00.000000Z"}`, true},
		{filter{Since: at("2026-11-29T00:00:00Z")}, `{"time":"2026-11-28T23:59:59.999999Z"}`, false},
		{filter{Until: at("2026-11-29T00:00:00Z")}, `{"time":"2026-11-29T00:00:00.000000Z"}`, false},
		{filter{Until: at("2026-11-29T00:00:00Z")}, `{"time":"2026-11-28T23:59:59.999999Z"}`, true},
		{filter{Since: at("2026-11-29T00:00:00Z")}, `{"time":"then"}`, false},
		{filter{Until: at("2026-11-29T00:00:00Z")}, `{}`, false},
	} {
		if got := filters.Fits(&test.filter)([]byte(test.object)); got != test.want {
			t.Errorf("%+v and %s: got %v", test.filter, test.object, got)
		}
	}
}

// The value all, where a tag has it, selects each value.
func TestAllSelectsEachValue(t *testing.T) {
	type filter struct {
		Kind string `match:"equal" enum:"call,note,all" doc:"of this KIND"`
	}
	params := ParamsOf[filter]()
	for given, want := range map[string]string{"all": "", "call,all": "", "call": "call", "call,note": "call,note"} {
		var got filter
		if err := params.Query(&got, url.Values{"kind": {given}}); err != nil || got.Kind != want {
			t.Errorf("%s: got %q, %v, want %q", given, got.Kind, err, want)
		}
	}
}
