package chat_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/account"
	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
	"github.com/junction-mcp/junction/cmd/junction/internal/reach"
	"github.com/junction-mcp/junction/internal/terminal"
)

// A person who logs in on another machine pastes the address that their browser ends up at.
func TestAnAddressIsPasted(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		paste func(back string) string
		fault string // empty: none
	}{
		{"as it is", func(back string) string { return back }, ""},
		{"with blanks around it", func(back string) string { return "  " + back + "  " }, ""},
		{"of another login", func(back string) string { return strings.Replace(back, "state=", "state=x", 1) }, "another login (state)"},
		{"without a code", func(back string) string { return strings.Replace(back, "code=", "cold=", 1) }, "without a code"},
		{"the page itself", func(string) string { return "https://login.example/" }, "another login (state)"},
		{"nothing", func(string) string { return "" }, "another login (state)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			clitest.NoState(t)
			s := clitest.NewTokenSite(t)
			in, typed := io.Pipe()
			shown, screen := io.Pipe()
			var said clitest.SafeBuffer
			a := reach.Ready(&cli.App{Place: clitest.PlaceOf(t), IO: cli.IO{Out: terminal.NewScreen(&said), Screen: terminal.NewScreen(screen)}})
			a.Person = terminal.NewPerson(in, a.Screen)
			ended := make(chan error, 1)
			go func() {
				err := account.Login(t.Context(), a, account.LoginServer{Name: "site", URL: s.URL + "/mcp"}, false)
				_ = screen.Close()
				ended <- err
			}()
			text := make([]byte, 0, 4096)
			for buffer := make([]byte, 512); !strings.Contains(string(text), "Paste that address here:"); {
				n, err := shown.Read(buffer)
				if err != nil {
					t.Fatalf("%v: %s, %v", err, text, <-ended)
				}
				text = append(text, buffer[:n]...)
			}
			go func() { _, _ = io.Copy(io.Discard, shown) }() // ends with the login
			var page string
			for _, word := range strings.Fields(string(text)) {
				if strings.HasPrefix(word, s.URL+"/authorize?") {
					page = word
				}
			}
			client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			response, err := client.Get(page)
			if err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			response.Body.Close()
			back := response.Header.Get("Location")
			if !strings.HasPrefix(back, "http://127.0.0.1:3118/callback?") {
				t.Errorf("the browser ends up at %s", back)
			}
			fmt.Fprintln(typed, test.paste(back))
			err = <-ended
			_ = typed.Close()
			if closed := a.Launch.Close(); closed != nil {
				t.Error(closed)
			}
			switch {
			case test.fault == "" && (err != nil || !strings.Contains(said.String(), "Logged in: ")):
				t.Errorf("%v, %s", err, said.String())
			case test.fault != "" && (err == nil || !strings.Contains(err.Error(), test.fault)):
				t.Errorf("%v, want %q", err, test.fault)
			}
		})
	}
}
