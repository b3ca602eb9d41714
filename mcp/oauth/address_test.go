package oauth

import (
	"net/netip"
	"testing"
)

func TestWhatOnlySomeMachinesReachIsNotPublic(t *testing.T) {
	for _, test := range []struct {
		what, address string
		want          bool
	}{
		{"of the internet", "1.1.1.1", true},
		{"just below those of carriers", "100.63.255.255", true},
		{"just above those of carriers", "100.128.0.0", true},
		{"of the internet, IPv6", "2606:4700:4700::1111", true},
		{"of the internet, as IPv6 writes it", "::ffff:1.1.1.1", true},
		{"this machine", "127.0.0.1", false},
		{"this machine, IPv6", "::1", false},
		{"this machine, as IPv6 writes it", "::ffff:127.0.0.1", false},
		{"this machine, in the old form", "::127.0.0.1", false},
		{"this machine, translated", "::ffff:0:127.0.0.1", false},
		{"any", "0.0.0.0", false},
		{"any, IPv6", "::", false},
		{"this network", "0.1.2.3", false},
		{"private", "10.0.0.1", false},
		{"private, as IPv6 writes it", "::ffff:192.168.1.1", false},
		{"private, IPv6", "fd00::1", false},
		{"of a link, where clouds keep credentials", "169.254.169.254", false},
		{"of a link, as IPv6 writes it", "::ffff:169.254.169.254", false},
		{"of a link, IPv6", "fe80::1%eth0", false},
		{"of a carrier", "100.64.0.1", false},
		{"of a carrier, the last", "100.127.255.255", false},
		{"of a carrier, as IPv6 writes it", "::ffff:100.64.0.1", false},
		{"of tests of networks", "198.18.0.1", false},
		{"of examples", "203.0.113.1", false},
		{"of protocols", "192.0.0.170", false},
		{"reserved", "240.0.0.1", false},
		{"to all", "255.255.255.255", false},
		{"to a group", "224.0.0.1", false},
		{"through NAT64", "64:ff9b::10.0.0.1", false},
		{"through NAT64 of a network", "64:ff9b:1::10.0.0.1", false},
		{"through 6to4", "2002:a00:1::1", false},
		{"through Teredo", "2001:0:a00:1::1", false},
		{"of a site", "fec0::1", false},
		{"of examples, IPv6", "2001:db8::1", false},
		{"of examples, IPv6, newer", "3fff::1", false},
		{"to nowhere", "100::1", false},
		{"of a zone", "2606:4700::1%eth0", false},
		{"none", "", false},
	} {
		var a netip.Addr
		if test.address != "" {
			a = netip.MustParseAddr(test.address)
		}
		if got := isPublic(a); got != test.want {
			t.Errorf("%s (%s): %v", test.what, test.address, got)
		}
	}
}
