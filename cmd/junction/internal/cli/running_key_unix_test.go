//go:build unix

package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/config"
)

// The key is made once, for its user alone, and no other file is taken for it.
func TestKeyOfEntries(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, cli.EntryKeyName)
	if _, err := cli.EntryKey(folder, false); !os.IsNotExist(err) {
		t.Errorf("where there is none: %v", err)
	}
	var all sync.WaitGroup
	keys := make([][]byte, 20)
	for i := range keys {
		all.Go(func() {
			var err error
			if keys[i], err = cli.EntryKey(folder, true); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, key := range keys {
		if !bytes.Equal(key, keys[0]) || len(key) != cli.EntryKeySize || bytes.Count(key, []byte{0}) == cli.EntryKeySize {
			t.Errorf("got %x and %x", keys[0], key)
		}
	}
	info, err := os.Stat(clitest.In(t, path))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, keys[0], 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func() error{
		"a link":                     func() error { return os.Symlink(other, path) },
		"a link to the folder":       func() error { return os.Symlink(".", path) },
		"a folder":                   func() error { return os.Mkdir(clitest.In(t, path), 0o700) },
		"a pipe":                     func() error { return syscall.Mkfifo(path, 0o600) },
		"too short":                  func() error { return os.WriteFile(clitest.In(t, path), keys[0][1:], 0o600) },
		"too long":                   func() error { return os.WriteFile(clitest.In(t, path), append(slices.Clone(keys[0]), 0), 0o600) },
		"empty":                      func() error { return os.WriteFile(clitest.In(t, path), nil, 0o600) },
		"open to a group":            func() error { return os.WriteFile(clitest.In(t, path), keys[0], 0o640) },
		"a folder open to everybody": func() error { return os.Chmod(folder, 0o755) },
	} {
		if err := os.Remove(clitest.In(t, path)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if key, err := cli.EntryKey(folder, true); err == nil {
			t.Errorf("%s: got %x", name, key)
		}
		if err := os.Chmod(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever is started or called in another way has another digest, and the proof is of one process and key.
func TestDigestIsOfAllThatIsStarted(t *testing.T) {
	e := definedEntry(t, `{"mcpServers":{"db":{"command":"dbserver"}}}`)
	made := func(change func(*config.Server)) cli.Digest {
		s := config.Server{OAuth: &config.OAuth{}, TLS: &config.TLS{}}
		change(&s)
		return cli.EntryDigest(clitest.PlaceOf(t), e, &s)
	}
	seen := map[cli.Digest]string{made(func(*config.Server) {}): "nothing"}
	add := func(name string, d cli.Digest) {
		if before := seen[d]; before != "" {
			t.Errorf("with another %s it is that with another %s", name, before)
		}
		seen[d] = name
	}
	isOther := map[string]bool{"Name": true, "Timeout": true, "Disabled": true, "Source": true} // the entry has them, or they make no other server
	var each func(path string, of reflect.Type, field func(*config.Server) reflect.Value)
	each = func(path string, of reflect.Type, field func(*config.Server) reflect.Value) {
		for i := range of.NumField() {
			f := of.Field(i)
			if name := path + f.Name; f.IsExported() && !isOther[name] {
				in := func(s *config.Server) reflect.Value { return field(s).Field(i) }
				if f.Type.Kind() == reflect.Pointer {
					each(name+".", f.Type.Elem(), func(s *config.Server) reflect.Value { return in(s).Elem() })
					continue
				}
				add(name, made(func(s *config.Server) {
					switch v := in(s); v.Kind() {
					case reflect.String:
						v.SetString("x")
					case reflect.Int:
						v.SetInt(3)
					case reflect.Slice:
						v.Set(reflect.ValueOf([]string{"x"}))
					case reflect.Map:
						v.Set(reflect.ValueOf(map[string]string{"x": "y"}))
					default:
						t.Fatalf("%s is a %v", name, v.Kind())
					}
				}))
			}
		}
	}
	each("", reflect.TypeFor[config.Server](), func(s *config.Server) reflect.Value { return reflect.ValueOf(s).Elem() })
	for i, value := range []string{"\xff", "\xfe", "�", "a b", `a" "b`} {
		add(fmt.Sprint("argument ", i), made(func(s *config.Server) { s.Args = []string{value} }))
		add(fmt.Sprint("variable ", i), made(func(s *config.Server) { s.Env = map[string]string{"A": value} }))
	}
	add("arguments", made(func(s *config.Server) { s.Args = []string{"a", "b"} }))
	add("name", cli.EntryDigest(clitest.PlaceOf(t), definedEntry(t, `{"mcpServers":{"other":{"command":"dbserver"}}}`), &config.Server{OAuth: &config.OAuth{}, TLS: &config.TLS{}}))
	add("revision", cli.EntryDigest(clitest.PlaceOf(t), definedEntry(t, `{"mcpServers":{"db":{"command":"dbserver","revision":"2025-11-25"}}}`), &config.Server{OAuth: &config.OAuth{}, TLS: &config.TLS{}}))
	d := made(func(*config.Server) {})
	proof := d.Proof([]byte("key"), 1)
	if proof == d.Proof([]byte("key"), 2) || proof == d.Proof([]byte("other"), 1) || proof != d.Proof([]byte("key"), 1) {
		t.Errorf("the proof is %s", proof)
	}
}

// A program without cwd runs in the folder of the process that starts it.
func TestDigestHasTheFolder(t *testing.T) {
	e := definedEntry(t, `{"mcpServers":{"db":{"command":"dbserver"}}}`)
	here, err := clitest.PlaceOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	in := func(kind config.Kind, dir string) cli.Digest {
		return cli.EntryDigest(clitest.PlaceOf(t), e, &config.Server{Kind: kind, Dir: dir})
	}
	if in(config.Stdio, "") != in(config.Stdio, here) || in(config.Stdio, "") == in(config.Stdio, t.TempDir()) {
		t.Error("the digest of a program without cwd is not that of one in this folder")
	}
}
