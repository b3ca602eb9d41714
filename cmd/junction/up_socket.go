package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/junction-mcp/junction/console/reply"
	"github.com/spf13/pflag"
)

// orderTime is how long the process behind a socket may take to begin its answer; servers that it has to ask may be slow.
const orderTime = 2 * time.Minute

// controlEnd ends the name of the socket at which junction status and this user's console ask a junction up, and consoles control it.
// It is short, as names of sockets have a limit, and caches of people may lie deep.
const controlEnd = ".up"

func (o *upOptions) consoleFlag(f *pflag.FlagSet) {
	f.BoolVar(&o.console, "console", false, "serve a web page, on this machine only, that shows servers and messages; the link that is printed lets one browser in")
}

// share lets junction status and consoles of this user ask this process, and serves one if that is wanted. The function
// that it returns ends that, but for the console.
func (v *served) share(ctx context.Context) (end func()) {
	end = v.takeOrders(ctx)
	if v.options.console {
		if link, err := v.app.consoleLink(ctx, false); err != nil {
			v.app.screen.Printf("junction: the console is not served: %v\n", err)
		} else {
			v.app.screen.Printf("The console is at %s\n", link)
		}
	}
	return end
}

// takeOrders serves what --admin has below /api, and what is inside, to the consoles of this user, through a socket that
// nobody else can reach; where there can be none, it does without. The function that it returns ends that.
func (v *served) takeOrders(ctx context.Context) (end func()) {
	l, path, err := listenForMe(controlEnd)
	if err != nil {
		v.app.logger().Debug("junction status and junction console cannot ask this process", "error", err)
		return func() {}
	}
	mux := http.NewServeMux()
	v.serveControl(mux, func(h http.Handler) http.HandlerFunc { return h.ServeHTTP }, func(*http.Request) string { return "in the console" })
	ctx, cancel := context.WithCancel(ctx)
	s := &http.Server{Handler: readWhole(mux), ReadHeaderTimeout: adminTime, ReadTimeout: adminTime, IdleTimeout: idleTimeout, ErrorLog: v.app.serverLog(),
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

// readWhole reads what a Handler leaves of a request's body: who still writes it when the response comes, and the connection
// ends, may see only that it cannot go on writing.
func readWhole(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r)
		_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, maxQuestion))
	})
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
		ModifyResponse: plainAnswer,
		Transport: &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: orderTime, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
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
		proxy.ServeHTTP(finalOnly{w, w.Header().Clone()}, r)
	})
}

// plainAnswer leaves of an answer what the console's page needs: it is served at the console's own address, so whatever is
// behind the socket must not set cookies there, send the page elsewhere, or have a page or script of its own.
func plainAnswer(r *http.Response) error {
	kept := http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && kind == "application/json" {
		kept.Set("Content-Type", kind)
	}
	if length := r.Header.Get("Content-Length"); length != "" {
		kept.Set("Content-Length", length)
	}
	r.Header, r.Trailer = kept, nil
	return nil
}

// A finalOnly passes on the last answer only: those before it, such as 103, would bring headers of their own, and have the
// proxy drop the console's.
type finalOnly struct {
	http.ResponseWriter
	own http.Header
}

// WriteHeader implements [http.ResponseWriter].
func (w finalOnly) WriteHeader(status int) {
	if status >= http.StatusOK {
		maps.Copy(w.Header(), w.own)
		w.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap is for [http.ResponseController].
func (w finalOnly) Unwrap() http.ResponseWriter { return w.ResponseWriter }
