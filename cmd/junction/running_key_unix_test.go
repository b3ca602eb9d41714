//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/up"
	"github.com/junction-mcp/junction/config"
	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/internal/terminal"
)

// A command uses a server with secrets where junction up has it with the same ones, and no other.
func TestCallUsesServerWithTheSameSecrets(t *testing.T) {
	alone(t)
	dir := t.TempDir()
	starts, secret := filepath.Join(dir, "starts"), filepath.Join(dir, "secret")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(secret, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("production")
	argv := self(t, "serve", "memory", "--file", filepath.Join(dir, "memory.db"))
	const script = `echo start >>"$1"; shift; exec "$@"`
	config := configuration(t, map[string]any{"memory": map[string]any{"command": "sh", "args": append([]string{"-c", script, "sh", starts}, argv...),
		"env": map[string]any{"TOKEN": "${file:" + secret + "}"}}})
	serving(t, "up", "--config", config)
	waitFor(t, "connected", func() bool { return shownStatus(t)[0].Servers[0].State == "connected" })
	count := func() int {
		text, err := os.ReadFile(starts)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "start")
	}
	folder, err := cli.StatusFolder(placeOf(t))
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(folder, cli.EntryKeyName)
	for _, step := range []struct {
		name  string
		do    func()
		start bool
	}{
		{"the same secret", func() {}, false},
		{"another secret", func() { write("test") }, true},
		{"the same secret again", func() { write("production") }, false},
		{"a new key", func() {
			if err := os.Remove(key); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"a key that others may read", func() {
			if err := os.Chmod(key, 0o644); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		step.do()
		before := count()
		runs(t, "", "call", "memory", "read_graph", "--config", config).expect(t, cli.ExitOK, "entities", "")
		if started := count() > before; started != step.start {
			t.Errorf("%s: a server was started: %t", step.name, started)
		}
	}
	if status := runs(t, "", "status", "--json"); strings.Contains(status.stdout, "production") || status.code != cli.ExitOK {
		t.Errorf("%+v", status)
	}
}

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
	info, err := os.Stat(in(t, path))
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
		"a folder":                   func() error { return os.Mkdir(in(t, path), 0o700) },
		"a pipe":                     func() error { return syscall.Mkfifo(path, 0o600) },
		"too short":                  func() error { return os.WriteFile(in(t, path), keys[0][1:], 0o600) },
		"too long":                   func() error { return os.WriteFile(in(t, path), append(slices.Clone(keys[0]), 0), 0o600) },
		"empty":                      func() error { return os.WriteFile(in(t, path), nil, 0o600) },
		"open to a group":            func() error { return os.WriteFile(in(t, path), keys[0], 0o640) },
		"a folder open to everybody": func() error { return os.Chmod(folder, 0o755) },
	} {
		if err := os.Remove(in(t, path)); err != nil && !os.IsNotExist(err) {
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
		return cli.EntryDigest(placeOf(t), e, &s)
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
	add("name", cli.EntryDigest(placeOf(t), definedEntry(t, `{"mcpServers":{"other":{"command":"dbserver"}}}`), &config.Server{OAuth: &config.OAuth{}, TLS: &config.TLS{}}))
	add("revision", cli.EntryDigest(placeOf(t), definedEntry(t, `{"mcpServers":{"db":{"command":"dbserver","revision":"2025-11-25"}}}`), &config.Server{OAuth: &config.OAuth{}, TLS: &config.TLS{}}))
	d := made(func(*config.Server) {})
	proof := d.Proof([]byte("key"), 1)
	if proof == d.Proof([]byte("key"), 2) || proof == d.Proof([]byte("other"), 1) || proof != d.Proof([]byte("key"), 1) {
		t.Errorf("the proof is %s", proof)
	}
}

// The digest is that of the server that was reached last: of one that cannot be started, and of an entry that takes the place of
// another, there is none.
func TestDigestIsOfTheServerThatWasReached(t *testing.T) {
	project := t.TempDir()
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(project, "secret"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	entryWith := func(command string, args ...string) cli.Entry {
		text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"db": map[string]any{"command": command, "args": append([]string{}, args...), "env": map[string]string{"TOKEN": "${file:secret}"}}}})
		if err != nil {
			t.Fatal(err)
		}
		f, err := config.Parse(filepath.Join(project, "junction.json"), text, config.Options{})
		if err != nil || len(f.Servers) != 1 {
			t.Fatal(err)
		}
		return cli.Entry{Name: "db", Definition: f.Servers[0]}
	}
	a := &cli.App{Place: placeOf(t), IO: cli.IO{Screen: terminal.NewScreen(io.Discard)}}
	reach := func(e cli.Entry) { // or find that it cannot be
		t.Helper()
		g := gateway.New(gateway.Options{})
		t.Cleanup(func() { _ = g.Close() })
		if err := g.Add("db", up.UpstreamOf(t.Context(), a, e, nil, "", nil)); err != nil {
			t.Fatal(err)
		}
		if err := g.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	write("first")
	missing := entryWith("/no/such/program")
	up.UpstreamOf(t.Context(), a, missing, nil, "", nil)
	expected, _ := a.Digests.Of("db")
	write("second")
	reach(missing)
	if d, ok := a.Digests.Of("db"); ok && d != expected {
		t.Error("the digest is that of a server that could not be started")
	}
	works := self(t, "serve", "time")
	reach(entryWith(works[0], works[1:]...))
	reached, ok := a.Digests.Of("db")
	if !ok || reached == expected {
		t.Errorf("after it was reached there is one: %t", ok)
	}
	up.UpstreamOf(t.Context(), a, missing, nil, "", nil)
	if _, ok := a.Digests.Of("db"); ok {
		t.Error("the entry that takes its place has a digest while the server may run still")
	}
}

// A program without cwd runs in the folder of the process that starts it.
func TestDigestHasTheFolder(t *testing.T) {
	e := definedEntry(t, `{"mcpServers":{"db":{"command":"dbserver"}}}`)
	here, err := placeOf(t).Getwd()
	if err != nil {
		t.Fatal(err)
	}
	in := func(kind config.Kind, dir string) cli.Digest {
		return cli.EntryDigest(placeOf(t), e, &config.Server{Kind: kind, Dir: dir})
	}
	if in(config.Stdio, "") != in(config.Stdio, here) || in(config.Stdio, "") == in(config.Stdio, t.TempDir()) {
		t.Error("the digest of a program without cwd is not that of one in this folder")
	}
}
