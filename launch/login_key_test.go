package launch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/internal/place"
	"github.com/zalando/go-keyring"
)

func TestTheKeyOfLoginsIsInTheKeyringOrInAFile(t *testing.T) {
	kept := func(t *testing.T) string {
		t.Helper()
		path, err := place.Place{}.State("logins.key")
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		return strings.TrimSpace(string(text))
	}
	refuses := errors.New("it is locked")
	for _, test := range []struct {
		name      string
		switchOff bool
		fault     error // of the keyring
		inKeyring bool
	}{
		{"a keyring", false, nil, true},
		{"a keyring that refuses", false, refuses, false},
		{"a keyring that is switched off", true, nil, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("JUNCTION_STATE", t.TempDir())
			keyring.MockInit()
			if test.fault != nil {
				keyring.MockInitWithError(test.fault)
			}
			if !test.switchOff {
				t.Setenv("JUNCTION_KEYRING", "on")
				t.Setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere") // as if there were one; it is a mock
			}
			if _, err := loginKey(t.Context(), place.Place{}, false); err == nil {
				t.Error("there is a key before it is made")
			}
			key, err := loginKey(t.Context(), place.Place{}, true)
			if err != nil {
				t.Fatal(err)
			}
			if text := kept(t); (text == inKeyring) != test.inKeyring || !test.inKeyring && len(text) != 2*len(key) {
				t.Errorf("the file says %q", text)
			}
			if again, err := loginKey(t.Context(), place.Place{}, true); err != nil || string(again) != string(key) {
				t.Errorf("another key the second time: %v", err)
			}
			if test.inKeyring { // which is lost with the system it was on, or locked
				keyring.MockInitWithError(refuses)
				if _, err := loginKey(t.Context(), place.Place{}, true); !errors.Is(err, refuses) || !strings.Contains(err.Error(), "unlock it, or remove ") {
					t.Errorf("a keyring that is locked: %v", err)
				}
			}
		})
	}
	t.Run("a file that holds no key", func(t *testing.T) {
		t.Setenv("JUNCTION_STATE", t.TempDir())
		path, err := place.Place{}.State("logins.key")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "abcd", strings.Repeat("x", 64), strings.Repeat("ab", MaxKeyFile)} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := loginKey(t.Context(), place.Place{}, true); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%.10q: %v", text, err)
			}
		}
	})
	t.Run("a keyring that does not answer", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the user has gone")
		cancel(gone)
		block := make(chan struct{})
		defer close(block)
		if _, err := askKeyring(ctx, func() (string, error) { <-block; return "", nil }); !errors.Is(err, gone) {
			t.Error(err)
		}
	})
}
