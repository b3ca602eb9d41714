package use_test

import (
	"slices"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/use"
	"github.com/junction-mcp/junction/launch"
)

func TestServersThatAnswerFollowEachOtherAsTheyAreConfigured(t *testing.T) {
	server := func(name string) *use.ListedServer { return &use.ListedServer{Entry: launch.Entry{Name: name}} }
	a, b, c, d := server("a"), server("b"), server("c"), server("d")
	r := &use.ResultOrder{Open: []*use.ListedServer{a, b, c, d}}
	for _, step := range []struct {
		name  string
		there *use.ListedServer // that answers; nil: one takes long
		want  []*use.ListedServer
	}{
		{"the second one waits for the first", b, nil},
		{"the first one brings it along", a, []*use.ListedServer{a, b}},
		{"the last one waits, too", d, nil},
		{"until the one before takes long", nil, []*use.ListedServer{d}},
		{"which comes last", c, []*use.ListedServer{c}},
	} {
		if step.there == nil {
			r.Late = true
		} else {
			r.There = append(r.There, step.there)
		}
		if got := r.Next(); !slices.Equal(got, step.want) {
			t.Errorf("%s: shown are %v", step.name, got)
		}
	}
}
