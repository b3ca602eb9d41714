// Command server is the program that a benchmark drives. It serves the tools, the resource and the
// prompt that every server under test has, in the mode that its flags select.
//
//	-mode   stdio, stdio-modern, stateful, stateless or modern
//	-addr   address to listen on in the HTTP modes (path /mcp)
//	-debug  address that serves /stats and /debug/pprof; none if empty
//	-tools  number of generated tools to add, up to 200
//	-gateway  serve a gateway, with the server behind it in the process
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"strings"

	"github.com/junction-mcp/junction/gateway"
	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/stdio"
)

func main() {
	mode := flag.String("mode", "stdio", "stdio, stdio-modern, stateful, stateless or modern")
	addr := flag.String("addr", "127.0.0.1:0", "where to listen, in the HTTP modes")
	debug := flag.String("debug", "", "where to serve /stats and /debug/pprof")
	tools := flag.Int("tools", 0, "how many generated tools to add")
	behind := flag.Bool("gateway", false, "serve a gateway, with the server behind it in the process")
	flag.Parse()
	if *debug != "" {
		go serveDebug(*debug)
	}
	var h mcp.Handler = newServer(*tools)
	if *behind {
		g := gateway.New(gateway.Options{NoPrefix: true})
		must(g.AddHandler("server", h))
		h = g
	}
	var err error
	if strings.HasPrefix(*mode, "stdio") {
		err = stdio.Serve(context.Background(), h)
	} else {
		err = serveHTTP(*addr, h, *mode == "stateless")
	}
	if err != nil {
		log.Print(err)
		os.Exit(1)
	}
}
