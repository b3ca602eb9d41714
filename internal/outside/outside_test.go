package outside

import (
	"net/netip"
	"testing"
)

func TestAddress(t *testing.T) {
	for _, test := range []struct {
		about, address string
		want           bool
	}{
		{"internet", "1.1.1.1", true},
		{"internet", "8.8.8.8", true},
		{"just below carriers", "100.63.255.255", true},
		{"just above carriers", "100.128.0.0", true},
		{"next to Azure's services", "168.63.129.17", true},
		{"internet, IPv6", "2606:4700:4700::1111", true},
		{"internet, IPv4 in IPv6", "::ffff:1.1.1.1", true},
		{"this machine", "127.0.0.1", false},
		{"this machine", "127.64.0.1", false},
		{"this machine, IPv6", "::1", false},
		{"this machine, IPv4 in IPv6", "::ffff:127.0.0.1", false},
		{"this machine, compatible form", "::127.0.0.1", false},
		{"this machine, translated", "::ffff:0:127.0.0.1", false},
		{"any", "0.0.0.0", false},
		{"any, IPv6", "::", false},
		{"this network", "0.1.2.3", false},
		{"private", "10.0.0.1", false},
		{"private", "172.16.3.4", false},
		{"private", "192.168.1.1", false},
		{"private, IPv4 in IPv6", "::ffff:192.168.1.1", false},
		{"private, IPv6", "fd00::1", false},
		{"metadata, IPv6", "fd00:ec2::254", false},
		{"link, metadata of clouds", "169.254.169.254", false},
		{"link, IPv4 in IPv6", "::ffff:169.254.169.254", false},
		{"link, IPv6", "fe80::1%eth0", false},
		{"carrier", "100.64.0.1", false},
		{"carrier, last", "100.127.255.255", false},
		{"carrier, metadata of a cloud", "100.100.100.200", false},
		{"carrier, IPv4 in IPv6", "::ffff:100.64.0.1", false},
		{"Azure's services", "168.63.129.16", false},
		{"tests of networks", "198.18.0.1", false},
		{"examples", "203.0.113.1", false},
		{"protocols", "192.0.0.170", false},
		{"relays", "192.88.99.1", false},
		{"reserved", "240.0.0.1", false},
		{"broadcast", "255.255.255.255", false},
		{"multicast", "224.0.0.1", false},
		{"multicast, IPv6", "ff02::1", false},
		{"NAT64", "64:ff9b::10.0.0.1", false},
		{"NAT64 of a network", "64:ff9b:1::10.0.0.1", false},
		{"6to4", "2002:a00:1::1", false},
		{"Teredo", "2001:0:a00:1::1", false},
		{"site", "fec0::1", false},
		{"examples, IPv6", "2001:db8::1", false},
		{"examples, newer IPv6", "3fff::1", false},
		{"discard", "100::1", false},
		{"zone", "2606:4700::1%eth0", false},
	} {
		if got := Address(netip.MustParseAddr(test.address)); got != test.want {
			t.Errorf("%s (%s): got %v", test.about, test.address, got)
		}
	}
	if Address(netip.Addr{}) {
		t.Error("the zero address is outside")
	}
}

func TestHost(t *testing.T) {
	for host, want := range map[string]bool{
		"example.com": true, "EXAMPLE.com.": true, "api.example.co.uk": true, "xn--mnchen-3ya.de": true, "1.1.1.1": true, "2606:4700::1111": true, "127.example.com": true,
		"localhost": false, "LOCALHOST": false, "localhost.": false, "a.localhost": false, "": false, ".": false, "db": false, "printer.local": false, "metadata.google.internal": false,
		"router.home.arpa": false, "host.docker.internal": false, "127.0.0.1": false, "127.1": false, "0x7f.1": false, "2130706433": false, "0x7f000001": false, "0177.0.0.1": false,
		"::ffff:127.0.0.1": false, "::1": false, "169.254.169.254": false, "a b.com": false, "ｌｏｃａｌｈｏｓｔ.com": false,
	} {
		if got := Host(host); got != want {
			t.Errorf("%q: got %v", host, got)
		}
	}
}

func TestIsHere(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "127.8.0.1": true, "::1": true, "::ffff:127.0.0.1": true,
		"": false, "LOCALHOST": false, "a.localhost": false, "localhost.example.com": false, "127.0.0.1.example.com": false,
		"[::1]": false, "::1%lo": false, "0.0.0.0": false, "::": false, "127.1": false, "192.168.1.1": false,
	} {
		if got := IsHere(host); got != want {
			t.Errorf("IsHere(%q) = %t, want %t", host, got, want)
		}
	}
}
