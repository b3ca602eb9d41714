package main

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"strings"
)

// adminTokenEnv holds the token of those who may control junction up, in place of the file.
const adminTokenEnv = "JUNCTION_ADMIN_TOKEN"

// adminToken is what a request must have that controls junction up, and where it comes from. It is made where there
// is none.
func adminToken() (token, from string, err error) {
	if token = os.Getenv(adminTokenEnv); token != "" {
		return token, "the variable " + adminTokenEnv, nil
	}
	path, err := stateFile("admin.token")
	if err != nil {
		return "", "", err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(file, rand.Text())
		err = errors.Join(err, file.Close())
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", "", &connectError{fmt.Errorf("the token for --admin: %w", err)}
	}
	text, err := os.ReadFile(path)
	if token = strings.TrimSpace(string(text)); err == nil && token == "" {
		err = fmt.Errorf("%s is empty; remove it, and a new one is made", path)
	}
	if err != nil {
		return "", "", &connectError{fmt.Errorf("the token for --admin: %w", err)}
	}
	return token, path, nil
}

// serveControl adds what needs a token to the address for those who watch: the status, and a server's restart.
func (v *served) serveControl(mux *http.ServeMux, token string) {
	handle := func(pattern string, h http.HandlerFunc) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			given := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
			if subtle.ConstantTimeCompare([]byte(given), []byte(token)) == 0 {
				w.Header().Set("WWW-Authenticate", `Bearer realm="junction"`)
				http.Error(w, "expected the token of --admin as Authorization: Bearer TOKEN", http.StatusUnauthorized)
				return
			}
			h(w, r)
		})
	}
	handle("GET /api/status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		_ = e.Encode(describeInstance(v.gateway, v.listener, v.sources())) // who asked may be gone
	})
	handle("POST /api/servers/{name}/restart", func(w http.ResponseWriter, r *http.Request) {
		if err := v.gateway.Restart(r.PathValue("name")); err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
}
