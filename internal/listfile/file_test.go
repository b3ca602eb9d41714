package listfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type one struct{ Name, Says string }

func open(t *testing.T, path string) *File[one] {
	t.Helper()
	f, err := Open(path, "things", func(o one) string { return o.Name })
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func add(t *testing.T, f *File[one], o one) {
	t.Helper()
	if err := f.Change(t.Context(), func(all []one) ([]one, error) { return append(all, o), nil }); err != nil {
		t.Error(err)
	}
}

func TestChangesOfAnotherProcessAreSeenWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "things.json")
		here, elsewhere := open(t, path), open(t, path)
		find := func(want string, ok bool) {
			t.Helper()
			if got, found, err := here.Find("a"); err != nil || found != ok || got.Says != want {
				t.Errorf("found %+v %v, %v; expected %q %v", got, found, err, want, ok)
			}
		}
		find("", false)
		add(t, elsewhere, one{"a", "first"})
		add(t, elsewhere, one{"a", "second"})
		find("", false)
		time.Sleep(lookPause)
		find("first", true)
		if all, err := here.All(); err != nil || fmt.Sprint(all) != "[{a first} {a second}]" {
			t.Errorf("all are %v, %v", all, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookPause)
		find("", false)
	})
}

// An element that is not found is looked for again, but not often.
func TestNewElementsAreFoundAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "things.json")
		here, elsewhere := open(t, path), open(t, path)
		time.Sleep(lookPause)
		for _, name := range []string{"a", "b", "c"} {
			if _, found, err := here.Find(name); found || err != nil {
				t.Errorf("%s is found before it was added: %v", name, err)
			}
			add(t, elsewhere, one{name, "new"})
			if _, found, err := here.Find(name); found || err != nil {
				t.Errorf("%s: the file is read at each miss: %v", name, err)
			}
			time.Sleep(missPause)
			if got, found, err := here.Find(name); !found || err != nil || got.Says != "new" {
				t.Errorf("%s: %+v, found %v, %v", name, got, found, err)
			}
		}
	})
}

func TestNoChangeIsLost(t *testing.T) {
	path := filepath.Join(t.TempDir(), "things.json")
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { add(t, open(t, path), one{Name: fmt.Sprint(i)}) })
	}
	all.Wait()
	if kept, err := open(t, path).All(); err != nil || len(kept) != 8 {
		t.Errorf("%d are kept, %v", len(kept), err)
	}
	if info, err := os.Stat(path); err != nil || os.PathSeparator == '/' && info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
}

// A change that fails changes nothing, and an unreadable file is not overwritten.
func TestAFileThatCannotBeReadIsNotTakenForAnEmptyOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "things.json")
		f := open(t, path)
		add(t, f, one{"a", "first"})
		no := errors.New("no")
		if err := f.Change(t.Context(), func([]one) ([]one, error) { return nil, no }); !errors.Is(err, no) {
			t.Error(err)
		}
		for text, why := range map[string]string{"[": "read things: " + path, strings.Repeat(" ", maxSize+1): "larger than 8 MiB"} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(lookPause)
			_, found, err := f.Find("a")
			if found || err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("found %v, %v; expected %q", found, err, why)
			}
			if err := f.Change(t.Context(), func(all []one) ([]one, error) { return all, nil }); err == nil || !strings.Contains(err.Error(), why) {
				t.Errorf("changed: %v; expected %q", err, why)
			}
			if _, err := Open(path, "things", func(o one) string { return o.Name }); err == nil {
				t.Error("it is opened")
			}
		}
	})
}

// Access control relies on the error: in an unreadable file nothing is found, each time, until it
// is readable again.
func TestNothingIsFoundInAFileThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "things.json")
		f := open(t, path)
		add(t, f, one{"a", "revoked since"})
		if err := os.WriteFile(path, []byte("no list"), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		for i := range 3 {
			if got, found, err := f.Find("a"); err == nil || found {
				t.Errorf("%d: %+v, found %t, error %v", i, got, found, err)
			}
		}
		if err := os.WriteFile(path, []byte(`[{"Name":"a","Says":"again"}]`), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(lookPause)
		if got, found, err := f.Find("a"); err != nil || !found || got.Says != "again" {
			t.Errorf("%+v, found %t, error %v", got, found, err)
		}
	})
}
