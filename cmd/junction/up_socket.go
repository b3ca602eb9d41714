package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/spf13/pflag"
)

// controlEnd ends the name of the socket at which this user's console asks a junction up, and controls it.
const controlEnd = ".control"

func (o *upOptions) consoleFlag(f *pflag.FlagSet) {
	f.BoolVar(&o.console, "console", false, "serve a web page, on this machine only, that shows servers and messages; the link that is printed lets one browser in")
}

// share lets junction status and consoles of this user ask this process, and serves one if that is wanted. The function
// that it returns ends that, but for the console.
func (v *served) share(ctx context.Context) (end func()) {
	unpublish, stop := v.app.publish(v.describe), v.takeOrders(ctx)
	if v.options.console {
		if link, err := v.app.consoleLink(ctx); err != nil {
			v.app.screen.Printf("junction: the console is not served: %v\n", err)
		} else {
			v.app.screen.Printf("The console is at %s\n", link)
		}
	}
	return func() { stop(); unpublish() }
}

// takeOrders serves what --admin has below /api, and what is inside, to the consoles of this user, through a socket that
// nobody else can reach; where there can be none, it does without. The function that it returns ends that.
func (v *served) takeOrders(ctx context.Context) (end func()) {
	l, path, err := listenForMe(controlEnd)
	if err != nil {
		v.app.logger().Debug("junction console cannot control this process", "error", err)
		return func() {}
	}
	mux := http.NewServeMux()
	v.serveControl(mux, func(h http.Handler) http.HandlerFunc { return h.ServeHTTP })
	ctx, cancel := context.WithCancel(ctx)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: adminTime, ReadTimeout: adminTime, IdleTimeout: idleTimeout, ErrorLog: v.app.serverLog(),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(l) // ends when it is closed
	}()
	return func() {
		os.Remove(path)
		cancel()
		s.Close()
		<-ended
	}
}

// passOrders passes requests of the console on to the process that they name.
func passOrders() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL = &url.URL{Scheme: "http", Host: r.In.PathValue("pid"), Path: "/api/" + r.In.PathValue("rest"), RawQuery: r.In.URL.RawQuery}
			for _, name := range []string{"Cookie", "Origin", "Authorization"} {
				r.Out.Header.Del(name)
			}
		},
		Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			dir, err := statusFolder()
			if err != nil {
				return nil, err
			}
			pid, _, _ := net.SplitHostPort(address)
			return (&net.Dialer{Timeout: statusTime}).DialContext(ctx, "unix", filepath.Join(dir, pid+controlEnd))
		}},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				reply.Error(w, http.StatusNotFound, fmt.Errorf("no junction up has process %s; GET instances lists those that run", r.URL.Host))
			case refused(err):
				reply.Error(w, http.StatusGone, err)
			default:
				reply.Error(w, http.StatusBadGateway, err)
			}
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := strconv.ParseUint(r.PathValue("pid"), 10, 31); err != nil {
			reply.Error(w, http.StatusBadRequest, errors.New("expected the number of a process"))
			return
		}
		proxy.ServeHTTP(w, r)
	})
}
