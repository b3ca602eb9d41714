package apikey

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/streamable"
)

func TestAKeyLetsItsUserIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	keys, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	key, kept, err := keys.Create(t.Context(), "ann", []string{"read"}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(data), key) || strings.Contains(string(data), strings.Split(key, "_")[2]) {
		t.Errorf("the file holds %s, %v", data, err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("others may read it: %v", info.Mode())
	}
	request := func(header, value string) (*mcp.Principal, error) {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set(header, value)
		return keys.Principal(r)
	}
	for _, value := range []string{"Bearer " + key, "bearer  " + key} {
		p, err := request("Authorization", value)
		if err != nil || p.Subject != "ann" || p.Issuer != Issuer || len(p.Scopes) != 1 {
			t.Errorf("%q: %+v, %v", value, p, err)
		}
	}
	if p, err := request("X-API-Key", key); err != nil || p.Subject != "ann" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, value := range []string{"", "Bearer", "Bearer x", "Bearer jk_", "Bearer jk_" + kept.ID, "Bearer jk_" + kept.ID + "_x", "Basic " + key, "Bearer " + key + "x", "Bearer " + strings.ToUpper(key)} {
		if _, err := request("Authorization", value); !errors.Is(err, ErrNoKey) {
			t.Errorf("%q: %v", value, err)
		}
	}
	expired, _, err := keys.Create(t.Context(), "ben", nil, time.Now().Add(-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := request("X-API-Key", expired); !errors.Is(err, ErrNoKey) || !strings.Contains(err.Error(), "expired") {
		t.Errorf("an expired one: %v", err)
	}
}

func TestKeysRevokedByAnotherProcessAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys.json")
		here, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		elsewhere, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		key, _, err := elsewhere.Create(t.Context(), "ann", nil, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := here.find(key); err != nil {
			t.Error(err)
		}
		if revoked, err := elsewhere.Revoke(t.Context(), "ann"); err != nil || len(revoked) != 1 {
			t.Errorf("revoked %v, %v", revoked, err)
		}
		time.Sleep(time.Second)
		if _, err := here.find(key); !errors.Is(err, ErrNoKey) {
			t.Errorf("it still holds: %v", err)
		}
		if err := os.WriteFile(path, []byte("["), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if _, err := here.find(key); err == nil {
			t.Error("a broken file lets it in")
		}
		if _, _, err := here.Create(t.Context(), "a\nb", nil, time.Time{}); err == nil {
			t.Error("a name of two lines is one")
		}
	})
}

func TestEachOfManyKeysLetsItsOwnUserIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys.json")
		keys, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		given := map[string]string{}
		for _, user := range []string{"ann", "bob", "cid", "dan"} {
			if given[user], _, err = keys.Create(t.Context(), user, nil, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := keys.Revoke(t.Context(), "bob"); err != nil { // those behind it move up
			t.Fatal(err)
		}
		for user, key := range given {
			got, err := keys.find(key)
			if user == "bob" {
				if !errors.Is(err, ErrNoKey) {
					t.Errorf("the key that was revoked: %+v, %v", got, err)
				}
			} else if err != nil || got.User != user {
				t.Errorf("the key of %s: %+v, %v", user, got, err)
			}
		}
		id, _, _ := strings.Cut(strings.TrimPrefix(given["ann"], prefix), "_")
		_, secret, _ := strings.Cut(strings.TrimPrefix(given["dan"], prefix), "_")
		if got, err := keys.find(prefix + id + "_" + secret); !errors.Is(err, ErrNoKey) {
			t.Errorf("one user's id with another's secret: %+v, %v", got, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if got, err := keys.find(given["ann"]); !errors.Is(err, ErrNoKey) {
			t.Errorf("without the file: %+v, %v", got, err)
		}
	})
}

func TestEndpointsRequireAKey(t *testing.T) {
	keys, err := Open(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	key, _, err := keys.Create(t.Context(), "ann", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	s := mcp.NewServer("s", "1")
	mcp.AddTool(s, "who", func(ctx context.Context, _ struct{}) (string, error) {
		return mcp.RequestFrom(ctx).Principal.Subject, nil
	})
	server := httptest.NewServer(streamable.HandlerWith(s, streamable.Options{Principal: keys.Principal}))
	defer server.Close()
	with := func(key string) (string, error) {
		c, err := mcp.Dial(t.Context(), streamable.ClientWith(server.URL, streamable.ClientOptions{Header: http.Header{"Authorization": {"Bearer " + key}}}))
		if err != nil {
			return "", err
		}
		defer c.Close()
		return mcp.Call[string](t.Context(), c, "who", nil)
	}
	if got, err := with(key); err != nil || got != "ann" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := with("jk_x_y"); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a wrong one: %v", err)
	}
}

func TestARotatedKeyWorksForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keys, err := Open(filepath.Join(t.TempDir(), "keys.json"))
		if err != nil {
			t.Fatal(err)
		}
		old, kept, err := keys.Make(t.Context(), Key{User: "ann", Scopes: []string{"read"}, Purpose: "builds", Profile: "p", Expires: time.Now().Add(30 * 24 * time.Hour)})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * 24 * time.Hour)
		fresh, next, err := keys.Rotate(t.Context(), kept.ID, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if next.User != "ann" || len(next.Scopes) != 1 || next.Purpose != "builds" || next.Profile != "p" || next.Follows != kept.ID || next.ID == kept.ID || next.Hash == kept.Hash || next.Expires.Sub(next.Created) != 30*24*time.Hour {
			t.Errorf("the new one is %+v", next)
		}
		works := func(want map[string]bool) {
			t.Helper()
			for key, want := range want {
				if _, err := keys.find(key); (err == nil) != want {
					t.Errorf("%v: %v", key == old, err)
				}
			}
		}
		works(map[string]bool{old: true, fresh: true})
		if _, _, err := keys.Rotate(t.Context(), kept.ID, time.Hour); err == nil || !strings.Contains(err.Error(), next.ID+" replaces it") {
			t.Errorf("again: %v", err)
		}
		time.Sleep(time.Hour)
		works(map[string]bool{old: false, fresh: true})
		if _, _, err := keys.Rotate(t.Context(), kept.ID, time.Hour); err == nil || !strings.Contains(err.Error(), "expired") {
			t.Errorf("the ended one: %v", err)
		}
		if _, _, err := keys.Rotate(t.Context(), "none", time.Hour); !errors.Is(err, ErrNoKey) {
			t.Errorf("none: %v", err)
		}
		at := next.ID
		for range 3 { // the list does not grow for ever
			time.Sleep(29 * 24 * time.Hour)
			_, more, err := keys.Rotate(t.Context(), at, 0)
			if err != nil {
				t.Fatal(err)
			}
			at = more.ID
		}
		time.Sleep(time.Second)
		if all, err := keys.All(); err != nil || len(all) != 3 {
			t.Errorf("the list has %d keys, %v", len(all), err)
		}
	})
}

func TestAKeyOfAProfileWorksOnlyThere(t *testing.T) {
	keys, err := Open(filepath.Join(t.TempDir(), "keys.json"))
	if err != nil {
		t.Fatal(err)
	}
	bound, _, err := keys.Make(t.Context(), Key{User: "ann", Profile: "p"})
	if err != nil {
		t.Fatal(err)
	}
	free, _, err := keys.Create(t.Context(), "ann", nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		key, profile string
		want         bool
	}{{bound, "p", true}, {bound, "", false}, {bound, "q", false}, {bound, "P", false}, {free, "p", true}, {free, "", true}} {
		r := httptest.NewRequest("POST", "/mcp", nil)
		r.Header.Set("X-API-Key", tt.key)
		_, err := keys.PrincipalAt(r, tt.profile)
		if (err == nil) != tt.want || err != nil && !strings.Contains(err.Error(), `is only for the profile "p"`) {
			t.Errorf("%v at %q: %v", tt.key == bound, tt.profile, err)
		}
	}
	if _, _, err := keys.Make(t.Context(), Key{User: "ann", Purpose: "a\nb"}); err == nil {
		t.Error("a purpose has two lines")
	}
}

// The time of a use is known to the hour, and written rarely.
func TestUsesAreWrittenLazily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "keys.json")
		keys, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		key, kept, err := keys.Create(t.Context(), "ann", nil, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		use := func() {
			r := httptest.NewRequest("POST", "/mcp", nil)
			r.Header.Set("X-API-Key", key)
			if _, err := keys.Principal(r); err != nil {
				t.Fatal(err)
			}
		}
		save := func(now bool) {
			if err := keys.SaveUses(t.Context(), now); err != nil {
				t.Fatal(err)
			}
		}
		used := func() time.Time {
			at, err := keys.Used()
			if err != nil {
				t.Fatal(err)
			}
			return at[kept.ID]
		}
		if at := used(); !at.IsZero() {
			t.Errorf("a new key was used at %v", at)
		}
		hour := time.Now().UTC().Truncate(time.Hour)
		use()
		save(false)
		if at := used(); !at.Equal(hour) {
			t.Errorf("it was used at %v, want %v", at, hour)
		}
		writes := 0
		last := modified(t, usesPath(path))
		for range 3 * 60 * 6 { // for 18 hours
			time.Sleep(time.Minute)
			use()
			save(false)
			if at := modified(t, usesPath(path)); at != last {
				writes, last = writes+1, at
			}
		}
		if writes > 19 || !used().Equal(time.Now().UTC().Truncate(time.Hour)) {
			t.Errorf("%d writes, and it was used at %v", writes, used())
		}
		if after, err := os.Stat(path); err != nil || !after.ModTime().Equal(before.ModTime()) {
			t.Errorf("the file of keys changed: %v", err)
		}
		other, err := Open(path) // of a process whose clock is behind
		if err != nil {
			t.Fatal(err)
		}
		other.uses.mark(kept.ID, hour.Add(-time.Hour))
		other.uses.mark("removed", hour)
		if err := other.SaveUses(t.Context(), true); err != nil || !used().After(hour) {
			t.Errorf("it was used at %v, %v", used(), err)
		}
		if at, _ := keys.Used(); len(at) != 1 {
			t.Errorf("uses of %v", at)
		}
	})
}

// modified returns the content of a file, because times of files do not follow the clock of the test.
func modified(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Files of keys without the members that were added later are read.
func TestKeysOfAnOlderVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.json")
	const key = "jk_abcdefgh_SECRET"
	text := `[{"id": "abcdefgh", "user": "ann", "scopes": ["read"], "created": "2026-11-01T00:00:00Z", "hash": "` + hash(key) + `"}]`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := keys.find(key); err != nil || got.User != "ann" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, next, err := keys.Rotate(t.Context(), "abcdefgh", time.Hour); err != nil || !next.Expires.IsZero() {
		t.Errorf("%+v, %v", next, err)
	}
}
