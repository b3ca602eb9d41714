package mcp

// A Carriage describes how a request travels between client and server, for logs and traces.
// Unknown fields are zero.
type Carriage struct {
	Revision        string // protocol revision of the connection
	ID              string // the id of the JSON-RPC message, as text
	Session         string // digest of the HTTP session's id; with the id itself, a reader could use the session
	Network         string // "pipe", "tcp", "unix" or "quic"
	Protocol        string // "http"
	ProtocolVersion string // version of Protocol, such as "1.1"
	Address         string // host or IP address of the other side
	Port            int
}

// CarriageOf returns how a transport of this process received the request. The result is zero for
// requests made in this process.
func CarriageOf(req *Request) Carriage {
	if p, ok := PeerAs[interface{ Carriage() Carriage }](req.Peer); ok {
		return p.Carriage()
	}
	return Carriage{}
}

// WatchCarriage returns a copy of a request to pass to a [Client]. The Client calls see with the
// Carriage before each time it sends the request, from any goroutine.
func WatchCarriage(req *Request, see func(Carriage)) *Request {
	if req.Peer == nil {
		return req
	}
	watched := *req
	watched.Peer = &carriedPeer{req.Peer, see}
	return &watched
}

// A carriedPeer is a Peer that learns from a connection how it sends the request.
type carriedPeer struct {
	Peer
	see func(Carriage)
}

// Sent reports how the request is sent. A connection calls it before it sends the request.
func (p *carriedPeer) Sent(c Carriage) {
	p.see(c)
	if inner, ok := PeerAs[interface{ Sent(Carriage) }](p.Peer); ok {
		inner.Sent(c)
	}
}

// Unwrap implements the method that [PeerAs] needs.
func (p *carriedPeer) Unwrap() Peer { return p.Peer }
