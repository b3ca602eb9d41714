// Command shop serves a web page with a button. The page shows the price only after a click.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
)

const page = `<!doctype html>
<title>Tea shop</title>
<h1>Tea shop</h1>
<button onclick="price.textContent = 'Green tea costs 4.50'">Show the price</button>
<p id="price">No price yet.</p>
<a href="/admin">Administration</a>
`

func main() {
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) })
	http.HandleFunc("GET /admin", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<h1>Administration</h1>") })
	listener, err := net.Listen("tcp", "127.0.0.1:8181")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the shop is at http://127.0.0.1:8181")
	log.Fatal(http.Serve(listener, nil))
}
