package oauthdoc

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"https://as.example", "https://as.example", true},
		{"https://as.example", "https://as.example/", true},
		{"https://AS.Example", "https://as.example/", true},
		{"HTTPS://as.example", "https://as.example", true},
		{"https://as.example:443", "https://as.example/", true},
		{"http://LOCALHOST:80/mcp", "http://localhost/mcp", true},
		{"https://as.example:", "https://as.example", true},
		{"https://as.example/a%2fb", "https://as.example/a%2Fb", true},
		{"https://[::1]:443/x", "https://[::1]/x", true},
		{"https://[::A]/x", "https://[::a]/x", true},
		{"urn:issuer", "urn:issuer", true},

		{"https://as.example", "http://as.example", false},
		{"https://as.example:80", "https://as.example", false},
		{"https://as.example:8443", "https://as.example", false},
		{"https://as.example:0443", "https://as.example", false},
		{"https://as.example.", "https://as.example", false},
		{"https://as.example/a", "https://as.example/a/", false},
		{"https://as.example/a", "https://as.example/A", false},
		{"https://as.example/a", "https://as.example", false},
		{"https://as.example//", "https://as.example/", false},
		{"https://as.example/a/../b", "https://as.example/b", false},
		{"https://as.example/./", "https://as.example/", false},
		{"https://as.example/a%2Fb", "https://as.example/a/b", false},
		{"https://as.example/%7Ea", "https://as.example/~a", false},
		{"https://as.example/a b", "https://as.example/a%20b", false},
		{"https://as.example?x", "https://as.example", false},
		{"https://as.example?", "https://as.example", false},
		{"https://as.example/?x", "https://as.example?x", false},
		{"https://as.example#", "https://as.example", false},
		{"https://as.example/#x", "https://as.example/", false},
		{"https://user@as.example/", "https://as.example/", false},
		{"https://evil.example@as.example", "https://as.example", false},
		{"https://as.example\\@evil.example", "https://as.example", false},
		{"https://\u212Aas.example", "https://kas.example", false},
		{"https://%61s.example", "https://as.example", false},
		{"URN:issuer", "urn:issuer", false},
		{"", "https://as.example", false},
		{"as.example", "https://as.example", false},
	} {
		if Same(test.a, test.b) != test.want || Same(test.b, test.a) != test.want {
			t.Errorf("%q and %q: expected %v", test.a, test.b, test.want)
		}
	}
}

// A document has a member of each kind.
type document struct {
	Name  string  `json:"name"`
	Words Words   `json:"words"`
	Time  Seconds `json:"time"`
	Flag  Flag    `json:"flag"`
}

func TestDecodeLeavesOutOtherTypes(t *testing.T) {
	for text, want := range map[string]document{
		`{"words":["a","b c",5,null],"time":"5.5"}`:      {Words: Words{"a", "b", "c"}, Time: 5.5},
		"\ufeff" + `{"words":"a  b","time":5e3}`:         {Words: Words{"a", "b"}, Time: 5000},
		`{"name":5,"flag":"true","words":{"a":1}}`:       {Flag: true},
		`{"name":["n"],"time":"NaN","flag":1,"words":7}`: {},
		`{"time":"0x10","flag":true,"name":"n"}`:         {Name: "n", Flag: true},
		`{"time":null,"flag":null,"words":null}`:         {},
		`null`:                                           {},
	} {
		var got document
		if err := Decode([]byte(text), &got); err != nil || got.Name != want.Name || !slices.Equal(got.Words, want.Words) || got.Time != want.Time || got.Flag != want.Flag {
			t.Errorf("%s: %+v, %v, expected %+v", text, got, err, want)
		}
	}
	for _, text := range []string{`[]`, `"a"`, `{"a":1`, `<html>`, ``} {
		if err := Decode([]byte(text), new(document)); err == nil {
			t.Errorf("%s was decoded", text)
		}
	}
}

func TestFaultOf(t *testing.T) {
	for text, want := range map[string]Fault{
		`{"error":"invalid_grant","error_description":"it was used"}`:                {"invalid_grant", "it was used"},
		`{"error":{"code":"bad","message":"it was used"}}`:                           {"bad", "it was used"},
		`{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"it was used"}}`: {"INVALID_ARGUMENT", "it was used"},
		`{"message":"it was used"}`:                                                  {"", "it was used"},
		`{"detail":"it was used"}`:                                                   {"", "it was used"},
		`{"error":null,"access_token":"a"}`:                                          {},
		`{"error":false}`:                                                            {},
		`<html>`:                                                                     {},
		`[]`:                                                                         {},
	} {
		if got := FaultOf([]byte(text)); got != want {
			t.Errorf("%s: %+v, expected %+v", text, got, want)
		}
	}
}

func TestReadGoesOnToTheNextPlace(t *testing.T) {
	answer := func(status int, kind, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}
	document := answer(http.StatusOK, "text/plain", "\ufeff"+`{"name":"it"}`)
	for _, test := range []struct {
		name string
		odd  http.HandlerFunc
		want string // error if both places respond so
		none bool   // whether that means that there is no document
	}{
		{"a page", answer(http.StatusOK, "text/html; charset=utf-8", "<!doctype html>"), `a response of type "text/html" that is not a JSON object`, true},
		{"404", answer(http.StatusNotFound, "text/plain", "no"), "HTTP status 404", true},
		{"502", answer(http.StatusBadGateway, "text/html", "<html>"), "HTTP status 502", false},
		{"204", answer(http.StatusNoContent, "", ""), "HTTP status 204", false},
		{"an error object", answer(http.StatusOK, "application/json", `{"error":"not_found","error_description":"no \u001b[31mroute"}`), `the error not_found no \x1b[31mroute`, true},
		{"an array", answer(http.StatusOK, "application/json", `[]`), "that is not a JSON object", true},
		{"another document", answer(http.StatusOK, "application/json", `{"status":"ok"}`), "", true},
		{"one of somebody else", answer(http.StatusOK, "application/json", `{"name":"other"}`), `it is "other"`, false},
		{"one without an end", answer(http.StatusOK, "application/json", `{"name":"`+strings.Repeat("x", maxDocument)+`"}`), "has more than 256 KiB", false},
		{"a closed connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "EOF", false},
		{"another origin", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.example/", http.StatusFound)
		}, "another origin", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			mux := http.NewServeMux()
			mux.HandleFunc("/odd", test.odd)
			mux.HandleFunc("/odd/too", test.odd)
			mux.HandleFunc("/good", document)
			server := httptest.NewServer(mux)
			defer server.Close()
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("another origin") }}
			name := ""
			take := func(text []byte) error {
				var d struct {
					Name string `json:"name"`
				}
				err := Decode(text, &d)
				switch name = d.Name; name {
				case "":
					return errors.Join(err, ErrNone)
				case "other":
					return errors.New(`it is "other"`)
				}
				return err
			}
			if err := Read(t.Context(), client, []string{server.URL + "/odd", server.URL + "/good"}, take); err != nil || name != "it" {
				t.Errorf("with a good place: %q, %v", name, err)
			}
			err := Read(t.Context(), client, []string{server.URL + "/odd", server.URL + "/odd/too"}, take)
			if err == nil || errors.Is(err, ErrNone) != test.none || strings.Count(err.Error(), test.want) < 2 || !strings.Contains(err.Error(), server.URL+"/odd/too") {
				t.Errorf("without one: %v", err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Read(ctx, http.DefaultClient, []string{"http://127.0.0.1:1/a", "http://127.0.0.1:1/b"}, nil); err == nil || strings.Contains(err.Error(), "/b") {
		t.Errorf("a place that is not reached: %v", err)
	}
}
