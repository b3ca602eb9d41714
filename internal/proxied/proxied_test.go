package proxied

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestClientIsReadFromTheRight(t *testing.T) {
	trusted, err := Parse([]string{"10.0.0.0/8", "127.0.0.1", "2001:db8::/32"})
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := Parse([]string{"unix"})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name      string
		trusted   Trusted
		from      string
		for_, rfc []string
		want      string
	}{
		{"no proxy", trusted, "203.0.113.1:5", []string{"198.51.100.1"}, nil, "203.0.113.1:5"},
		{"a proxy that says nothing", trusted, "10.1.2.3:5", nil, nil, "10.1.2.3:5"},
		{"one proxy", trusted, "127.0.0.1:5", []string{"198.51.100.1"}, nil, "198.51.100.1:0"},
		{"a forged hop", trusted, "10.1.2.3:5", []string{"127.0.0.1, 6.6.6.6, 198.51.100.1"}, nil, "198.51.100.1:0"},
		{"two proxies", trusted, "10.1.2.3:5", []string{"6.6.6.6, 198.51.100.1, 10.9.9.9"}, nil, "198.51.100.1:0"},
		{"two headers", trusted, "10.1.2.3:5", []string{"198.51.100.1", "10.9.9.9"}, nil, "198.51.100.1:0"},
		{"proxies only", trusted, "10.1.2.3:5", []string{"10.7.7.7, 10.9.9.9"}, nil, "10.7.7.7:0"},
		{"a hop that is none", trusted, "10.1.2.3:5", []string{"198.51.100.1, unknown, 10.9.9.9"}, nil, "10.9.9.9:0"},
		{"with ports", trusted, "10.1.2.3:5", []string{"198.51.100.1:4711"}, nil, "198.51.100.1:0"},
		{"IPv6", trusted, "[2001:db8::1]:5", []string{"2606::7"}, nil, "[2606::7]:0"},
		{"IPv6 in brackets", trusted, "[2001:db8::1]:5", []string{"[2606::7]:80"}, nil, "[2606::7]:0"},
		{"IPv4 in IPv6", trusted, "[::ffff:10.1.2.3]:5", []string{"::ffff:198.51.100.1"}, nil, "198.51.100.1:0"},
		{"Forwarded", trusted, "10.1.2.3:5", nil, []string{`for=6.6.6.6, for="[2606::7]:4711";proto=https`}, "[2606::7]:0"},
		{"Forwarded with an open quote", trusted, "10.1.2.3:5", nil, []string{`for="6.6.6.6, by=10.0.0.1;For=198.51.100.1`}, "198.51.100.1:0"},
		{"Forwarded that hides", trusted, "10.1.2.3:5", nil, []string{`for=_hidden`}, "10.1.2.3:5"},
		{"both, alike", trusted, "10.1.2.3:5", []string{"198.51.100.1"}, []string{"for=198.51.100.1"}, "198.51.100.1:0"},
		{"both, which differ", trusted, "10.1.2.3:5", []string{"198.51.100.1"}, []string{"for=6.6.6.6"}, "10.1.2.3:5"},
		{"a socket", sockets, "@", []string{"198.51.100.1"}, nil, "198.51.100.1:0"},
		{"a socket that is not trusted", trusted, "@", []string{"198.51.100.1"}, nil, "@"},
		{"nothing is trusted", Trusted{}, "127.0.0.1:5", []string{"198.51.100.1"}, nil, "127.0.0.1:5"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr, r.Header["X-Forwarded-For"], r.Header["Forwarded"] = test.from, test.for_, test.rfc
		got := ""
		test.trusted.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr })).ServeHTTP(nil, r)
		if got != test.want || r.RemoteAddr != test.from {
			t.Errorf("%s: %s, expected %s", test.name, got, test.want)
		}
	}
	for _, text := range []string{"", "10.0.0.0", "10.0.0.0/33", "localhost", "fe80::1%eth0", "*"} {
		if _, err := Parse([]string{text}); (err == nil) != (text == "10.0.0.0") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
