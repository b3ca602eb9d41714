// Command desk is the API of a small help desk. It keeps tickets in memory, and wants the token
// made-up-desk-4711.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

type ticket struct {
	ID       int      `json:"id"`
	Title    string   `json:"title"`
	Status   string   `json:"status"`
	Comments []string `json:"comments"`
}

// A desk holds the tickets.
type desk struct {
	mu      sync.Mutex
	tickets []ticket
}

// find answers with the ticket of the path after change changed it.
func (d *desk) find(w http.ResponseWriter, r *http.Request, change func(at int)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id, _ := strconv.Atoi(r.PathValue("id")) // no ticket has the number 0
	at := slices.IndexFunc(d.tickets, func(t ticket) bool { return t.ID == id })
	if at < 0 {
		answer(w, http.StatusNotFound, map[string]string{"error": "no ticket has this number"})
		return
	}
	found := &d.tickets[at]
	if change != nil {
		change(at)
	}
	answer(w, http.StatusOK, found)
}

func (d *desk) list(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	found := []ticket{}
	for _, t := range d.tickets {
		if status := r.FormValue("status"); status == "" || status == t.Status {
			found = append(found, t)
		}
	}
	answer(w, http.StatusOK, map[string]any{"tickets": found})
}

func (d *desk) comment(w http.ResponseWriter, r *http.Request) {
	var body struct{ Text string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&body); err != nil || body.Text == "" {
		answer(w, http.StatusBadRequest, map[string]string{"error": "a comment needs a text"})
		return
	}
	d.find(w, r, func(at int) { d.tickets[at].Comments = append(d.tickets[at].Comments, body.Text) })
}

func (d *desk) reset(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tickets = nil
	answer(w, http.StatusOK, map[string]any{"tickets": []ticket{}})
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may have left
}

// withToken refuses requests without the token.
func withToken(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer made-up-desk-4711" {
			answer(w, http.StatusUnauthorized, map[string]string{"error": "a token is needed"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

func main() {
	d := &desk{tickets: []ticket{
		{1, "The printer is out of paper", "open", []string{}},
		{2, "No sound in room 7", "closed", []string{"The cable was loose."}},
		{3, "A new laptop for Cleo", "open", []string{}},
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tickets", d.list)
	mux.HandleFunc("GET /tickets/{id}", func(w http.ResponseWriter, r *http.Request) { d.find(w, r, nil) })
	mux.HandleFunc("POST /tickets/{id}/comments", d.comment)
	mux.HandleFunc("POST /tickets/{id}/close", func(w http.ResponseWriter, r *http.Request) {
		d.find(w, r, func(at int) { d.tickets[at].Status = "closed" })
	})
	mux.HandleFunc("POST /admin/reset", d.reset)
	listener, err := net.Listen("tcp", "127.0.0.1:8181")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the help desk is at http://127.0.0.1:8181")
	log.Fatal(http.Serve(listener, withToken(mux)))
}
