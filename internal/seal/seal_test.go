package seal

import (
	"bytes"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func ring(t testing.TB, keys ...byte) *Ring {
	t.Helper()
	var all [][]byte
	for _, k := range keys {
		all = append(all, bytes.Repeat([]byte{k}, KeySize))
	}
	r, err := NewRing(all...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOnlyTheSameContextAndAKnownKeyOpen(t *testing.T) {
	for _, test := range []struct {
		name       string
		seal, open *Ring
		context    string
		ok         bool
	}{
		{"the same ring", ring(t, 1), nil, "c", true},
		{"another context", ring(t, 1), nil, "d", false},
		{"no context", ring(t, 1), nil, "", false},
		{"a replica with the same key", ring(t, 1), ring(t, 1), "c", true},
		{"a replica that was given a new key first", ring(t, 1), ring(t, 2, 1), "c", true},
		{"a replica that was not given the new key yet, but shortly", ring(t, 2, 1), ring(t, 1, 2), "c", true},
		{"the key was retired", ring(t, 1), ring(t, 2), "c", false},
		{"keys of two processes", ring(t), ring(t), "c", false},
		{"the second key does not seal", ring(t, 1, 2), ring(t, 2), "c", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.open == nil {
				test.open = test.seal
			}
			sealed := test.seal.Seal([]byte("plain"), []byte("c"))
			plain, err := test.open.Open(sealed, []byte(test.context))
			if test.ok && (err != nil || string(plain) != "plain") || !test.ok && (!errors.Is(err, ErrBroken) || plain != nil) {
				t.Errorf("%q, %v", plain, err)
			}
		})
	}
}

func TestSealedBytesAreUnreadableAndNeverRepeat(t *testing.T) {
	r := ring(t, 1)
	one, two := r.Seal([]byte("the plain text"), nil), r.Seal([]byte("the plain text"), nil)
	if one == two {
		t.Error("the same text is sealed the same way twice")
	}
	data, err := base64.RawURLEncoding.DecodeString(one)
	if err != nil || bytes.Contains(data, []byte("plain")) || data[0] != 1 {
		t.Errorf("%q, %v", data, err)
	}
	if want := 1 + 12 + len("the plain text") + 16; len(data) != want {
		t.Errorf("%d bytes, want %d", len(data), want)
	}
}

func TestUnsealedBytesAreErrors(t *testing.T) {
	r := ring(t, 1)
	good := r.Seal(nil, nil)
	if plain, err := r.Open(good, nil); err != nil || len(plain) != 0 {
		t.Fatalf("nothing, sealed: %q, %v", plain, err)
	}
	for name, sealed := range map[string]string{
		"nothing":          "",
		"no base64":        "!",
		"the other base64": base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1, 0xff}, 20)),
		"only a version":   "AQ",
		"a short nonce":    good[:10],
		"no seal":          good[:18],
		"a cut end":        good[:len(good)-1],
		"a longer end":     good + "A",
		"white space":      good + "\n",
		"another version":  "Ag" + good[2:],
		"much of nothing":  strings.Repeat("AQ", 10_000),
	} {
		if plain, err := r.Open(sealed, nil); err != ErrBroken || plain != nil {
			t.Errorf("%s: %q, %v", name, plain, err)
		}
	}
}

func TestKeyThatIsTooShortIsAnError(t *testing.T) {
	long := make([]byte, KeySize)
	_, err := NewRing(long, long[:31])
	if err == nil || err.Error() != "state key 1: expected at least 32 bytes, got 31" {
		t.Errorf("error %v", err)
	}
	if _, err := NewRing(long, make([]byte, 1_000)); err != nil {
		t.Error(err)
	}
}

// FuzzOpen changes sealed data in any way: it cannot be opened any more.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("plain"), []byte("context"), 0, byte(1), []byte(nil))
	f.Add([]byte("plain"), []byte("context"), 20, byte(7), []byte("context"))
	f.Add([]byte(nil), []byte(nil), 1, byte(0x80), []byte("AQ"))
	r := ring(f, 1, 2)
	f.Fuzz(func(t *testing.T, plain, context []byte, at int, flip byte, other []byte) {
		sealed := r.Seal(plain, context)
		if got, err := r.Open(sealed, context); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("%q in %q: %q, %v", plain, context, got, err)
		}
		if !bytes.Equal(other, context) {
			if _, err := r.Open(sealed, other); err != ErrBroken {
				t.Fatalf("opened in %q, sealed in %q: %v", other, context, err)
			}
		}
		if _, err := r.Open(string(other), context); err != ErrBroken {
			t.Fatalf("%q was opened: %v", other, err)
		}
		changed := []byte(sealed)
		changed[uint(at)%uint(len(changed))] ^= flip
		if _, err := r.Open(string(changed), context); (err == nil) != (flip == 0) {
			t.Fatalf("%q was sealed, %q opened: %v", sealed, changed, err)
		}
	})
}

func TestKeysAreTurnedWhileARingIsUsed(t *testing.T) {
	key := func(b byte) []byte { return bytes.Repeat([]byte{b}, KeySize) }
	keys := [][]byte{key(1)}
	r, err := NewRingFrom(func() [][]byte { return keys })
	if err != nil {
		t.Fatal(err)
	}
	first := r.Seal([]byte("x"), nil)
	for _, step := range []struct {
		name        string
		keys        [][]byte
		first, here bool // whether data sealed with the first key opens, and whether the first key alone opens new data
	}{
		{"the next key is known", [][]byte{key(1), key(2)}, true, true},
		{"it is used", [][]byte{key(2), key(1)}, true, false},
		{"none is given", nil, true, false},
		{"one is too short", [][]byte{{1}}, true, false},
		{"the first one is retired", [][]byte{key(2)}, false, false},
	} {
		keys = step.keys
		now := r.Seal([]byte("x"), nil)
		if _, err := r.Open(now, nil); err != nil {
			t.Errorf("%s: what it sealed: %v", step.name, err)
		}
		if _, err := r.Open(first, nil); (err == nil) != step.first {
			t.Errorf("%s: what the first key sealed: %v", step.name, err)
		}
		if _, err := ring(t, 1).Open(now, nil); (err == nil) != step.here {
			t.Errorf("%s: what it sealed, with the first key: %v", step.name, err)
		}
	}
}

func TestTurnsChangeWithTheKeys(t *testing.T) {
	keys := [][]byte{bytes.Repeat([]byte{1}, KeySize)}
	r, err := NewRingFrom(func() [][]byte { return keys })
	if err != nil {
		t.Fatal(err)
	}
	first := r.Turns()
	if again := r.Turns(); again != first {
		t.Errorf("%d, then %d with the same keys", first, again)
	}
	keys = [][]byte{bytes.Repeat([]byte{2}, KeySize), bytes.Repeat([]byte{1}, KeySize)}
	if next := r.Turns(); next == first {
		t.Errorf("still %d with other keys", next)
	}
}
