package guard

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A definition that was accepted without being shown is not approved, in this process and in others
// that read the file.
func TestSeenIsNotApproved(t *testing.T) {
	first, second := Definition{Kind: Tool, Server: "s", Name: "a", Text: "first"}, Definition{Kind: Tool, Server: "s", Name: "a", Text: "second"}
	of := func(d Definition, origin string) Definition { d.Origin = origin; return d }
	type wanted struct {
		d           Definition
		check, seen State
		bySeen      bool // the comparison is with a seen definition
	}
	for _, test := range []struct {
		name string
		do   func(p *Pins) error
		want []wanted
	}{
		{"seen only", func(p *Pins) error { return p.See(first) },
			[]wanted{{first, New, Same, true}, {of(first, "o"), New, Same, true}, {second, New, Changed, true}}},
		{"seen twice", func(p *Pins) error { return p.See(first, second) },
			[]wanted{{first, New, Changed, true}, {second, New, Same, true}}},
		{"seen, then approved", func(p *Pins) error { return errors.Join(p.See(first), p.Approve(first)) },
			[]wanted{{first, Same, Same, false}, {second, Changed, Changed, false}}},
		{"seen, then approved as it is now", func(p *Pins) error { return errors.Join(p.See(first), p.Approve(second)) },
			[]wanted{{first, Changed, Changed, false}, {second, Same, Same, false}}},
		{"seen, then approved of a server of one origin", func(p *Pins) error { return errors.Join(p.See(first), p.Approve(of(second, "o"))) },
			[]wanted{{first, Changed, Same, true}, {second, Same, Same, false}, {of(second, "o"), Same, Same, false}}},
		{"approved, then seen", func(p *Pins) error { return errors.Join(p.Approve(of(first, "o")), p.See(first)) },
			[]wanted{{first, Same, Same, false}, {second, Changed, Changed, false}}},
		{"seen, then forgotten", func(p *Pins) error { p.Forget("other"); err := p.See(first); p.Forget("s"); return err },
			[]wanted{{first, New, New, false}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pins.json")
			pins, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(test.do(pins), pins.Save()); err != nil {
				t.Fatal(err)
			}
			read, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			for where, p := range map[string]*Pins{"here": pins, "in the file": read} {
				for _, w := range test.want {
					check, seen := p.Check(w.d), p.CheckSeen(w.d)
					if check.State != w.check || check.Seen || seen.State != w.seen || seen.Seen != w.bySeen {
						t.Errorf("%s, %s of %q: checked %v, with what was seen %v (%v); want %v, %v (%v)", where, w.d.Text, w.d.Origin, check.State, seen.State, seen.Seen, w.check, w.seen, w.bySeen)
					}
				}
			}
		})
	}
}

// A seen definition is not listed as approved, but is known.
func TestSeenIsNotListed(t *testing.T) {
	var pins Pins
	if err := errors.Join(pins.See(Definition{Kind: Prompt, Server: "seen", Name: "p"}), pins.Approve(Definition{Kind: Tool, Server: "approved", Name: "t"})); err != nil {
		t.Fatal(err)
	}
	if servers, definitions := pins.Servers(), pins.Approved("seen"); strings.Join(servers, " ") != "approved" || len(definitions) > 0 {
		t.Errorf("listed are %q and %+v", servers, definitions)
	}
	if !pins.Knows("seen", Prompt) || pins.Knows("seen", Tool) || !pins.Knows("approved", Tool) || pins.Knows("other", Tool) {
		t.Error("known is something else")
	}
}

// In an old file no definition is only seen: all are approved. An old program does not read seen
// definitions as approved.
func TestOldFilesOfPinsAreApprovals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	d := Definition{Kind: Tool, Server: "s", Name: "a"}
	before := `{"version":1,"pins":[{"hash":"` + d.Hash() + `","approved":"2026-01-02T03:04:05Z","definition":{"kind":"tool","server":"s","name":"a"}}]}`
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	pins, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := pins.Check(d); got.State != Same {
		t.Errorf("it is %v", got.State)
	}
	if err := errors.Join(pins.See(Definition{Kind: Tool, Server: "s", Name: "b"}), pins.Save()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	approved, seen, found := strings.Cut(string(text), `"seen": [`)
	if !found || !strings.Contains(approved, `"name": "a"`) || strings.Contains(approved, `"name": "b"`) || !strings.Contains(seen, `"name": "b"`) {
		t.Errorf("the file is %s", text)
	}
}

// For a seen definition that changed, the earlier one is available for comparison, although it was
// not approved.
func TestCheckReturnsSeenDefinitions(t *testing.T) {
	first, second := Definition{Kind: Tool, Server: "s", Name: "a", Text: "first"}, Definition{Kind: Tool, Server: "s", Name: "a", Text: "second"}
	var pins Pins
	if err := pins.See(first); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ d, old Definition }{{first, Definition{}}, {second, first}, {Definition{Kind: Tool, Server: "s", Name: "b"}, Definition{}}} {
		if got := pins.Check(test.d); got.State != New || got.Seen || got.Old.Kind != test.old.Kind || got.Old.Text != test.old.Text {
			t.Errorf("%+v: %+v", test.d, got)
		}
	}
}

func TestSeenDefinitionsOfOneServerAreBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	pins, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	of := func(server string, i int, text string) Definition {
		return Definition{Kind: Tool, Server: server, Name: fmt.Sprint(i), Text: text}
	}
	for server, text := range map[string]string{"many": "", "large": strings.Repeat("x", maxKept), "many too": "", "and many": "", "still many": ""} {
		for i := range maxPins / 2 {
			if len(text) > 0 && i > 1_000 {
				break
			}
			if err := pins.See(of(server, i, text)); err != nil {
				t.Fatalf("%d of %s: %v", i, server, err)
			}
		}
	}
	honest := of("honest", 1, "")
	if err := errors.Join(pins.See(honest), pins.Approve(of("approved", 1, "")), pins.Save()); err != nil {
		t.Fatal(err)
	}
	read, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for where, p := range map[string]*Pins{"here": pins, "in the file": read} {
		count, bytes := map[string]int{}, map[string]int{}
		for key, one := range p.kept.seen {
			count[key.Server]++
			bytes[key.Server] += one.Definition.size()
		}
		for server, n := range count {
			if of := p.kept.of[server]; n > maxSeenOf || bytes[server] > maxSeenBytes || of.count != n || of.bytes != bytes[server] {
				t.Errorf("%s: of %s there are %d definitions of %d bytes, counted as %+v", where, server, n, bytes[server], of)
			}
		}
		if len(p.kept.seen) > maxSeen || count["large"] < 100 {
			t.Errorf("%s: %d definitions in all, %d of them large", where, len(p.kept.seen), count["large"])
		}
		if v := p.CheckSeen(of("large", 0, strings.Repeat("x", maxKept))); v.State != Same {
			t.Errorf("%s: what was seen first is %v", where, v.State)
		}
		if v := p.CheckSeen(honest); v.State != Same {
			t.Errorf("%s: what was seen last is %v", where, v.State)
		}
		if v := p.Check(of("approved", 1, "")); v.State != Same {
			t.Errorf("%s: what was approved is %v", where, v.State)
		}
	}
	for i := range maxPins - len(pins.kept.approved) {
		if err := pins.Approve(of("approved", i+2, "")); err != nil {
			t.Fatalf("approval %d: %v", i, err)
		}
	}
	if n := pins.kept.size(); n > maxPins {
		t.Errorf("%d definitions are there in all", n)
	}
}

func TestKeptJSONIsLimitedInTheFile(t *testing.T) {
	dir := t.TempDir()
	for name, schema := range map[string]string{
		"deep":     strings.Repeat("[", 100) + strings.Repeat("1,", 15_000) + "1" + strings.Repeat("]", 100),
		"brackets": strings.Repeat("[", 60) + strings.Repeat("[],", 10_000) + "1" + strings.Repeat("]", 60),
		"numbers":  `{"type":"object","enum":[` + strings.Repeat("1, ", 5_000) + `1]}`,
	} {
		pins, err := Load(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		d := Definition{Kind: Tool, Server: "s", Name: name, Schema: []byte(schema), OutputSchema: []byte(schema), Annotations: []byte(schema), Icons: []byte(schema)}
		if err := errors.Join(pins.See(d), pins.Save()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() > 4*maxIndented+maxKept {
			t.Errorf("%s: the file has %d bytes, %v", name, info.Size(), err)
		}
		read, err := Load(filepath.Join(dir, name))
		if err != nil || read.CheckSeen(d).State != Same {
			t.Errorf("%s: it is %v in the file, %v", name, read.CheckSeen(d).State, err)
		}
	}
}
