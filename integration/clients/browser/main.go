// Command browser acts as a user who agrees to everything. It opens a page and submits each form
// with a name and a password until there are no more forms. It appends a line for each page it is
// started with to the file $BROWSER_LOG, if that is set.
package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"time"
)

var (
	form   = regexp.MustCompile(`(?s)<form[^>]*action="([^"]*)"[^>]*>(.*?)</form>`)
	input  = regexp.MustCompile(`<input[^>]*>`)
	name   = regexp.MustCompile(`name="([^"]*)"`)
	value  = regexp.MustCompile(`value="([^"]+)"`)
	button = regexp.MustCompile(`<button name="([^"]*)" value="([^"]*)"`)
	press  = regexp.MustCompile(`type="submit"`)
)

func main() {
	page := os.Args[len(os.Args)-1]
	if log := os.Getenv("BROWSER_LOG"); log != "" {
		f, err := os.OpenFile(log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, page)
			f.Close()
		}
	}
	if err := visit(page); err != nil {
		fmt.Fprintln(os.Stderr, "browser:", err)
		os.Exit(1)
	}
}

func visit(page string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	client := &http.Client{Jar: jar, Timeout: 20 * time.Second}
	response, err := client.Get(page)
	for range 10 {
		if err != nil {
			return err
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		response.Body.Close()
		if err != nil {
			return err
		}
		m := form.FindSubmatch(body)
		if m == nil {
			if response.StatusCode != http.StatusOK {
				return fmt.Errorf("%s: %s: %s", response.Request.URL, response.Status, body)
			}
			return nil // no form is left
		}
		to, err := response.Request.URL.Parse(html.UnescapeString(string(m[1])))
		if err != nil {
			return err
		}
		response, err = client.PostForm(to.String(), fields(m[2]))
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%s asks without end", page)
}

// fields returns the values of a form after a user has filled it in and pressed the first button.
func fields(body []byte) url.Values {
	values, pressed := url.Values{}, false
	for _, tag := range input.FindAll(body, -1) {
		n := name.FindSubmatch(tag)
		if n == nil {
			continue
		}
		if press.Match(tag) {
			if pressed {
				continue
			}
			pressed = true
		}
		v := "ada"
		if m := value.FindSubmatch(tag); m != nil {
			v = html.UnescapeString(string(m[1]))
		}
		values.Set(string(n[1]), v)
	}
	if m := button.FindSubmatch(body); m != nil && !pressed {
		values.Set(string(m[1]), html.UnescapeString(string(m[2])))
	}
	return values
}
