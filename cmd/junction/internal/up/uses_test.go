package up

import (
	"bytes"
	"context"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/apikey"
	"github.com/junction-mcp/junction/internal/filelock"
)

// A program that holds the lock of the uses of keys, and does not go on, keeps no gateway from ending.
func TestUsesAreSavedInBoundedTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	keys, err := apikey.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := keys.Create(t.Context(), "ann", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "/mcp", nil)
	r.Header.Set("X-API-Key", key)
	if _, err := keys.Principal(r); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Try(strings.TrimSuffix(path, ".json") + ".used.json.lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		x := &Access{keys: keys, Refused: RefusalCounter{Log: slog.New(slog.NewTextHandler(&log, nil))}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		x.saveUses(ctx, true)
		if took := time.Since(began); took > time.Minute || !strings.Contains(log.String(), "it is not recorded when keys were used") {
			t.Errorf("after %v: %s", took, log.String())
		}
	})
}
