package mcp

// A Carriage describes how a request is carried between client and server: for logs and traces. What is not known is zero.
type Carriage struct {
	Revision        string // that is spoken with a server
	ID              string // the id of the JSON-RPC message, as text
	Session         string // a digest of the session's id over HTTP, as the id itself lets its holder use the session
	Network         string // "pipe", "tcp", "unix" or "quic"
	Protocol        string // "http"
	ProtocolVersion string // of it, such as "1.1"
	Address         string // of the other side: a host or an IP address
	Port            int
}

// CarriageOf returns how a transport of this process received the request. It is zero for requests made in this process.
func CarriageOf(req *Request) Carriage {
	if p, ok := PeerAs[interface{ Carriage() Carriage }](req.Peer); ok {
		return p.Carriage()
	}
	return Carriage{}
}

// WatchCarriage returns a copy of a request that a [Client] gets, and how it is sent: see is called each time, before that, from
// any goroutine.
func WatchCarriage(req *Request, see func(Carriage)) *Request {
	if req.Peer == nil {
		return req
	}
	watched := *req
	watched.Peer = &carriedPeer{req.Peer, see}
	return &watched
}

// A carriedPeer is a Peer that a connection tells how it sends the request.
type carriedPeer struct {
	Peer
	see func(Carriage)
}

// Sent is for connections.
func (p *carriedPeer) Sent(c Carriage) {
	p.see(c)
	if inner, ok := PeerAs[interface{ Sent(Carriage) }](p.Peer); ok {
		inner.Sent(c)
	}
}

// Unwrap is for [PeerAs].
func (p *carriedPeer) Unwrap() Peer { return p.Peer }
