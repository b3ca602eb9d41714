// Package admission limits the connections of a server. Connections on which no request was
// admitted cannot keep other clients out.
package admission

import (
	queue "container/list"
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/share"
)

// A Listener accepts connections. Each connection starts as a guest. When there are too many
// guests, the Listener closes the oldest guest of the address that has the most. A guest becomes a
// member after an admitted request, if its caller's share of the members is not used up; otherwise
// it stays a guest.
type Listener struct {
	net.Listener

	mu      sync.Mutex
	guests  *share.Budget
	members *share.Budget
	of      map[string]*queue.List // guests by address, the oldest first
}

// Limit limits the connections of a listener. The server that accepts them must use [ConnContext].
func Limit(l net.Listener, guests, members *share.Budget) *Listener {
	return &Listener{Listener: l, guests: guests, members: members, of: map[string]*queue.List{}}
}

// A guest is a connection of a [Listener], either a guest or a member.
type guest struct {
	net.Conn
	all *Listener

	// The Listener's mu guards these fields.
	address  string
	place    *queue.Element // in the list of guests; nil if the connection is not a guest
	isMember bool
	caller   string // caller whose share of the members the connection uses
	closed   bool
}

// Accept implements [net.Listener].
func (l *Listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	g := &guest{Conn: conn, all: l, address: share.Key("", "", conn.RemoteAddr().String())}
	l.mu.Lock()
	lost := l.enter(g)
	l.mu.Unlock()
	if lost != nil {
		lost.Conn.Close()
	}
	return g, nil
}

// enter adds g to the guests. It returns the guest that must be closed to make room, or nil. The
// caller holds the lock.
func (l *Listener) enter(g *guest) (lost *guest) {
	if ok, from := l.guests.Borrow(g.address); !ok {
		if from == "" { // this address has the most
			from = g.address
		}
		of := l.of[from]
		if of == nil {
			for _, of = range l.of {
				break
			}
		}
		lost = of.Front().Value.(*guest)
		l.leave(lost)
		l.guests.Borrow(g.address)
	}
	of := l.of[g.address]
	if of == nil {
		of = queue.New()
		l.of[g.address] = of
	}
	g.place = of.PushBack(g)
	return lost
}

// leave removes the connection from the guests or the members. The caller holds the lock.
func (l *Listener) leave(g *guest) {
	if g.place != nil {
		of := l.of[g.address]
		if of.Remove(g.place); of.Len() == 0 {
			delete(l.of, g.address)
		}
		l.guests.Give(g.address)
		g.place = nil
	}
	if g.isMember {
		l.members.Give(g.caller)
		g.isMember = false
	}
}

// Close implements [net.Conn].
func (g *guest) Close() error {
	g.all.mu.Lock()
	g.all.leave(g)
	g.closed = true
	g.all.mu.Unlock()
	return g.Conn.Close()
}

// letIn makes the connection a member if its caller's share is not used up.
func (g *guest) letIn(caller string) {
	l := g.all
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.place == nil || g.closed || !l.members.Take(caller) {
		return
	}
	l.leave(g)
	g.isMember, g.caller = true, caller
}

type admittedKey struct{}

// admitted is the state that all requests of one connection share. With HTTP/2 they can run
// concurrently.
type admitted struct {
	guest *guest
	once  sync.Once
	isIn  atomic.Bool
}

// ConnContext must be used as [net/http.Server.ConnContext] of a server whose listener is a
// [Listener].
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if under, is := conn.(interface{ NetConn() net.Conn }); is { // TLS
		conn = under.NetConn()
	}
	if g, is := conn.(*guest); is {
		ctx = context.WithValue(ctx, admittedKey{}, &admitted{guest: g})
	}
	return ctx
}

// LetIn records that a request with the context ctx was admitted. caller is the key, as
// internal/share makes it, of the caller whose share the connection uses.
func LetIn(ctx context.Context, caller string) {
	a, _ := ctx.Value(admittedKey{}).(*admitted)
	if a == nil {
		return
	}
	a.once.Do(func() {
		a.guest.letIn(caller)
		a.isIn.Store(true)
	})
}

// IsGuest reports whether the request with the context ctx came over a connection of a [Listener]
// on which no request was admitted yet.
func IsGuest(ctx context.Context) bool {
	a, _ := ctx.Value(admittedKey{}).(*admitted)
	return a != nil && !a.isIn.Load()
}
