package dial_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/dial"
)

func TestStoresOpenByURL(t *testing.T) {
	for _, url := range []string{"memory:", "sqlite:" + filepath.Join(t.TempDir(), "state.db")} {
		s, err := dial.Open(t.Context(), url, dial.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "k", nil, state.Write{}); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestWrongURLs(t *testing.T) {
	for _, url := range []string{
		"", "state.db", "mysql://user:hunter2@host/db", "sqlite:", "sqlite://user:hunter2@host/state.db", "//user:hunter2@host",
	} {
		s, err := dial.Open(t.Context(), url, dial.Options{})
		if !errors.Is(err, dial.ErrURL) {
			t.Errorf("%s: got %v, %v", url, s, err)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error has the password: %v", url, err)
		}
	}
}
