package share

import (
	"context"
	"net/netip"
	"strings"
)

const (
	// hostBits is how many bits of an IPv6 address one caller has for itself.
	hostBits = 64
	// siteBits is how many of them one site has for itself at least.
	siteBits = 48
)

// Key names a caller: a principal, or, where the subject is empty, the address of its connection, as net/http writes it. The
// addresses of one IPv6 network count as one. It is never empty.
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

// Site names the site of an address, which may have many networks: of IPv6 a /48. It is never empty.
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

// With returns a context that names the caller for which something is done.
func With(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyKey{}, key)
}

// Asked is a context as one of [With] that finds out which caller it is where that is asked.
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

// Of is the caller that a context of [With] or [Asked] names, or else the empty key, which is for all that name none.
func Of(ctx context.Context) string {
	key, _ := ctx.Value(keyKey{}).(string)
	return key
}
