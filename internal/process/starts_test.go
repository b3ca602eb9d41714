package process

import "testing"

func TestStarts(t *testing.T) {
	if n := Starts(); n < 2 || n > 4096 {
		t.Errorf("got %d", n)
	}
	for text, want := range map[string]int64{"MemTotal: 9 kB\nMemAvailable:   1024 kB\n": 1 << 20, "MemAvailable: x kB\n": -1, "": -1} {
		if got, known := availableIn([]byte(text)); known != (want >= 0) || known && got != want {
			t.Errorf("%q: got %d, %v", text, got, known)
		}
	}
}
