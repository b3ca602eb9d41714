package guard

import (
	"path/filepath"
	"slices"
	"testing"
)

// The user's declaration that a tool only reads applies to the definition and server that they saw.
func TestAToolIsHeldToReadOnlyAsItWasApproved(t *testing.T) {
	d := sample()
	changed := d
	changed.Description = "Adds numbers and more."
	for _, test := range []struct {
		name   string
		then   func(*Pins) error
		asked  Definition
		origin string
		want   bool
	}{
		{"the same", nil, d, "npx calc", true},
		{"the same, and others were approved", func(p *Pins) error {
			return p.Approve(Definition{Kind: Tool, Server: d.Server, Name: "other"})
		}, d, "npx calc", true},
		{"another tool of that server", nil, Definition{Kind: Tool, Server: d.Server, Name: "other"}, "npx calc", false},
		{"a changed definition", nil, changed, "npx calc", false},
		{"another program of that name", nil, d, "npx other", false},
		{"a change that was approved without a word", func(p *Pins) error { return p.Approve(changed) }, changed, "npx calc", false},
		{"an approval that takes the word back", func(p *Pins) error { return p.Approve(d) }, d, "npx calc", false},
		{"forgotten", func(p *Pins) error { p.Forget(d.Server); return p.Approve(d) }, d, "npx calc", false},
	} {
		path := filepath.Join(t.TempDir(), "pins.json")
		pins, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := pins.ApproveReading("npx calc", d); err != nil {
			t.Fatal(err)
		}
		if test.then != nil {
			if err := test.then(pins); err != nil {
				t.Fatal(err)
			}
		}
		if err := pins.Save(); err != nil {
			t.Fatal(err)
		}
		again, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		for when, p := range map[string]*Pins{"at once": pins, "read again": again} {
			if got := p.Reads(test.asked, test.origin); got != test.want {
				t.Errorf("%s, %s: held to read only: %v", test.name, when, got)
			}
			if listed := p.Reading(d.Server); test.want && !slices.Equal(listed, []string{d.Name}) || len(p.Reading("other")) != 0 {
				t.Errorf("%s, %s: listed are %q", test.name, when, listed)
			}
		}
	}
}
