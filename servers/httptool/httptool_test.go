package httptool

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/junction-mcp/junction/mcp"
)

// echo responds with the request.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintf(w, "%s %s\n", r.Method, r.RequestURI)
	for _, name := range []string{"Authorization", "X-Key", "X-Note", "Cookie", "Content-Type"} {
		for _, v := range r.Header.Values(name) {
			fmt.Fprintf(w, "%s: %s\n", name, v)
		}
	}
	w.Write(body)
}

func connect(t *testing.T, o Options, templates ...Template) *mcp.Client {
	t.Helper()
	s, err := New("test", o, templates...)
	if err != nil {
		t.Fatal(err)
	}
	c := mcp.NewClient(s)
	t.Cleanup(func() { c.Close(); s.Close() })
	return c
}

func call(t *testing.T, c *mcp.Client, tool, arguments string) *mcp.CallToolResult {
	t.Helper()
	result, err := c.CallTool(t.Context(), tool, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestArgumentsStayWhereTheTemplatePutsThem(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(echo))
	defer api.Close()
	any := json.RawMessage(`{"type":"object","properties":{"a":{},"b":{}}}`)
	for name, c := range map[string]struct {
		template        Template
		arguments, want string
	}{
		"a slash stays within its segment":      {Template{URL: "/x/{a}/y"}, `{"a":"1/../../z"}`, "GET /x/1%2F..%2F..%2Fz/y\n"},
		"a question mark begins no query":       {Template{URL: "/x/{a}"}, `{"a":"b?c=d#e"}`, "GET /x/b%3Fc=d%23e\n"},
		"two dots are no segment":               {Template{URL: "/x/{a}/y"}, `{"a":".."}`, `a: ".." means another path`},
		"two dots in two arguments are neither": {Template{URL: "/x/{a}{b}/y"}, `{"a":".","b":"."}`, `a, b: ".." means another path`},
		"nothing is no segment":                 {Template{URL: "/x/{a}"}, `{"a":""}`, "a: it is empty, which a path cannot have"},
		"an ampersand stays within its value":   {Template{URL: "/x?q={a}&k=1"}, `{"a":"1&k=2"}`, "GET /x?q=1%26k%3D2&k=1\n"},
		"a parameter without argument is gone":  {Template{URL: "/x?q={a}&k=1"}, `{}`, "GET /x?k=1\n"},
		"a list is one value each":              {Template{URL: "/x?q={a}"}, `{"a":["1",2,true]}`, "GET /x?q=1&q=2&q=true\n"},
		"a header is one line":                  {Template{URL: "/x", Header: map[string]string{"X-Note": "n={a}"}}, `{"a":"1\r\nX-Key: 2"}`, "a: a header cannot have a line end or another control character"},
		"a header has its value":                {Template{URL: "/x", Header: map[string]string{"X-Note": "n={a}"}}, `{"a":"1"}`, "GET /x\nX-Note: n=1\n"},
		"a body keeps types and quotes":         {Template{URL: "/x", Body: json.RawMessage(`{"n":{"v":"{a}","t":"<{b}>","gone":"{c}"},"l":["{a}"],"{b}":"{{b}}"}`), Tool: mcp.Tool{InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{},"b":{},"c":{}}}`)}}, `{"a":{"k":[1.50]},"b":"\"},{"}`, "POST /x\nContent-Type: application/json\n" + `{"n":{"v":{"k":[1.50]},"t":"<\"},{>"},"l":[{"k":[1.50]}],"{b}":"{b}"}`},
		"a text is as it is":                    {Template{URL: "/x", Text: "a={a}", Method: "put"}, `{"a":"1"}`, "PUT /x\nContent-Type: text/plain; charset=utf-8\na=1"},
		"an object has no place in a query":     {Template{URL: "/x?q={a}"}, `{"a":{}}`, "a: an object or a list is not possible here"},
	} {
		t.Run(name, func(t *testing.T) {
			c.template.Tool.Name = "t"
			if c.template.Tool.InputSchema == nil {
				c.template.Tool.InputSchema = any
			}
			got := call(t, connect(t, Options{Base: api.URL}, c.template), "t", c.arguments)
			if got.Text() != c.want {
				t.Errorf("got %q, want %q", got.Text(), c.want)
			}
		})
	}
}

func TestTemplatesThatCannotWorkAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		template Template
		want     string
	}{
		"an argument in the host":        {Template{URL: "https://{a}.example.com/"}, "a host without arguments"},
		"another scheme":                 {Template{URL: "file://x/etc/passwd"}, "expected http or https"},
		"a path without a base":          {Template{URL: "/x"}, "there is no base URL"},
		"an argument without a property": {Template{URL: "https://example.com/{a}", Tool: mcp.Tool{InputSchema: json.RawMessage(`{"type":"object"}`)}}, "{a} is not among the properties"},
		"a brace without another":        {Template{URL: "https://example.com/{a"}, "for a literal brace, write it twice"},
		"a header that cannot be set":    {Template{URL: "https://example.com/", Header: map[string]string{"Host": "x"}}, `header "Host" cannot be set`},
		"two bodies":                     {Template{URL: "https://example.com/", Body: json.RawMessage(`1`), Text: "x"}, "expected one"},
		"a body that is no JSON":         {Template{URL: "https://example.com/", Body: json.RawMessage(`{`)}, "body: "},
		"a method that is none":          {Template{URL: "https://example.com/", Method: "GET X"}, "is not an HTTP method"},
	} {
		t.Run(name, func(t *testing.T) {
			c.template.Tool.Name = "t"
			if _, err := New("test", Options{}, c.template); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestCredentialsAreSentOnlyToTheirOriginAndNeverShown(t *testing.T) {
	const secret = "s3cret/value+1"
	var elsewhere http.Header
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere = r.Header }))
	defer other.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/there", http.StatusFound)
		case "/near":
			http.Redirect(w, r, "/echo", http.StatusFound)
		case "/fail":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, "no: %s %s %s", r.URL.RawQuery, r.Header, base64.StdEncoding.EncodeToString([]byte("me:"+secret)))
		case "/link":
			w.Header().Set("Link", "</next?"+r.URL.RawQuery+">; rel=next")
		case "/bad":
			w.Header().Set("Location", "http://[::1?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusFound)
		case "/cut":
			w.Header().Set("Content-Length", "100")
			w.Write([]byte("x"))
		default:
			echo(w, r)
		}
	}))
	defer api.Close()
	var log bytes.Buffer
	o := Options{Base: api.URL, Logger: slog.New(slog.NewTextHandler(&log, nil)), Credentials: []Credential{
		{Basic, "", "me:" + secret}, {Header, "X-Key", secret}, {Query, "key", secret}, {Cookie, "sid", "s3cretCookie"},
	}}
	tools := []Template{{Tool: mcp.Tool{Name: "echo"}, URL: "/echo?a=1"}, {Tool: mcp.Tool{Name: "post"}, URL: "/away", Method: "POST"}}
	for _, name := range []string{"near", "away", "fail", "cut", "link", "bad"} {
		tools = append(tools, Template{Tool: mcp.Tool{Name: name}, URL: "/" + name})
	}
	tools = append(tools, Template{Tool: mcp.Tool{Name: "other"}, URL: other.URL + "/there"})
	c := connect(t, o, tools...)
	got := call(t, c, "link", `{}`)
	if want := "200 OK\nLink: </next?key=***>; rel=next"; got.Text() != want {
		t.Errorf("got %q, want %q", got.Text(), want)
	}
	for tool, want := range map[string]string{
		"echo": "GET /echo?a=1&key=***\nAuthorization: Basic ***\nX-Key: ***\nCookie: sid=***\n",
		"near": "GET /echo?key=***\nAuthorization: Basic ***\nX-Key: ***\nCookie: sid=***\n",
		"away": "GET /away: it was redirected to another origin, " + other.URL + ", which is refused",
		"post": "POST /away: it was redirected to another origin, " + other.URL + ", which is refused",
		"cut":  "GET /cut: unexpected EOF",
	} {
		if got := call(t, c, tool, `{}`); got.Text() != want {
			t.Errorf("%s: got %q, want %q", tool, got.Text(), want)
		}
	}
	if got := call(t, c, "bad", `{}`); !got.IsError || strings.Contains(got.Text(), "s3cret") || !strings.Contains(got.Text(), "Location") {
		t.Errorf("got %q", got.Text())
	}
	if got := call(t, c, "fail", `{}`); !got.IsError || strings.Contains(got.Text(), "s3cret") || !strings.Contains(got.Text(), "403 Forbidden") {
		t.Errorf("got %q", got.Text())
	}
	if elsewhere != nil {
		t.Error("a redirect was followed to another origin")
	}
	call(t, c, "other", `{}`)
	if elsewhere == nil || strings.Contains(fmt.Sprint(elsewhere), "s3cret") || elsewhere.Get("Authorization") != "" {
		t.Errorf("another origin got %v", elsewhere)
	}
	shown := fmt.Sprintf("%v %+v %#v %s", o.Credentials, o.Credentials, o.Credentials, o.Credentials[0])
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "c", o.Credentials[1])
	if strings.Contains(shown+log.String(), "s3cret") {
		t.Errorf("shown: %s %s", shown, log.String())
	}
}

func TestARedirectDoesNotTurnAWriteIntoARead(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/old" {
			http.Redirect(w, r, "/new", http.StatusMovedPermanently)
		}
	}))
	defer api.Close()
	got := call(t, connect(t, Options{}, Template{Tool: mcp.Tool{Name: "t"}, URL: api.URL + "/old", Method: "POST"}), "t", `{}`)
	if want := "POST /old: the API answered 301 Moved Permanently, a redirect that was not followed\nLocation: /new"; !got.IsError || got.Text() != want {
		t.Errorf("got %q", got.Text())
	}
}

func TestBadCredentialsAreRefusedWithoutTheirValue(t *testing.T) {
	for _, c := range []Credential{{"body", "", "x"}, {Bearer, "", "s3cret\nX: y"}, {Basic, "", "s3cret"}, {Header, "", "s3cret"}, {Header, "a b", "s3cret"}, {Bearer, "", ""}, {Cookie, "a", "s3cret;b=c"}} {
		if err := c.Check(); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestAnswersBecomeContentOfTheirKind(t *testing.T) {
	long := `{"a":"` + strings.Repeat("x", 2000) + `","b":1}`
	answers := map[string][2]string{
		"/json": {"application/json; charset=utf-8", "{ \"a\": [1.50] }"}, "/list": {"application/json", "[1]"}, "/text": {"text/csv", "a,b"},
		"/png": {"image/png", "\x89PNG"}, "/wav": {"audio/wav", "RIFF"}, "/zip": {"application/zip", "PK\x00"}, "/long": {"application/json", long},
		"/broken": {"application/json", "{"}, "/empty": {"application/json", ""}, "/problem": {"application/problem+json", `{"detail":"no"}`},
		"/deep": {"application/json", strings.Repeat("[", 150) + strings.Repeat("]", 150)},
	}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", answers[r.URL.Path][0])
		if r.URL.Path == "/list" {
			w.Header().Set("Link", `</list?page=2>; rel="next"`)
			w.Header().Set("Set-Cookie", "sid=secret")
		}
		if r.URL.Path == "/problem" {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		}
		io.WriteString(w, answers[r.URL.Path][1])
	}))
	defer api.Close()
	var tools []Template
	for path := range answers {
		tools = append(tools, Template{Tool: mcp.Tool{Name: path[1:]}, URL: api.URL + path})
	}
	c := connect(t, Options{MaxInline: 1000}, tools...)
	for _, w := range []struct{ tool, text, structured string }{
		{"json", `{"a":[1.50]}`, `{"a":[1.50]}`},
		{"list", "[1]\nLink: </list?page=2>; rel=\"next\"", "[1]"},
		{"text", "a,b", ""},
		{"broken", "{", ""},
		{"empty", "200 OK", ""},
		{"problem", "GET /problem: the API answered 429 Too Many Requests:\n{\"detail\":\"no\"}\nRetry-After: 7", ""},
	} {
		got := call(t, c, w.tool, `{}`)
		if got.Text() != w.text || string(got.StructuredContent) != w.structured {
			t.Errorf("%s: got %q and %s", w.tool, got.Text(), got.StructuredContent)
		}
	}
	if got := call(t, c, "png", `{}`).Content[0]; got.Type != mcp.ContentImage || got.MIMEType != "image/png" || string(got.Data) != "\x89PNG" {
		t.Errorf("got %+v", got)
	}
	if got := call(t, c, "wav", `{}`).Content[0]; got.Type != mcp.ContentAudio {
		t.Errorf("got %+v", got)
	}
	for tool, want := range map[string]string{"zip": answers["/zip"][1], "long": long, "deep": answers["/deep"][1]} {
		got := call(t, c, tool, `{}`)
		if len(got.Content) != 2 || got.Content[1].Type != mcp.ContentResourceLink || got.StructuredContent != nil {
			t.Fatalf("%s: got %+v", tool, got)
		}
		read, err := c.ReadResource(t.Context(), got.Content[1].Link.URI)
		if err != nil {
			t.Fatal(err)
		}
		if body := read.Contents[0].Text + string(read.Contents[0].Blob); body != want {
			t.Errorf("%s: read %.100q", tool, body)
		}
	}
}

func TestAnAnswerThatIsTooLargeIsRefused(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 2000)) }))
	defer api.Close()
	got := call(t, connect(t, Options{MaxAnswer: 1000}, Template{Tool: mcp.Tool{Name: "t"}, URL: api.URL}), "t", `{}`)
	if want := "GET /: the answer (status 200) is larger than 1000 bytes: request less, with a filter or by page"; !got.IsError || got.Text() != want {
		t.Errorf("got %q", got.Text())
	}
}

// slow is a transport that never responds.
type slow struct{}

func (slow) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestARequestEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := NewClient("test", Options{Base: "http://api.example.com", Timeout: 3 * time.Second, Transport: slow{}})
		if err != nil {
			t.Fatal(err)
		}
		u, _ := ParseEscaped("", "/x")
		u.RawQuery = "key=secret"
		errs := make(chan error, maxAtOnce+1)
		for range maxAtOnce + 1 { // one of them must wait
			go func() {
				_, err := c.Send(t.Context(), &Request{Method: "GET", URL: u})
				errs <- err
			}()
		}
		for range maxAtOnce + 1 {
			if err := <-errs; err == nil || err.Error() != "GET /x: no answer within 3s" {
				t.Errorf("got %v", err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Send(ctx, &Request{Method: "GET", URL: u}); err != context.Canceled {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnnotationsFollowFromTheMethod(t *testing.T) {
	for method, want := range map[string]string{
		"GET":    `{"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":true}`,
		"POST":   `{"readOnlyHint":false,"openWorldHint":true}`,
		"PUT":    `{"readOnlyHint":false,"idempotentHint":true,"openWorldHint":true}`,
		"DELETE": `{"readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,"openWorldHint":true}`,
	} {
		if got, _ := json.Marshal(AnnotationsFor(method)); string(got) != want {
			t.Errorf("%s: got %s", method, got)
		}
	}
}
