package install

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/sandbox"
)

// echoLock returns the locked data of an npm package.
func echoLock(version string) *LockedServer {
	l := &Locked{Package: Package{Type: "npm", Name: "@x/echo", Version: version}, Integrity: "sha512-abc", Program: []string{"node", "./index.js"}, Dependencies: json.RawMessage(`{"a":["<b>"]}`)}
	return &LockedServer{Replaces: CommandLine("echo", l), Package: l, Definitions: map[string]string{"tool say": "sha256:00"}, Sandbox: &sandbox.Profile{Hosts: []string{"api.example.com"}}, Source: "https://example.com/echo"}
}

func TestALockIsReadAsItWasWrittenAndAlwaysTheSame(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockName)
	l := &Lock{Version: 1, Servers: map[string]*LockedServer{"echo": echoLock("1.0.0"), "remote": {Replaces: []string{"https://example.com/mcp"}}, "next": {Next: echoLock("2.0.0")}}}
	l.Servers["next"].Next.Replaces = CommandLine("next", l.Servers["next"].Next.Package)
	var texts []string
	for range 5 {
		if err := l.write(path); err != nil {
			t.Fatal(err)
		}
		got, err := ReadLock(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
		if again, err := got.encode(); err != nil || string(again) != texts[0] || texts[len(texts)-1] != texts[0] {
			t.Fatalf("%v, %s, and was %s", err, again, texts[0])
		}
	}
	if !strings.Contains(texts[0], `"<b>"`) {
		t.Errorf("it is not written for people: %s", texts[0])
	}
	if empty, err := ReadLock(filepath.Join(t.TempDir(), LockName)); err != nil || len(empty.Servers) != 0 || empty.Version != 1 {
		t.Errorf("where there is none: %v, %v", empty, err)
	}
}

func TestAHostileOrBrokenLockIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), LockName)
	good := `{"version":1,"servers":{"echo":{"replaces":["npx","-y","echo@1"],"package":{"type":"npm","name":"echo","version":"1","program":["node","./x"]}}}}`
	if _, err := parseLock([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":                                       "EOF",
		good[:80]:                                "EOF",
		"{}":                                     "version 0",
		`{"version":2,"servers":{},"more":1}`:    "update junction",
		`{"version":1,"version":1,"servers":{}}`: "duplicate",
		`{"version":1,"servers":{"a":null}}`:     "it is empty",
		`{"version":1,"servers":{"a":{}}}`:       `"replaces" is missing`,
		`{"version":1,"servers":{"a":{"replaces":["sh","-c","x"]}}}`:                 "is not a URL",
		strings.Replace(good, `"echo@1"`, `"other@1"`, 1):                            "for npm echo 1, which should be",
		strings.Replace(good, `"name":"echo"`, `"name":"evil"`, 1):                   "for npm evil 1, which should be",
		strings.Replace(good, `["node","./x"]`, `[]`, 1):                             "no program",
		strings.Replace(good, `"./x"`, `"\u0000"`, 1):                                "zero byte",
		strings.Replace(good, `"./x"`, `"./x"`+strings.Repeat(`,"a"`, 300), 1):       "more than 256 words",
		strings.Replace(good, `"program"`, `"Program"`, 1):                           "unknown",
		`{"version":1,"servers":{"a":{"next":{"next":{"replaces":["https://x"]}}}}}`: "its replacement is itself replaced by another entry",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := ReadLock(path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%.60s: the error is %v, want one with %q", text, err, want)
		}
	}
	if _, err := parseLock(make([]byte, maxLockFile+1)); err == nil || !strings.Contains(err.Error(), "64 MiB") {
		t.Errorf("the error is %v", err)
	}
}

func TestLocksApplyToTheArgumentsTheyReplace(t *testing.T) {
	one, two := echoLock("1.0.0"), echoLock("2.0.0")
	changing := *one
	changing.Next = two
	for name, c := range map[string]struct {
		locked *LockedServer
		words  []string
		want   *LockedServer
		err    error
	}{
		"as it was locked":         {one, []string{"npx", "-y", "@x/echo@1.0.0"}, one, nil},
		"with arguments":           {one, []string{"npx", "-y", "@x/echo@1.0.0", "--all"}, one, nil},
		"another version":          {one, []string{"npx", "-y", "@x/echo@2.0.0"}, nil, ErrNotReplaced},
		"too few words":            {one, []string{"npx", "-y"}, nil, ErrNotReplaced},
		"while it changes":         {&changing, []string{"npx", "-y", "@x/echo@1.0.0"}, &changing, nil},
		"when it has changed":      {&changing, []string{"npx", "-y", "@x/echo@2.0.0"}, two, nil},
		"nothing":                  {nil, []string{"npx"}, nil, nil},
		"it is about to be added":  {&LockedServer{Next: two}, []string{"node", "mine.js"}, nil, nil},
		"it was about to be added": {&LockedServer{Next: two}, []string{"npx", "-y", "@x/echo@2.0.0"}, two, nil},
	} {
		l := &Lock{Servers: map[string]*LockedServer{}}
		if c.locked != nil {
			l.Servers["echo"] = c.locked
		}
		got, err := l.Find("echo", c.words)
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// A process can be killed between any two writes. The test checks the state after each write of the
// change.
func TestAnInterruptedChangeLeavesConsistentFiles(t *testing.T) {
	one, two := echoLock("1.0.0"), echoLock("2.0.0")
	words := func(l *LockedServer) []string {
		if l == nil {
			return nil
		}
		return l.Replaces
	}
	for name, c := range map[string]struct{ before, after *LockedServer }{
		"added": {nil, one}, "upgraded": {one, two}, "removed": {two, nil}, "locked anew": {one, one},
	} {
		for stop := range 4 {
			dir := t.TempDir()
			configuration, lockPath := filepath.Join(dir, "mcp.json"), filepath.Join(dir, LockName)
			write := func(path string, l *LockedServer) {
				text, _ := json.Marshal(words(l))
				if err := os.WriteFile(path, text, 0o640); err != nil {
					t.Fatal(err)
				}
			}
			write(configuration, c.before)
			if c.before != nil {
				if err := (&Lock{Version: 1, Servers: map[string]*LockedServer{"echo": c.before}}).write(lockPath); err != nil {
					t.Fatal(err)
				}
			}
			change := Change{Configuration: configuration, Mutex: filepath.Join(dir, "mutex"), Name: "echo", Words: words(c.before), Locked: c.after,
				Edit: func([]byte) ([]byte, error) { return json.Marshal(words(c.after)) }}
			change.killed = func(step int) bool { return step == stop }
			if err := change.Apply(t.Context()); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var entry []string
			text, err := os.ReadFile(configuration)
			if err != nil || json.Unmarshal(text, &entry) != nil {
				t.Fatal(err)
			}
			lock, err := ReadLock(lockPath)
			if err != nil {
				t.Fatal(err)
			}
			found, err := lock.Find("echo", entry)
			if len(entry) == 0 {
				continue // nothing is started, whatever is locked
			}
			want := c.before
			if stop == 0 || stop == 3 {
				want = c.after
			}
			if err != nil || found == nil || want == nil || found.Package.Version != want.Package.Version {
				t.Errorf("%s, stopped at %d: the entry is %q, and of it is locked %v, %v", name, stop, entry, found, err)
			}
		}
	}
}

func TestAChangeThatFailsChangesNothing(t *testing.T) {
	dir := t.TempDir()
	configuration := filepath.Join(dir, "mcp.json")
	if err := os.WriteFile(configuration, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("no")
	c := Change{Configuration: configuration, Mutex: filepath.Join(dir, "mutex"), Name: "echo", Locked: echoLock("1.0.0"), Edit: func([]byte) ([]byte, error) { return nil, refused }}
	if err := c.Apply(t.Context()); !errors.Is(err, refused) {
		t.Errorf("the error is %v", err)
	}
	c.Edit = func(data []byte) ([]byte, error) { return data, nil }
	broken := echoLock("1.0.0")
	broken.Replaces = []string{"sh"}
	c.Locked = broken
	if err := c.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "for npm @x/echo 1.0.0, which should be") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(LockPath(configuration)); !os.IsNotExist(err) {
		t.Errorf("a lock was written: %v", err)
	}
	if err := os.WriteFile(LockPath(configuration), []byte("no lock"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Locked = echoLock("1.0.0")
	if err := c.Apply(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("the error is %v", err)
	}
	if text, _ := os.ReadFile(LockPath(configuration)); string(text) != "no lock" {
		t.Errorf("what could not be read was replaced: %q", text)
	}
}
