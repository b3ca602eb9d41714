package authserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/state"
)

func TestUnusedClientsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, func(o *Options) { o.LoginTime = 365 * 24 * time.Hour })
		unused, l := s.register("Unused", callback), s.login("ann")
		time.Sleep(unusedClientTime + time.Second)
		known := func(id string) bool {
			_, err := s.client(t.Context(), id)
			return err == nil
		}
		if known(unused) || !known(l.client) {
			t.Errorf("unused is known: %v, used: %v", known(unused), known(l.client))
		}
		for range 10 { // each refresh is a use
			time.Sleep(20 * 24 * time.Hour)
			status, got := s.refresh(l.client, l.refresh)
			l = s.tokensIn(l.client, status, got)
		}
		time.Sleep(clientTime + time.Second)
		status, got := s.refresh(l.client, l.refresh)
		isRefused(t, "after long", status, got, http.StatusUnauthorized, "invalid_client", "register again")
	})
}

func TestRegistrationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		s := newSite(t, func(o *Options) {
			o.Logger = slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelWarn}))
		})
		try := func(want int) {
			t.Helper()
			status, got := s.post(registerPath, map[string]any{"redirect_uris": []string{callback}})
			if status != want {
				t.Fatalf("%s: %d %v", s.from, status, got)
			}
		}
		for i := range defaultRegistrations {
			s.from = fmt.Sprintf("192.0.2.%d:1", i/(defaultRegistrations/10))
			try(http.StatusCreated)
			if (i+1)%(defaultRegistrations/10) == 0 {
				try(http.StatusTooManyRequests)
			}
		}
		s.from = "198.51.100.1:1"
		try(http.StatusCreated) // the first of another address
		try(http.StatusTooManyRequests)
		try(http.StatusTooManyRequests)
		if want := defaultRegistrations/(defaultRegistrations/10) + 1; strings.Count(said.String(), "clients are refused") != want || strings.Count(said.String(), "address=198.51.100.1\n") != 1 {
			t.Errorf("expected %d lines, of which the last is said once: %s", want, &said)
		}
		time.Sleep(registerTime + time.Second)
		// Addresses of one IPv6 network count as one.
		for i := range defaultRegistrations / 10 {
			s.from = fmt.Sprintf("[2001:db8::%x]:1", i+1)
			try(http.StatusCreated)
		}
		s.from = "[2001:db8::ffff]:1"
		try(http.StatusTooManyRequests)
		s.from = "[2001:db8:0:1::1]:1"
		try(http.StatusCreated)

		for i := range maxClients {
			if _, err := s.store.Put(t.Context(), fmt.Sprint(clientPrefix, i), []byte("{}"), state.Write{}); err != nil {
				t.Fatal(err)
			}
		}
		s.from = "198.51.100.2:1"
		try(http.StatusServiceUnavailable)
	})
}

func TestClientsAreReadFromTheirDocument(t *testing.T) {
	s := newSite(t)
	good := `{"client_id":"` + documentAt + `","client_name":"App","redirect_uris":["` + siteCallback + `"],"token_endpoint_auth_method":"none"}`
	s.publish(documentAt, good)
	status, got := s.redeem(documentAt, siteCallback, s.code(s.browser("ann"), ask(documentAt, siteCallback), siteCallback))
	l := s.tokensIn(documentAt, status, got)
	status, got = s.refresh(documentAt, l.refresh)
	s.tokensIn(documentAt, status, got)

	for name, test := range map[string]struct{ at, text, why string }{
		"of another":         {"https://app.example/a", good, "names another client"},
		"with a secret":      {"https://app.example/b", strings.Replace(good, `"none"`, `"none","client_secret":"x"`, 1), "expected none"},
		"that signs":         {"https://app.example/c", strings.Replace(good, `"none"`, `"private_key_jwt"`, 1), "either jwks or jwks_uri"},
		"without an address": {"https://app.example/d", `{"client_id":"https://app.example/d"}`, "redirect_uris"},
		"with http":          {"https://app.example/e", `{"client_id":"https://app.example/e","redirect_uris":["http://app.example/"]}`, "not encrypted"},
		"that is large":      {"https://app.example/f", strings.Repeat(" ", maxClientText+1), "KiB"},
		"that is none":       {"https://app.example/g", "<html>", "not JSON"},
	} {
		s.publish(test.at, strings.ReplaceAll(test.text, `"client_id":"`+documentAt, `"client_id":"`+map[bool]string{true: documentAt, false: test.at}[name == "of another"]))
		if _, err := s.client(t.Context(), test.at); err == nil || !strings.Contains(err.Error(), test.why) {
			t.Errorf("a document %s: %v", name, err)
		}
	}
	for name, at := range map[string]string{
		"not there": "https://app.example/none", "over http": "http://app.example/client.json", "without a path": "https://app.example", "with only a slash": "https://app.example/",
		"with dots": "https://app.example/a/../client.json", "with a user": "https://ann@app.example/client.json", "with a fragment": documentAt + "#x", "of a file": "file:///etc/passwd",
	} {
		if c, err := s.client(t.Context(), at); err == nil {
			t.Errorf("a document %s: %+v", name, c)
		}
	}
}

func TestAServerThatCannotReadDocumentsSaysSoAndTakesNone(t *testing.T) {
	s := newSite(t, func(o *Options) { o.RegisteredOnly = true })
	id := "https://app.example/client.json"
	s.web[id] = func(http.ResponseWriter, *http.Request) { t.Error("the document was read") }
	if c, err := s.client(t.Context(), id); !errors.Is(err, errNoClient) {
		t.Errorf("got %+v, %v", c, err)
	}
	response, err := (&http.Client{Transport: s}).Get(issuer + "/.well-known/oauth-authorization-server")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var said map[string]any
	if err := json.NewDecoder(response.Body).Decode(&said); err != nil || said["client_id_metadata_document_supported"] != false {
		t.Errorf("the metadata say %v, %v", said["client_id_metadata_document_supported"], err)
	}
}

func TestDocumentsAreRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		reads := 0
		text := `{"client_id":"` + documentAt + `","redirect_uris":["` + siteCallback + `"]}`
		s.web[documentAt] = func(w http.ResponseWriter, _ *http.Request) {
			reads++
			_, _ = w.Write([]byte(text))
		}
		get := func(want int, ok bool) {
			t.Helper()
			for range 3 {
				if _, err := s.client(t.Context(), documentAt); (err == nil) != ok || reads != want {
					t.Errorf("read %d times: %v", reads, err)
				}
			}
		}
		get(1, true)
		time.Sleep(documentTime)
		text = "gone"
		get(2, false)
		text = `{"client_id":"` + documentAt + `","redirect_uris":["` + siteCallback + `"]}`
		time.Sleep(badDocumentTime)
		get(3, true)
		for i := range maxDocuments + 10 {
			_, _ = s.client(t.Context(), fmt.Sprintf("https://app.example/%d", i))
		}
		if n := len(s.documents.by); n > maxDocuments {
			t.Errorf("%d are remembered", n)
		}
	})
}

// By default documents are not read from this machine or private networks.
func TestDocumentsAreNotReadFromPrivatePlaces(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Documents = nil })
	for _, at := range []string{"https://127.0.0.1/client", "https://localhost/client", "https://10.0.0.1/client", "https://169.254.169.254/latest", "https://[::1]/client", "https://[fd00::1]/client"} {
		if _, err := s.client(t.Context(), at); err == nil || !strings.Contains(err.Error(), "this machine") && !strings.Contains(err.Error(), "not on the internet") {
			t.Errorf("%s: %v", at, err)
		}
	}
}
