package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/junction-mcp/junction/state"
	"github.com/junction-mcp/junction/state/sqlite"
	"github.com/junction-mcp/junction/state/statetest"
)

func TestSQLite(t *testing.T) {
	statetest.Run(t, statetest.Driver{Begin: func(t *testing.T) func() state.Shared {
		path := filepath.Join(t.TempDir(), "state.db")
		return func() state.Shared { return open(t, path) }
	}})
}

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestValuesSurviveReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.db")
	s := open(t, path)
	v, err := s.Put(t.Context(), "k", []byte("kept"), state.Write{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := open(t, path).Get(t.Context(), "k")
	if err != nil || string(e.Value) != "kept" || e.Version != v {
		t.Errorf("got %+v, %v", e, err)
	}
}
