// Package admission limits the connections of a server, so that those of which no request was let in keep no other out.
package admission

import (
	queue "container/list"
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/share"
)

// A Listener accepts the connections of an address. One of which no request was let in is a guest: where there are too many of them, the
// oldest of the address that has most makes room for a new one. One that was let in is a member as long as its caller has a share of
// them, and else stays a guest.
type Listener struct {
	net.Listener

	mu      sync.Mutex
	guests  *share.Budget
	members *share.Budget
	of      map[string]*queue.List // guests by address, the oldest first
}

// Limit limits the connections of a listener. The server that accepts them needs [ConnContext].
func Limit(l net.Listener, guests, members *share.Budget) *Listener {
	return &Listener{Listener: l, guests: guests, members: members, of: map[string]*queue.List{}}
}

// A guest is a connection.
type guest struct {
	net.Conn
	all *Listener

	// Under the lock of the Listener:
	address  string
	place    *queue.Element // among the guests; nil: it is none
	isMember bool
	caller   string // in whose share of members it is
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

// enter takes a guest in, and returns the one that made room; the lock is held.
func (l *Listener) enter(g *guest) (lost *guest) {
	if ok, from := l.guests.Borrow(g.address); !ok {
		if from == "" { // this address has most
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

// leave takes a connection out; the lock is held.
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

// letIn gives the connection a place among those of its caller.
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

// admitted is what requests of one connection share: they come one after the other, but with HTTP/2.
type admitted struct {
	guest *guest
	once  sync.Once
	isIn  atomic.Bool
}

// ConnContext is for [net/http.Server.ConnContext].
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if under, is := conn.(interface{ NetConn() net.Conn }); is { // TLS
		conn = under.NetConn()
	}
	if g, is := conn.(*guest); is {
		ctx = context.WithValue(ctx, admittedKey{}, &admitted{guest: g})
	}
	return ctx
}

// LetIn notes that a request with the context ctx was let in, and whose connection it came over, as internal/share names callers.
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

// IsGuest reports whether a request with the context ctx came over a connection of a [Listener] of which none was let in yet.
func IsGuest(ctx context.Context) bool {
	a, _ := ctx.Value(admittedKey{}).(*admitted)
	return a != nil && !a.isIn.Load()
}
