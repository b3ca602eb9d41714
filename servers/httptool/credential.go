package httptool

import (
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
)

// A Place is the place of a credential in a request.
type Place string

// Places of a credential.
const (
	Bearer Place = "bearer" // Authorization: Bearer VALUE
	Basic  Place = "basic"  // Authorization: Basic; VALUE is USER:PASSWORD
	Header Place = "header" // a header
	Query  Place = "query"  // a query parameter
	Cookie Place = "cookie" // a cookie
)

// A Credential is a secret for a server. Its printed form omits the value.
type Credential struct {
	In    Place
	Name  string // name of the header, query parameter or cookie
	Value string
}

// Check returns an error if the credential is invalid. The error omits the value.
func (c Credential) Check() error {
	switch c.In {
	case Bearer, Basic:
	case Header, Query, Cookie:
		if c.Name == "" || c.In != Query && !isToken(c.Name) {
			return fmt.Errorf("credential in %s: %q is not a valid name", c.In, c.Name)
		}
	default:
		return fmt.Errorf("credential in %q: expected bearer, basic, header, query or cookie", string(c.In))
	}
	switch {
	case c.Value == "":
		return fmt.Errorf("%v: it is empty", c)
	case !isLine(c.Value):
		return fmt.Errorf("%v: it has a character that no header can have, such as a line end", c)
	case c.In == Basic && !strings.Contains(c.Value, ":"):
		return errors.New("credential basic: expected USER:PASSWORD")
	case c.In == Cookie && strings.ContainsAny(c.Value, "\",; \\"):
		return fmt.Errorf("%v: it has a character that no cookie can have", c)
	}
	return nil
}

// String returns the place and the name of the credential without the value.
func (c Credential) String() string {
	if c.Name == "" {
		return "credential " + string(c.In)
	}
	return "credential " + string(c.In) + " " + c.Name
}

// GoString returns c.String().
func (c Credential) GoString() string { return c.String() }

// LogValue returns c.String() as a value.
func (c Credential) LogValue() slog.Value { return slog.StringValue(c.String()) }

// attach adds the credential to a request.
func (c Credential) attach(r *http.Request) {
	switch c.In {
	case Bearer:
		r.Header.Set("Authorization", "Bearer "+c.Value)
	case Basic:
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.Value)))
	case Header:
		r.Header.Set(c.Name, c.Value)
	case Cookie:
		r.AddCookie(&http.Cookie{Name: c.Name, Value: c.Value})
	case Query:
		pair := url.QueryEscape(c.Name) + "=" + url.QueryEscape(c.Value)
		if r.URL.RawQuery != "" {
			pair = "&" + pair
		}
		r.URL.RawQuery += pair
	}
}

// minSecret is the minimum length in bytes of a secret that hide replaces. A shorter one would also
// occur inside words.
const minSecret = 6

// forms returns the spellings of the secret that a server may repeat in a response.
func (c Credential) forms() []string {
	forms := []string{c.Value, url.QueryEscape(c.Value), url.PathEscape(c.Value)}
	if c.In == Basic {
		_, password, _ := strings.Cut(c.Value, ":")
		forms = append(forms, base64.StdEncoding.EncodeToString([]byte(c.Value)), password)
	}
	kept := forms[:0]
	for _, f := range forms {
		if len(f) >= minSecret {
			kept = append(kept, f)
		}
	}
	return kept
}

// isToken reports whether a text is a valid name of a header or a cookie.
func isToken(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r) })
}

// isLine reports whether a text is a valid value of a header.
func isLine(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
