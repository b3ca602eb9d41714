// Package admission limits the connections of a server, so that connections without an admitted
// request do not keep others out.
package admission

import (
	queue "container/list"
	"context"
	"net"
	"sync"
	"sync/atomic"

	"github.com/junction-mcp/junction/internal/share"
)

// A Listener accepts connections. A connection without an admitted request is a guest. If there are
// too many guests, the oldest of the address with the most makes room for a new one. After an
// admitted request it is a member, as long as its caller has a share of the members, and otherwise
// stays a guest.
type Listener struct {
	net.Listener

	mu      sync.Mutex
	guests  *share.Budget
	members *share.Budget
	of      map[string]*queue.List // guests by address, oldest first
}

// Limit limits the connections of a listener. The server that accepts them must use [ConnContext].
func Limit(l net.Listener, guests, members *share.Budget) *Listener {
	return &Listener{Listener: l, guests: guests, members: members, of: map[string]*queue.List{}}
}

// A guest is a connection.
type guest struct {
	net.Conn
	all *Listener

	// The lock of the Listener guards these.
	address  string
	place    *queue.Element // among the guests; nil: not a guest
	isMember bool
	caller   string // caller whose share of members it uses
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

// enter adds a guest and returns the one that made room, or nil. The caller holds the lock.
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

// leave removes a connection. The caller holds the lock.
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

// letIn makes the connection a member, if its caller has a share left.
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

// admitted is the state that the requests of one connection share. They are sequential except with
// HTTP/2.
type admitted struct {
	guest *guest
	once  sync.Once
	isIn  atomic.Bool
}

// ConnContext serves [net/http.Server.ConnContext].
func ConnContext(ctx context.Context, conn net.Conn) context.Context {
	if under, is := conn.(interface{ NetConn() net.Conn }); is { // TLS
		conn = under.NetConn()
	}
	if g, is := conn.(*guest); is {
		ctx = context.WithValue(ctx, admittedKey{}, &admitted{guest: g})
	}
	return ctx
}

// LetIn records that a request with the context ctx was admitted, and the caller of its connection,
// a key of internal/share.
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

// IsGuest reports whether a request with the context ctx came over a connection of a [Listener]
// without an admitted request.
func IsGuest(ctx context.Context) bool {
	a, _ := ctx.Value(admittedKey{}).(*admitted)
	return a != nil && !a.isIn.Load()
}
