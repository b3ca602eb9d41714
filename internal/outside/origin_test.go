package outside

import (
	"net/url"
	"testing"
)

func TestSameOrigin(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"https://a.example/x", "https://A.example:443/y", true},
		{"http://a.example", "http://a.example:80", true},
		{"http://[::1]:80", "http://[::1]", true},
		{"http://a.example", "https://a.example", false},
		{"http://a.example:443", "https://a.example", false},
		{"https://a.example", "https://a.example:8443", false},
		{"https://a.example", "https://b.example", false},
	} {
		a, errA := url.Parse(test.a)
		b, errB := url.Parse(test.b)
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if got := SameOrigin(a, b); got != test.same {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
	}
}
