package mcp

// A TransportInfo describes how a request travels between client and server, for logs and traces.
// Unknown fields are zero.
type TransportInfo struct {
	Revision        string // protocol revision of the connection
	ID              string // the id of the JSON-RPC message, as text
	Session         string // digest of the HTTP session's id; with the id itself, a reader could use the session
	Network         string // "pipe", "tcp", "unix" or "quic"
	Protocol        string // "http"
	ProtocolVersion string // version of Protocol, such as "1.1"
	Address         string // host or IP address of the other side
	Port            int
}

// TransportInfoOf returns how a transport of this process received the request. The result is zero
// for requests made in this process.
func TransportInfoOf(req *Request) TransportInfo {
	if p, ok := PeerAs[interface{ TransportInfo() TransportInfo }](req.Peer); ok {
		return p.TransportInfo()
	}
	return TransportInfo{}
}

// WatchTransportInfo returns a copy of a request to pass to a [Client]. The Client calls see with
// the TransportInfo before each time it sends the request, from any goroutine.
func WatchTransportInfo(req *Request, see func(TransportInfo)) *Request {
	if req.Peer == nil {
		return req
	}
	watched := *req
	watched.Peer = &watchedPeer{req.Peer, see}
	return &watched
}

// A watchedPeer is a Peer that learns from a connection how it sends the request.
type watchedPeer struct {
	Peer
	see func(TransportInfo)
}

// Sent reports how the request is sent. A connection calls it before it sends the request.
func (p *watchedPeer) Sent(c TransportInfo) {
	p.see(c)
	if inner, ok := PeerAs[interface{ Sent(TransportInfo) }](p.Peer); ok {
		inner.Sent(c)
	}
}

// Unwrap implements the method that [PeerAs] needs.
func (p *watchedPeer) Unwrap() Peer { return p.Peer }
