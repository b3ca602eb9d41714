package sandbox

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestASilentAddressLeavesTimeForOtherAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dialled []string
		r := reach{allowed: parseHosts([]string{"api.example.com"}), refuse: func(Refusal) {},
			lookup: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("2600::1"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("2600::2"), netip.MustParseAddr("1.2.3.4")}, nil
			},
			dial: func(ctx context.Context, _, address string) (net.Conn, error) {
				if dialled = append(dialled, address); address != "1.2.3.4:443" { // a network that drops packets to IPv6
					<-ctx.Done()
					return nil, ctx.Err()
				}
				ours, _ := net.Pipe()
				return ours, ctx.Err()
			}}
		began := time.Now()
		conn, err := r.to(t.Context(), "api.example.com", 443)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		if want := []string{"[2600::1]:443", "[2600::2]:443", "1.2.3.4:443"}; !slices.Equal(dialled, want) {
			t.Errorf("dialled %q, want %q", dialled, want)
		}
		if took := time.Since(began); took > connectTime*3/4 {
			t.Errorf("it took %v", took)
		}
	})
}
