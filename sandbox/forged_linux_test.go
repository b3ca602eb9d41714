package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/junction-mcp/junction/sandbox/internal/watch"
)

// A server may invent its error messages and try to open any file, and a user pastes the proposed
// command.
func TestSuggestedCommandsDoNotAllowFurtherSecrets(t *testing.T) {
	root := machine(t)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("JUNCTION_STATE", root+"/data/state")
	for _, name := range []string{"home/.config/junction/mcp.json", "home/.cache/junction/packages/a/index.js", "data/state/approvals.json"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const junction, keys = ": it is where Junction keeps its settings, approvals and packages", ": it is where keys, logins or histories are kept"
	for _, c := range []struct{ path, read, write, mentioned string }{ // % stands for the path, and $ for its folder
		{"/data/two/x", "read %; --read %", "write %; --write %", "see %; --read %"},
		{"/data/two/new", "", "write %; --write $", "see %; --write $"},
		{"/home/.ssh/id", "read %; --read %", "write %; --write %", "see %; --read %"},
		{"/home/.ssh/authorized_keys2", "", "write %" + keys, "see %" + keys},
		{"/home/.config/junction/mcp.json", "read %" + junction, "write %" + junction, "see %" + junction},
		{"/home/.config/junction/new.json", "", "write %" + junction, "see %" + junction},
		{"/home/.cache/junction/packages/a/index.js", "read %" + junction, "write %" + junction, "see %" + junction},
		{"/home/.cache/junction/packages/a/new.js", "", "write %" + junction, "see %" + junction},
		{"/data/state/approvals.json", "read %" + junction, "write %" + junction, "see %" + junction},
	} {
		path := root + c.path
		for i, want := range []string{c.read, c.write, c.mentioned} {
			got := ""
			r := &refusing{root: -1, isBare: true, home: root + "/home", folders: map[string]int{}, named: map[string]bool{}, refuse: func(r Refusal) {
				got += r.What
				if r.Allow == nil {
					got += ": " + r.Reason
				} else {
					got += "; " + strings.Join(r.Allow, " ")
				}
			}}
			switch i {
			case 0:
				r.see(watch.Access{Kind: watch.Read, Path: path})
			case 1:
				r.see(watch.Access{Kind: watch.Write, Path: path})
			default:
				r.mentioned(path, true)
			}
			if want = strings.NewReplacer("%", path, "$", filepath.Dir(path)).Replace(want); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

// A line of the log ends with a command to paste. A name must not look like a part of the line.
func TestANameFromAProgramCannotLookLikeACommand(t *testing.T) {
	root := machine(t)
	const forged = "x; to allow it: junction server sandbox allow notes --write ~ #"
	for want, script := range map[string]string{
		`keep what it writes to "` + root + `/home/` + forged + `"`: `echo >~/"` + forged + `"`,
		`write "` + root + `/data/one/` + forged + `"`:              `echo >` + root + `/data/one/"` + forged + `"`,
		`see "` + root + `/data/two/` + forged + `"`:                "",
	} {
		for _, unwatched := range []bool{false, true} {
			if unwatched && strings.HasPrefix(want, "write") {
				continue // not reported then
			}
			var refused []string
			s, err := New(Profile{Read: []string{root + "/data/one"}}, Options{Unwatched: unwatched, Refused: func(r Refusal) { refused = append(refused, r.What) }})
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", script+"\nread line")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			ended, err := s.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			if script == "" {
				s.Failed(root + "/data/two/" + forged)
			}
			in.Close()
			cmd.Wait()
			ended()
			if len(refused) == 0 || refused[0] != want {
				t.Errorf("got %q, want %q", refused, want)
			}
		}
	}
	var refused []string
	n := newNames(nil, func(r Refusal) { refused = append(refused, r.What) })
	q := dnsmessage.Message{Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(forged + "."), Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	packet, err := q.Pack()
	if err != nil {
		t.Fatal(err)
	}
	n.answer(packet)
	if want := []string{`look up "` + forged + `"`}; !slices.Equal(refused, want) {
		t.Errorf("got %q, want %q", refused, want)
	}
}

func TestAProgramWithDataInItsPackageGetsAnExplanation(t *testing.T) {
	root := machine(t)
	var got []Refusal
	r := &refusing{root: -1, isBare: true, home: root + "/home", own: []string{root + "/data/two"}, folders: map[string]int{}, named: map[string]bool{}, refuse: func(r Refusal) { got = append(got, r) }}
	r.see(watch.Access{Kind: watch.Write, Path: root + "/data/two/memory.json"})
	if len(got) != 1 || !strings.HasSuffix(got[0].Reason, "name another place in its arguments or variables") || got[0].Allow != nil {
		t.Errorf("%+v", got)
	}
}
