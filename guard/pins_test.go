package guard

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestPinsKnowNewSameAndChanged(t *testing.T) {
	var pins Pins
	d := sample()
	if v := pins.Check(d); v.State != New || v.Hash != d.Hash() {
		t.Errorf("before approval: %v", v)
	}
	if err := pins.Approve(d); err != nil {
		t.Fatal(err)
	}
	if v := pins.Check(d); v.State != Same || v.Approved.IsZero() {
		t.Errorf("after approval: %v", v)
	}
	changed := d
	changed.Description = "Adds numbers and more."
	v := pins.Check(changed)
	if v.State != Changed || v.Old.Description != d.Description {
		t.Errorf("after a change: %v", v)
	}
	if v := pins.Check(d); v.State != Same {
		t.Errorf("the approved definition must stay usable: %v", v)
	}
	if err := pins.Approve(changed); err != nil {
		t.Fatal(err)
	}
	if v := pins.Check(changed); v.State != Same {
		t.Errorf("after the second approval: %v", v)
	}
	if v := pins.Check(d); v.State != Changed {
		t.Errorf("what was approved before counts no more: %v", v)
	}
	pins.Forget("calc")
	if v := pins.Check(changed); v.State != New || len(pins.Approved("calc")) != 0 {
		t.Errorf("after forgetting: %v", v)
	}
}

func TestPinsAreFull(t *testing.T) {
	pins := Pins{kept: newPinned()}
	known := Definition{Kind: Tool, Server: "s", Name: "0"}
	for i := range maxPins {
		pins.kept.approved[pinKey{Kind: Tool, Server: "s", Name: fmt.Sprint(i)}] = approvals{pin{}}
	}
	if err := pins.Approve(known); err != nil {
		t.Errorf("one that is there already: %v", err)
	}
	if err := pins.Approve(sample()); !errors.Is(err, ErrTooManyPins) {
		t.Errorf("one more: %v", err)
	}
	if pins.Check(sample()).State != New {
		t.Error("a failed approval approved something")
	}
}

func TestPinsSurviveTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "pins.json")
	pins, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	hostile := Definition{Kind: Tool, Server: "s", Name: "bad\xff", Description: "broken \xff", Schema: json.RawMessage(`{"broken`), Text: strings.Repeat("x", 2*maxKept)}
	if err := pins.Approve(sample(), hostile); err != nil {
		t.Fatal(err)
	}
	if err := pins.Save(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info.Mode(), err)
	}
	again, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if v := again.Check(sample()); v.State != Same {
		t.Errorf("after loading: %v", v)
	}
	longer := hostile
	longer.Text += "y"
	if v := pins.Check(longer); v.State != Changed || len(v.Old.Text) > maxKept+32 {
		t.Errorf("a change beyond what is kept: %v", v.State)
	}
}

func TestPinsOfTwoProcessesAreMerged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			pins, err := Load(path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := pins.Approve(Definition{Kind: Tool, Server: fmt.Sprint("server", i), Name: "t"}); err != nil {
				t.Error(err)
			}
			if err := pins.Save(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	pins, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		if v := pins.Check(Definition{Kind: Tool, Server: fmt.Sprint("server", i), Name: "t"}); v.State != Same {
			t.Errorf("server%d: %v", i, v.State)
		}
	}
	pins.Forget("server3")
	if err := pins.Save(); err != nil {
		t.Fatal(err)
	}
	if again, err := Load(path); err != nil || len(again.Approved("server3")) != 0 || len(again.Approved("server4")) != 1 {
		t.Errorf("after forgetting one: %v", err)
	}
}

func TestPinsOfABrokenFileAreAnError(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON":         "{",
		"another version": `{"version":2}`,
		"another file":    `[]`,
	} {
		path := filepath.Join(t.TempDir(), "pins.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var memory Pins
	if err := memory.Save(); err == nil {
		t.Error("pins without a file were saved")
	}
}

func TestForgottenAndReapprovedPinsAreSavedInOrder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	named := func(server, name string) Definition { return Definition{Kind: Tool, Server: server, Name: name} }
	pins, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []Definition{named("s", "old"), named("s", "again"), named("other", "stays")} {
		if err := pins.Approve(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := pins.Save(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		pins.Forget("s")
		if err := pins.Approve(named("s", "again")); err != nil {
			t.Fatal(err)
		}
	}
	if pins.changes.fresh.size() != 1 || len(pins.changes.forgotten) != 1 {
		t.Errorf("%d pins and %d servers are remembered for the file", pins.changes.fresh.size(), len(pins.changes.forgotten))
	}
	if err := pins.Save(); err != nil {
		t.Fatal(err)
	}
	saved, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for d, want := range map[string]State{"old": New, "again": Same} {
		if got := saved.Check(named("s", d)).State; got != want {
			t.Errorf("%s is %v, want %v", d, got, want)
		}
	}
	if got := saved.Check(named("other", "stays")).State; got != Same {
		t.Errorf("of another server: %v", got)
	}
}

func TestDiffShowsChanges(t *testing.T) {
	old, new := sample(), sample()
	if got := Diff(old, new); got != "" || len(Changes(old, new)) != 0 {
		t.Errorf("of the same: %q", got)
	}
	old.Description = "Adds numbers. Is fast."
	new.Description = "Adds numbers. Is\u200b slow."
	new.Schema = json.RawMessage(`{"properties":{"b":{"enum":["x","y"]},"a":{"default":2,"type":"number"}},"type":"object"}`)
	got := Diff(old, new)
	for _, want := range []string{"-Is fast.", "+Is⟨U+200B⟩ slow.", " Adds numbers.", "--- schema (approved)", `-      "default": 1.50,`, `+      "default": 2,`} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "title") {
		t.Errorf("a title that did not change is shown:\n%s", got)
	}
}

func TestServersOfOneNameKeepTheirApprovals(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	pins, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	command := func(folder string) Definition {
		return Definition{Kind: Command, Server: "time", Text: "uvx mcp-server-time in " + folder, Origin: folder}
	}
	tool := func(folder, says string) Definition {
		return Definition{Kind: Tool, Server: "time", Name: "now", Description: says, Origin: folder}
	}
	check := func(about string, d Definition, want State) {
		t.Helper()
		if got := pins.Check(d).State; got != want {
			t.Errorf("%s: got %v, want %v", about, got, want)
		}
	}
	check("nothing approved", command("a"), New)
	if err := pins.Approve(command("a"), tool("a", "one")); err != nil {
		t.Fatal(err)
	}
	check("another folder", command("b"), Changed)
	check("the same tool of another folder", tool("b", "one"), Same)
	check("another tool of another folder", tool("b", "two"), Changed)
	if err := pins.Approve(command("b"), tool("b", "two")); err != nil {
		t.Fatal(err)
	}
	if err := pins.Save(); err != nil {
		t.Fatal(err)
	}
	if pins, err = Load(path); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"a", "b", "a"} {
		check("back in "+folder, command(folder), Same)
	}
	check("the tool of a", tool("a", "one"), Same)
	check("the tool of a as that of b", tool("a", "two"), Changed)
	check("the tool of b", tool("b", "two"), Same)
	for i := range maxOrigins {
		if err := pins.Approve(command(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	check("the oldest of too many", command("a"), Changed)
	pins.Forget("time")
	check("forgotten", command("b"), New)
}
