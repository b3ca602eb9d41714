package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// files returns the files of a log, and all their lines.
func files(t *testing.T, dir string) (paths []string, text []byte) {
	t.Helper()
	paths, _ = filepath.Glob(filepath.Join(dir, "*.jsonl"))
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, data...)
	}
	return paths, text
}

func appendCall(t *testing.T, l *Log, name string) {
	t.Helper()
	if err := l.Append(&Record{Kind: KindCall, Name: name}); err != nil {
		t.Fatal(err)
	}
}

// opened returns a log that the test closes. Each step of the test checks that the files verify.
func opened(t *testing.T, dir string, o Options) *Log {
	t.Helper()
	o.Key = testKey(t)
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func isWhole(t *testing.T, dir string) {
	t.Helper()
	if got := faults(t, dir); got != "" {
		t.Error(got)
	}
	if r, err := VerifyPublic(dir, testKey(t).Public()); err != nil || r.Count != 0 {
		t.Errorf("with the public key: %+v, %v", r, err)
	}
}

func TestAFileEndsWhenItIsOldEvenIfNothingIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		l := opened(t, dir, Options{MaxAge: time.Hour})
		defer l.Close()
		appendCall(t, l, "one")
		time.Sleep(50 * time.Minute)
		if paths, _ := files(t, dir); len(paths) != 1 {
			t.Fatalf("after 50 minutes: %v", paths)
		}
		time.Sleep(11 * time.Minute)
		paths, _ := files(t, dir)
		if len(paths) != 2 {
			t.Fatalf("after 61 minutes: %v", paths)
		}
		isWhole(t, dir)
		// Without calls no further file begins, even after a long time.
		time.Sleep(48 * time.Hour)
		if paths, _ := files(t, dir); len(paths) != 2 {
			t.Fatalf("two days later: %v", paths)
		}
		appendCall(t, l, "two")
		if paths, text := files(t, dir); len(paths) != 2 || !bytes.Contains(text, []byte(`"two"`)) {
			t.Fatalf("a call came: %v", paths)
		}
		isWhole(t, dir)
	})
}

func TestFilesThatAreTooOldAreRemovedEvenIfNothingIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		l := opened(t, dir, Options{MaxAge: time.Hour, KeepFor: 5 * time.Hour})
		defer l.Close()
		appendCall(t, l, "one")
		time.Sleep(3 * time.Hour)
		appendCall(t, l, "two")
		time.Sleep(110 * time.Minute)
		if _, text := files(t, dir); !bytes.Contains(text, []byte(`"one"`)) {
			t.Error("the first call is gone before five hours")
		}
		time.Sleep(15 * time.Minute)
		isWhole(t, dir)
		if _, text := files(t, dir); bytes.Contains(text, []byte(`"one"`)) || !bytes.Contains(text, []byte(`"two"`)) {
			t.Errorf("five hours later there is %s", text)
		}
		time.Sleep(6 * time.Hour)
		isWhole(t, dir)
		if paths, text := files(t, dir); len(paths) != 1 || bytes.Contains(text, []byte(`"kind":"call"`)) {
			t.Errorf("11 hours later there is %s in %v", text, paths)
		}
	})
}

func TestTheAgeOfAFileOutlivesTheProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		for range 5 { // 45 minutes each
			l := opened(t, dir, Options{MaxAge: time.Hour})
			appendCall(t, l, "one")
			time.Sleep(45 * time.Minute)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
		if paths, _ := files(t, dir); len(paths) < 3 {
			t.Errorf("in 225 minutes: %v", paths)
		}
		isWhole(t, dir)
		time.Sleep(24 * time.Hour)
		l := opened(t, dir, Options{MaxAge: time.Hour, KeepFor: 2 * time.Hour})
		defer l.Close()
		time.Sleep(13 * time.Minute)
		isWhole(t, dir)
		if paths, text := files(t, dir); len(paths) != 1 || bytes.Contains(text, []byte(`"kind":"call"`)) {
			t.Errorf("a day later there is %s in %v", text, paths)
		}
	})
}

// KeepFor also applies to the file that is being written: it ends at that age at the latest.
func TestAFileIsNoOlderThanFilesAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "audit")
	synctest.Test(t, func(t *testing.T) {
		l := opened(t, dir, Options{KeepFor: time.Hour})
		defer l.Close()
		appendCall(t, l, "one")
		time.Sleep(3 * time.Hour)
		isWhole(t, dir)
		if _, text := files(t, dir); bytes.Contains(text, []byte(`"one"`)) {
			t.Errorf("three hours later there is %s", text)
		}
	})
}
