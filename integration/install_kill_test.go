package integration

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/junction-mcp/junction/install"
)

// TestInstallsUntilItIsKilled is the program of TestKilledInstallationsLeaveNothingHalf.
func TestInstallsUntilItIsKilled(t *testing.T) {
	dir := os.Getenv("JUNCTION_INSTALL_INTO")
	if dir == "" {
		t.Skip("another test starts this")
	}
	var l install.Locked
	if err := json.Unmarshal([]byte(os.Getenv("JUNCTION_INSTALL_LOCKED")), &l); err != nil {
		t.Fatal(err)
	}
	s, err := install.NewStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Install(t.Context(), &l); err != nil {
		t.Fatal(err)
	}
}

// At whatever moment a process is killed that installs, the package is whole or not there, and the next one can install it.
func TestKilledInstallationsLeaveNothingHalf(t *testing.T) {
	r := newNPMRegistry(t)
	publishGreeter(t, r, "none")
	for i := range 30 { // so that unpacking takes a moment
		name := "filler" + string(rune('a'+i))
		if i > 25 {
			name = "more" + string(rune('a'+i-26))
		}
		r.publish(t, name, "1.0.0", map[string]any{}, map[string]string{"index.js": "module.exports = 1"})
		r.change(func(p map[string]map[string]*npmVersion) {
			p["@acme/greeter"]["1.0.0"].manifest["dependencies"].(map[string]string)[name] = "1.0.0"
		})
	}
	s := newInstallStore(t)
	l, err := s.Resolve(t.Context(), install.Package{Type: install.NPM, Name: "@acme/greeter"})
	if err != nil {
		t.Fatal(err)
	}
	locked, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	kills, whole := 0, 0
	start := time.Now()
	span := 8 * time.Second // of one installation: learned below
	for most := fewer(12, 40); time.Since(start) < 90*time.Second && kills < most; {
		c := exec.Command(self, "-test.run=^TestInstallsUntilItIsKilled$")
		c.Env = append(os.Environ(), "JUNCTION_INSTALL_INTO="+s.Dir(), "JUNCTION_INSTALL_LOCKED="+string(locked))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case <-time.After(time.Duration(random.Int64N(int64(span)))):
			_ = c.Process.Kill() // it alone: npm goes on for a while, as it would
			<-ended
			kills++
		case err := <-ended:
			if err != nil {
				t.Fatalf("installing after %d kills: %v", kills, err)
			}
			span = min(span, time.Since(began)*11/10)
		}
		p, err := s.Open(l)
		if err == nil {
			whole++
			if got := output(t, p); got != "hello" {
				t.Fatalf("after %d kills it prints %q", kills, got)
			}
			if err := os.RemoveAll(p.Dir); err != nil {
				t.Fatal(err)
			}
		} else if !errors.Is(err, install.ErrNotInstalled) {
			t.Fatalf("after %d kills: %v", kills, err)
		}
	}
	t.Logf("%d kills, %d times it was whole", kills, whole)
	if kills < 5 {
		t.Errorf("only %d kills hit an installation", kills)
	}
	p, err := s.Install(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if got := output(t, p); got != "hello" {
		t.Errorf("at last it prints %q", got)
	}
	deadline := time.Now().Add(time.Minute)
	for { // what npm of a killed process still writes is swept once it has ended
		if _, err := s.Prune(t.Context(), []*install.Locked{l}, 0); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(s.Dir(), "tmp", "*")); len(left) == 0 {
			break
		} else if time.Now().After(deadline) {
			t.Errorf("left are %q", left)
			break
		}
		for _, dir := range tmpOf(t, s) {
			old := time.Now().Add(-48 * time.Hour)
			_ = os.Chtimes(dir, old, old)
		}
	}
}

func tmpOf(t *testing.T, s *install.Store) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(s.Dir(), "tmp", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
