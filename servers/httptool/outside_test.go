package httptool

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestOutsideOnlyRefusesNamesThatLeadInside(t *testing.T) {
	inner := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the request arrived") }))
	defer inner.Close()
	c, err := NewClient("x", Options{Base: strings.Replace(inner.URL, "127.0.0.1", "localhost", 1), OutsideOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Send(t.Context(), &Request{Method: http.MethodGet, URL: &url.URL{Path: "/x"}, Header: http.Header{}}); err == nil || !strings.Contains(err.Error(), "is not an address on the internet") {
		t.Errorf("got %v", err)
	}
}
