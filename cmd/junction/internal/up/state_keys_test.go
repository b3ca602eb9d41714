package up_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
)

// TestStateKeysAreSharedAndTurned has two processes look at one folder for ten weeks, at different times.
func TestStateKeysAreSharedAndTurned(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.keys")
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	one, other := &up.StateKeys{Path: path}, &up.StateKeys{Path: path}
	first := one.At(t.Context(), now)[0]
	seals := map[string]bool{string(first): true}
	opens := func(k *up.StateKeys, key []byte, at time.Time) bool {
		for _, o := range k.At(t.Context(), at) {
			if bytes.Equal(o, key) {
				return true
			}
		}
		return false
	}
	for range 70 * 24 * 12 { // each five minutes
		now = now.Add(5 * time.Minute)
		sealed := one.At(t.Context(), now)[0]
		seals[string(sealed)] = true
		for _, later := range []time.Duration{time.Second, time.Hour} {
			if !opens(other, sealed, now.Add(later)) {
				t.Fatalf("%s: what one process sealed the other does not open %s later", now, later)
			}
		}
	}
	if n := len(seals); n < 10 || n > 11 {
		t.Errorf("%d keys sealed in ten weeks", n)
	}
	if opens(one, first, now) {
		t.Error("the first key still opens ten weeks later")
	}
	if n := len(one.Keys); n > 3 {
		t.Errorf("%d keys are kept", n)
	}
}

// TestABrokenFileOfStateKeysIsNamed also sees that a process that has keys goes on with them.
func TestABrokenFileOfStateKeysIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.keys")
	now := time.Now()
	k := &up.StateKeys{Path: path}
	key := k.At(t.Context(), now)[0]
	for _, text := range []string{"{", `[{"key":"AAAA","since":"2026-11-28T12:00:00Z"}]`} {
		if err := os.WriteFile(clitest.In(t, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (&up.StateKeys{Path: path}).Look(t.Context(), now); err == nil {
			t.Errorf("%s: no error", text)
		}
		if got := k.At(t.Context(), now.Add(time.Hour))[0]; !bytes.Equal(got, key) {
			t.Errorf("%s: it has another key", text)
		}
	}
}
