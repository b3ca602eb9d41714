package streamable

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestABodyThatDoesNotComeIsRefused(t *testing.T) {
	inMemory(t, Options{}, func(t *testing.T, s *site, _ *fixture) {
		began := time.Now()
		conn, err := s.client.Transport.(*http.Transport).DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusRequestTimeout || time.Since(began) != 30*time.Second {
			t.Errorf("got %v, %v after %v", resp, err, time.Since(began))
		}
	})
}

func TestAClientThatDoesNotReadItsResponseIsDisconnected(t *testing.T) {
	inMemory(t, Options{}, func(t *testing.T, s *site, _ *fixture) {
		session := s.handshake(polling)
		conn, err := s.client.Transport.(*http.Transport).DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		body := callTool(1, "echo", fmt.Sprintf(`{"text":%q}`, strings.Repeat("x", 100)))
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nMcp-Session-Id: %s\r\nContent-Length: %d\r\n\r\n%s", session, len(body), body)
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("got %v, want the end of the connection", err)
		}
	})
}

func TestADeadlineHoldsForOneResponseOnly(t *testing.T) {
	inMemory(t, Options{}, func(t *testing.T, s *site, _ *fixture) {
		conn, err := s.client.Transport.(*http.Transport).DialContext(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for range 3 {
			go fmt.Fprintf(conn, "PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n")
			resp, err := http.ReadResponse(in, nil)
			if err != nil || resp.StatusCode != http.StatusMethodNotAllowed {
				t.Fatalf("got %v, %v", resp, err)
			}
			io.Copy(io.Discard, resp.Body)
			time.Sleep(time.Minute)
		}
	})
}
