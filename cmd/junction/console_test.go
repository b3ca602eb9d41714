package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/junction-mcp/junction/cmd/junction/internal/cli"
	"github.com/junction-mcp/junction/cmd/junction/internal/clitest"
)

// consoleServed runs junction console until the test ends; a browser that has opened the link asks its API.
func consoleServed(t *testing.T, args ...string) (ask func(method, path, body string) (int, string)) {
	t.Helper()
	return pageServed(t, append([]string{"console"}, args...)...)
}

// pageServed is that with a command that serves the console.
func pageServed(t *testing.T, args ...string) (ask func(method, path, body string) (int, string)) {
	t.Helper()
	ctx, interrupt := context.WithCancelCause(context.WithoutCancel(t.Context()))
	link := regexp.MustCompile(`http://\S+`)
	began := make(chan struct{}, 1)
	stdout := &watchedBuffer{word: "?token=", seen: func() { began <- struct{}{} }}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, clitest.PlaceOf(t), args, strings.NewReader(""), stdout, io.Discard)
	}()
	t.Cleanup(func() {
		interrupt(cli.ErrInterrupted)
		if code := <-ended; code != cli.ExitOK {
			t.Errorf("junction %q ends with %d", args, code)
		}
	})
	<-began
	address := link.FindString(stdout.String())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	send := func(method, url, body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := browser.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(data)
	}
	if status, text := send("GET", address, ""); status != http.StatusOK {
		t.Fatalf("the link gets %d: %s", status, text)
	}
	page, _, _ := strings.Cut(address, "?")
	return func(method, path, body string) (int, string) {
		t.Helper()
		return send(method, page+"api/v1/"+path, body)
	}
}

func TestConsoleShowsProcesses(t *testing.T) {
	clitest.Alone(t)
	ask := consoleServed(t)
	if status, text := ask("GET", "instances", ""); status != http.StatusOK || text != `{"instances":[]}`+"\n" {
		t.Errorf("with nothing that runs it says %d: %s", status, text)
	}
	r := serving(t, "up", "everything")
	status, text := ask("GET", "instances", "")
	var got struct{ Instances []cli.Instance }
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK || len(got.Instances) != 1 ||
		got.Instances[0].Endpoint != r.url || len(got.Instances[0].Servers) != 1 || got.Instances[0].Servers[0].Name != "everything" {
		t.Errorf("with one up it says %d: %s", status, text)
	}
}

func TestTheConsoleIsForThisMachine(t *testing.T) {
	runs(t, "", "console", "--http", "0.0.0.0:0").expect(t, cli.ExitUsage, "", "is not a loopback address")
	runs(t, "", "console", "--http", "here").expect(t, cli.ExitUsage, "", "expected HOST:PORT")
}

func TestUpServesAConsole(t *testing.T) {
	clitest.Alone(t)
	r := serving(t, "up", "everything", "--console")
	link := regexp.MustCompile(`The console is at (http://127\.0\.0\.1:\d+/\S+)`)
	var printed []string
	for printed == nil {
		if t.Context().Err() != nil {
			t.Fatal(r.stderr)
		}
		printed = link.FindStringSubmatch(r.stderr.String())
		runtime.Gosched()
	}
	response, err := http.Get(printed[1])
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("the link gets %s", response.Status)
	}
	if code := r.stop(); code != cli.ExitOK {
		t.Errorf("up ends with %d", code)
	}
	if _, err := http.Get(printed[1]); err == nil {
		t.Error("the console goes on after up has ended")
	}
}
