package sandbox

import (
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func TestHostsOfAProfile(t *testing.T) {
	for _, test := range []struct {
		host  string
		name  string
		port  uint16
		allow bool
	}{
		{"api.example.com", "api.example.com", 443, true},
		{"api.example.com", "api.example.com", 80, true},
		{"api.example.com", "api.example.com", 8080, false},
		{"API.Example.com.", "api.example.com", 443, true},
		{"api.example.com:8080", "api.example.com", 8080, true},
		{"api.example.com:8080", "api.example.com", 443, false},
		{"api.example.com", "sub.api.example.com", 443, false},
		{"api.example.com", "example.com", 443, false},
		{"*.example.com", "api.example.com", 443, true},
		{"*.example.com", "a.b.example.com", 443, true},
		{"*.example.com", "example.com", 443, false},
		{"*.example.com", "evilexample.com", 443, false},
		{"*.example.com", "example.com.evil.example", 443, false},
	} {
		if got := parseHosts([]string{test.host}).allowsName(test.name, test.port); got != test.allow {
			t.Errorf("%s: %s:%d is allowed: %v", test.host, test.name, test.port, got)
		}
	}
	for _, test := range []struct {
		host, address string
		port          uint16
		allow         bool
	}{
		{"10.0.0.5", "10.0.0.5", 443, true},
		{"10.0.0.5:5432", "10.0.0.5", 5432, true},
		{"10.0.0.5:5432", "10.0.0.6", 5432, false},
		{"[fd00::1]:22", "fd00::1", 22, true},
		{"fd00::1", "fd00::1", 443, true},
		{"localhost:5432", "127.0.0.1", 5432, true},
		{"localhost:5432", "::1", 5432, true},
		{"localhost", "127.0.0.2", 443, false},
		{"::ffff:10.0.0.5", "10.0.0.5", 443, true},
	} {
		if got := parseHosts([]string{test.host}).allowsAddress(netip.MustParseAddr(test.address), test.port); got != test.allow {
			t.Errorf("%s: %s:%d is allowed: %v", test.host, test.address, test.port, got)
		}
	}
}

func TestAHostIsAllowedByTheTextThatItsRefusalNames(t *testing.T) {
	for _, test := range []struct {
		host string
		port uint16
		want string
	}{
		{"api.example.com", 443, "api.example.com"}, {"api.example.com", 80, "api.example.com"}, {"api.example.com", 8080, "api.example.com:8080"},
		{"10.0.0.5", 443, "10.0.0.5"}, {"10.0.0.5", 5432, "10.0.0.5:5432"}, {"fd00::1", 80, "fd00::1"}, {"fd00::1", 22, "[fd00::1]:22"},
	} {
		got := hostText(test.host, test.port)
		all := parseHosts([]string{got})
		a, err := netip.ParseAddr(test.host)
		if got != test.want || err == nil && !all.allowsAddress(a, test.port) || err != nil && !all.allowsName(test.host, test.port) {
			t.Errorf("%s at %d: %q, want %q, allows %+v", test.host, test.port, got, test.want, all)
		}
	}
}

func TestAProfileThatCannotBeUnderstoodIsRefused(t *testing.T) {
	for _, host := range []string{"", "*", "*.com", "https://example.com", "example.com/path", "a b", "example.com:0", "example.com:70000", "example.com:", "[::1", "[::1]x", "a..b", "exa*mple.com",
		"10.0.0.0/8", strings.Repeat("a", 64) + ".com", "-"} {
		if err := (Profile{Hosts: []string{host}}).Check(); err == nil && host != "example.com:" {
			t.Errorf("host %q is taken", host)
		}
	}
	for _, p := range []Profile{{Read: []string{"relative"}}, {Write: []string{"./x"}}, {Read: []string{"~other/x"}}, {Processes: -1}, {CPU: -1}, {Hosts: slices.Repeat([]string{"a.example"}, maxHosts+1)}} {
		if _, err := New(p, Options{}); err == nil {
			t.Errorf("%+v is taken", p)
		}
	}
}

func TestOnlyAddressesOfTheInternetArePublic(t *testing.T) {
	for address, want := range map[string]bool{
		"1.1.1.1": true, "2606:4700:4700::1111": true, "8.8.8.8": true,
		"127.0.0.1": false, "127.64.0.1": false, "0.0.0.0": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "100.100.100.200": false,
		"192.0.0.192": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "240.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fd00:ec2::254": false, "ff02::1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false,
		"::7f00:1": false, "fec0::1": false, "168.63.129.16": false, "168.63.129.17": true,
	} {
		if got := isPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is public: %v", address, got)
		}
	}
}

func TestLocalAddressesAreNotPublic(t *testing.T) {
	here, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range here {
		if isPublic(netip.MustParsePrefix(a.String()).Addr()) {
			t.Errorf("%s is public", a)
		}
	}
	_, v4, _ := net.ParseCIDR("198.51.100.64/26")
	_, v6, _ := net.ParseCIDR("2001:db8:1:2::/64")
	network := []net.Addr{v4, v6, &net.IPNet{IP: net.ParseIP("203.0.113.7"), Mask: net.CIDRMask(32, 32)}}
	for address, want := range map[string]bool{
		"198.51.100.64": true, "198.51.100.127": true, "198.51.100.128": false, "2001:db8:1:2::99": true, "2001:db8:1:3::99": false, "203.0.113.7": true, "203.0.113.8": false,
	} {
		if got := isAmong(netip.MustParseAddr(address), network); got != want {
			t.Errorf("%s is here: %v", address, got)
		}
	}
	if !isAmong(netip.MustParseAddr("1.1.1.1"), []net.Addr{&net.UnixAddr{Name: "odd"}}) {
		t.Error("what is not understood is taken for another's")
	}
}

func TestEnvironmentHasNamedVariablesOnly(t *testing.T) {
	got := Profile{Env: []string{"TOKEN"}}.Environ([]string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "TOKEN=t", "AWS_SECRET_ACCESS_KEY=x", "PATHS=y", "NODE_OPTIONS=--require=/x", "LD_PRELOAD=/x"})
	if want := []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "TOKEN=t"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Profile{}).Environ(nil); got == nil || len(got) > 0 {
		t.Errorf("nothing is %#v", got)
	}
}

func FuzzHosts(f *testing.F) {
	for _, seed := range []string{"api.example.com:8080", "*.example.com", "[::1]:80", "10.0.0.1", "localhost"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHost(text)
		if err != nil {
			return
		}
		if (h.name == "") != h.address.IsValid() || len(h.ports) == 0 || h.name == "" && h.suffix {
			t.Errorf("%q: %+v", text, h)
		}
	})
}
