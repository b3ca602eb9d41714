package share

import (
	"context"
	"net/netip"
	"strings"
)

const (
	// hostBits is the length of the prefix of the IPv6 addresses that a single caller controls.
	hostBits = 64
	// siteBits is the minimum length of the prefix of the IPv6 addresses that a single site
	// controls.
	siteBits = 48
)

// Key returns the key of a caller: its principal or, if subject is empty, the address of its
// connection. address has the form that net/http uses. All addresses of an IPv6 network have the
// same key. The key is never empty.
func Key(issuer, subject, address string) string {
	if subject != "" {
		return "principal " + issuer + "\x00" + subject
	}
	return network(address, hostBits)
}

// IsHere reports whether a key is an address of this machine.
func IsHere(key string) bool {
	at, err := netip.ParseAddr(key)
	return err == nil && at.IsLoopback()
}

// Site returns the site of an address. A site can have many networks; in IPv6 it is a /48 prefix.
// The result is never empty.
func Site(address string) string { return network(address, siteBits) }

func network(address string, bits int) string {
	if strings.HasPrefix(address, "[") {
		if at, err := netip.ParseAddrPort(address); err == nil {
			ip := at.Addr().Unmap().WithZone("")
			if ip.Is6() {
				if network, err := ip.Prefix(bits); err == nil {
					ip = network.Addr()
				}
			}
			return ip.String()
		}
	}
	if end := strings.LastIndexByte(address, ':'); end > 0 {
		return address[:end]
	}
	return "unknown address"
}

type keyKey struct{}

// With returns a context that contains the key of its caller.
func With(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyKey{}, key)
}

// Asked is a context like the one that [With] returns. It determines the key only when the key is
// requested.
type Asked struct {
	context.Context
	By interface{ Caller() string }
}

// Value implements [context.Context].
func (a *Asked) Value(key any) any {
	if key == (keyKey{}) {
		return a.By.Caller()
	}
	return a.Context.Value(key)
}

// Of returns the key in a context of [With] or [Asked]. Otherwise it returns the empty key, which
// all other callers share.
func Of(ctx context.Context) string {
	key, _ := ctx.Value(keyKey{}).(string)
	return key
}
