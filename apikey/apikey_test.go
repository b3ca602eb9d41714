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
