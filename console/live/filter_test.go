package live

import (
	"flag"
	"net/url"
	"reflect"
	"slices"
	"testing"

	"github.com/junction-mcp/junction/internal/fields"
	"github.com/junction-mcp/junction/internal/fields/fieldstest"
	"github.com/junction-mcp/junction/traffic"
)

var update = flag.Bool("update", false, "write the table of parameters")

func TestThePageHasTheParameters(t *testing.T) {
	fieldstest.Page(t, "../../docs/console.md", "| parameter | shows only |", filters.Markdown(""), *update)
}

// A parameter with the name of a field of messages finds messages by that field.
func TestParametersAreFieldsOfMessages(t *testing.T) {
	own := []string{"text", "errors", "pid", "ping", "headers"}
	all := fields.Of[traffic.Event]().Fields()
	for _, p := range filters.List() {
		if !slices.Contains(own, p.Name) && !slices.ContainsFunc(all, func(f fields.Field) bool { return f.Name == p.Name }) {
			t.Errorf("messages have no field %q", p.Name)
		}
		if p.Name == "kind" && !reflect.DeepEqual(p.Enum, kinds[1:]) {
			t.Errorf("kind is one of %q, want %q", p.Enum, kinds[1:])
		}
	}
}

func TestSeveralKindsAreShown(t *testing.T) {
	r := opened(t, Options{})
	for _, kind := range kinds[1:] {
		r.Add(7, &traffic.Event{Time: began, Kind: kind, Hop: traffic.Client})
	}
	for query, want := range map[string][]string{"kind=error": {"error"}, "kind=error,note": {"error", "note"}, "kind=dropped,request": {"request", "dropped"}} {
		q, _ := url.ParseQuery(query)
		f, err := filterOf(q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range r.list(&f, 0, true, 100).Items {
			got = append(got, one.Kind)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s shows %q, want %q", query, got, want)
		}
	}
}
