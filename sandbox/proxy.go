package sandbox

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"

	"golang.org/x/net/netutil"
)

// A proxy is the way out where nothing but one port of this machine can be reached: programs ask it, by HTTP, for the hosts of their profile.
type proxy struct {
	reach
	address string // 127.0.0.1:PORT

	ctx     context.Context
	cancel  context.CancelFunc
	server  *http.Server
	running sync.WaitGroup
}

const maxProxyHeader = 64 << 10 // bytes of a request's

func serveProxy(r reach) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{reach: r, address: l.Addr().String()}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.Out.Host = r.In.Host },
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			return p.connect(ctx, address)
		}},
		ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	p.server = &http.Server{ReadHeaderTimeout: connectTime, IdleTimeout: connectTime, MaxHeaderBytes: maxProxyHeader, ErrorLog: forward.ErrorLog,
		BaseContext: func(net.Listener) context.Context { return p.ctx },
		ConnState: func(_ net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew: // while Serve runs
				p.running.Add(1)
			case http.StateHijacked, http.StateClosed: // a hijacked one ends with its handler
				p.running.Done()
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p.running.Add(1)
			defer p.running.Done()
			switch {
			case r.Method == http.MethodConnect:
				p.tunnel(w, r)
			case r.URL.Scheme == "http" && r.URL.Host != "":
				forward.ServeHTTP(w, r)
			default:
				http.Error(w, "this is a proxy, for CONNECT and http:// addresses", http.StatusBadRequest)
			}
		})}
	p.running.Go(func() { p.server.Serve(netutil.LimitListener(l, maxConnections)) })
	return p, nil
}

// connect reaches HOST:PORT.
func (p *proxy) connect(ctx context.Context, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(p.ctx, cancel) // a Transport goes on when a request has ended
	defer stop()
	return p.to(ctx, host, uint16(number))
}

// tunnel carries what both sides send, which the proxy does not look at.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	outside, err := p.connect(r.Context(), r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer outside.Close()
	inside, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer inside.Close()
	stop := context.AfterFunc(p.ctx, func() {
		inside.Close()
		outside.Close()
	})
	defer stop()
	early := make([]byte, buffered.Reader.Buffered()) // what came with the request
	if _, err := io.ReadFull(buffered, early); err != nil {
		return
	}
	if _, err := io.WriteString(inside, "HTTP/1.1 200 Connected\r\n\r\n"); err != nil {
		return
	}
	if _, err := outside.Write(early); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pass(outside, inside) })
	pass(inside, outside)
	both.Wait()
}

// close ends all connections and waits for them.
func (p *proxy) close() {
	p.cancel()
	p.server.Close()
	p.running.Wait()
}
